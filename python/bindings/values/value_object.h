#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/program.h"
#include "gpuos/program_functions.h"
#include "gpuos/program_reductions.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Holds the type gpuos.Value, which a fused function gets for an array or a
/// number while it is traced. It is set when it is registered.
extern PyTypeObject* value_type;

/// Returns a new gpuos.Value. Throws: error_already_set.
pybind11::object make_value(const Value& value);

/// Returns the exception of a traced function that asks for the number of a
/// scalar. The function is then traced again with that number.
PyObject* number_asked();

/// Throws: number_asked(), if `value` is computed only of numbers of the call.
void ask_number(const Value& value);

/// Returns the value. Throws: InvalidArgument, naming `where`, if `object` is
/// no gpuos.Value.
const Value& value_of(PyObject* object, std::string_view where);

/// Returns whether it is an integer of Python that no integer dtype has.
bool is_too_wide(PyObject* object);

/// Returns whether the object is a NumPy scalar, or an array without
/// dimensions.
bool is_numpy_scalar(PyObject* object);

/// Returns a number of Python or NumPy. Throws: InvalidArgument for integers
/// that no dtype holds, TypeError.
Scalar number_of(PyObject* number);

/// Returns the dtype of a NumPy scalar. Throws: InvalidArgument.
DType dtype_of_scalar(pybind11::handle scalar);

/// Returns the operands of values, numbers of Python and NumPy scalars. NumPy
/// scalars keep their dtype. Floats take integers of any size, and so do all
/// comparisons.
/// Throws: InvalidArgument, naming `where`, for anything else. Throws
/// OverflowError too.
std::vector<Operand> operands_of(std::span<PyObject* const> objects,
                                 std::string_view where,
                                 bool is_comparison = false);
inline std::vector<Operand> operands_of(
    std::initializer_list<PyObject*> objects, std::string_view where,
    bool is_comparison = false) {
  return operands_of(std::span(objects.begin(), objects.size()), where,
                     is_comparison);
}

/// Returns the axes of None, an integer or a tuple of integers. Throws:
/// TypeError.
Axes axes_of(const pybind11::object& axis);

/// Returns the value itself. Throws: InvalidArgument for bools, as NumPy's +x.
Value positive(const Value& x);

/// Fills the slots of the operators of numbers, and of hash().
void fill_value_slots(PyHeapTypeObject* type);

/// Calls NumPy's function `name` as a fused function has it.
pybind11::object call_numpy(const char* name, const pybind11::object& args,
                            const pybind11::object& keywords);

}  // namespace gpuos::python
