#pragma once

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/program_functions.h"
#include "gpuos/program_reductions.h"
#include "pybind_objects.h"

namespace gpuos::python {

/// The type of what a fused function gets for an array or a number while it is
/// traced: gpuos.Value. Set when it is registered.
extern PyTypeObject* value_type;

/// A new gpuos.Value. Throws: error_already_set.
pybind11::object make_value(const Value& value);

/// Raised in a function that is being traced when it asks for the number of a
/// scalar: with that number it is traced again.
PyObject* number_asked();

/// Throws: number_asked(), if `value` is computed of numbers of the call alone.
void ask_number(const Value& value);

/// Throws: InvalidArgument, naming `where`, if `object` is no gpuos.Value.
const Value& value_of(PyObject* object, std::string_view where);

/// Returns whether it is an integer of Python that no integer dtype has.
bool is_too_wide(PyObject* object);

/// A NumPy scalar, or an array without dimensions.
bool is_numpy_scalar(PyObject* object);

/// A number of Python or NumPy. Throws: InvalidArgument for integers that no
/// dtype holds, TypeError.
Scalar number_of(PyObject* number);

/// The dtype of a NumPy scalar. Throws: InvalidArgument.
DType dtype_of_scalar(pybind11::handle scalar);

/// Values, numbers of Python and NumPy scalars; the latter keep their dtype.
/// Integers of any size go with floats, and a comparison takes them always.
/// Throws: InvalidArgument, naming `where`, for anything else; OverflowError.
std::vector<Operand> operands_of(std::span<PyObject* const> objects,
                                 std::string_view where,
                                 bool is_comparison = false);
inline std::vector<Operand> operands_of(
    std::initializer_list<PyObject*> objects, std::string_view where,
    bool is_comparison = false) {
  return operands_of(std::span(objects.begin(), objects.size()), where,
                     is_comparison);
}

/// None, an integer or a tuple of integers. Throws: TypeError.
Axes axes_of(const pybind11::object& axis);

/// Returns the value itself. Throws: InvalidArgument for bools, as NumPy's +x.
Value positive(const Value& x);

/// The operators of numbers.
void add_operators(pybind11::class_<Value>& type);

/// Returns the functions of each element, by the names of NumPy or SciPy, and
/// how many operands they have.
std::map<std::string, std::size_t> operations();

/// The part of NumPy's __array_ufunc__ that programs have.
pybind11::object call_ufunc(const pybind11::object& ufunc,
                            const std::string& method,
                            const pybind11::args& inputs,
                            const pybind11::kwargs& keywords);

/// NumPy's function `name` as a fused function has it.
pybind11::object call_numpy(const char* name, const pybind11::object& args,
                            const pybind11::object& keywords);

}  // namespace gpuos::python
