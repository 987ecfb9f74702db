#pragma once

#include <optional>
#include <span>
#include <vector>

#include "fused/foreign_objects.h"
#include "gpuos/fused.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Holds the numbers of a Python function that is being traced. number_result()
/// finds it as long as it lives.
class PythonNumbers {
 public:
  /// Begins to trace. The function gets the numbers of the scalars in
  /// `made.asked`. With `tells` the object returns a number to code that asks.
  /// Otherwise that code raises number_asked().
  PythonNumbers(ProgramBuilder& builder, TracedFunction& made, bool tells);
  ~PythonNumbers();
  PythonNumbers(const PythonNumbers&) = delete;
  PythonNumbers& operator=(const PythonNumbers&) = delete;

  /// Returns the value that stands for the next scalar argument, or its number.
  pybind11::object next(const ArgumentWord& word);
  /// Returns the number of `value` in this call. That value decides from now
  /// on. Returns null if `value` is no number, or if this object tells none.
  pybind11::object tell(const Value& value);
  /// Returns the type of the number. Only the structure decides it. Returns
  /// null if `value` is no number.
  pybind11::object type_of(const Value& value) const;
  /// Returns the object to which the first gpuos.Value of `operands` belongs,
  /// or null.
  static PythonNumbers* of(std::span<PyObject* const> operands);

 private:
  friend pybind11::object number_result(pybind11::handle function,
                                        std::span<PyObject* const> operands,
                                        pybind11::handle names);
  std::optional<NumberStep::Operand> operand_of(PyObject* object) const;
  pybind11::object context() const;
  pybind11::object result_of(NumberStep step);

  ProgramBuilder& builder_;
  TracedNumbers numbers_;
  const bool tells_;
  const pybind11::object errstate_;
};

/// Returns the result of `function` for numbers alone. This is a gpuos.Value,
/// or the number if the traced function asked for it. Returns null if an
/// operand or the result is no number. `names` are the names of the last
/// operands: a tuple, or null. Throws: the errors of `function`.
pybind11::object number_result(pybind11::handle function,
                               std::span<PyObject* const> operands,
                               pybind11::handle names = {});

/// Does the same with arguments and keywords.
pybind11::object numbers_result(pybind11::handle function,
                                const pybind11::object& args,
                                const pybind11::object& keywords);

/// Returns the number of `value` in the call that is traced. That value decides
/// from now on. Returns null if `value` is computed of arrays, or if no number
/// is told.
pybind11::object tell_number(const Value& value);

/// Returns the type of that number. Returns null if it is computed of arrays.
pybind11::object type_of_number(const Value& value);

/// Does the same with a function of Python's module `operator`.
pybind11::object operator_result(const char* name,
                                 std::span<PyObject* const> operands);

}  // namespace gpuos::python
