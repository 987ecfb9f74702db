#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fused/foreign_objects.h"
#include "gpuos/program.h"
#include "gpuos/scalar.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Returns `number`. An array becomes read-only, so that it stays this number.
pybind11::object read_only(pybind11::object number);

/// Describes a step that a function computes of numbers alone, as in `x *
/// 10**-k`. Python computes it again in each call, with its own integers, types
/// and errors.
struct NumberCall {
  struct Operand {
    std::uint32_t number = 0;     // among the call's numbers, if there is no
    pybind11::object constant{};  // constant
  };
  enum class Gives : std::uint8_t {
    Error,    // like `object`, which the function may have caught
    Objects,  // a tuple of numbers, which other calls take
    Number,   // a scalar of the program, of the kind `word`
    Same,     // `object`: its value decided what the function did
  };

  pybind11::object function;
  std::vector<Operand> operands{};
  pybind11::object names{};    // names of the last operands: a tuple, or null
  pybind11::object context{};  // context with another errstate of NumPy, or
                               // null
  Gives gives = Gives::Error;
  ArgumentWord word{};
  pybind11::object object{};

  template <typename Visit>
  int visit_objects(Visit visit) const {
    const auto visit_one = [&](const pybind11::object& object) {
      return object ? visit(object.ptr()) : 0;
    };
    for (const pybind11::object* each : {&function, &names, &context, &object})
      if (const int result = visit_one(*each)) return result;
    for (const Operand& operand : operands)
      if (const int result = visit_one(operand.constant)) return result;
    return 0;
  }
};

/// Holds the numbers of one call: its arguments, then the results of each
/// NumberCall.
class CallNumbers {
 public:
  explicit CallNumbers(std::vector<pybind11::object> arguments)
      : numbers_(std::move(arguments)) {}

  /// Computes all of `calls`. Returns false if a result has another kind than
  /// when it was traced. Throws: KeyboardInterrupt and the like.
  bool compute(std::span<const NumberCall> calls);
  /// Returns a scalar for each step that compute() computed.
  const std::vector<Scalar>& scalars() const noexcept { return scalars_; }

  /// Returns the result of the call. Returns null, with an error set, if the
  /// function raises.
  pybind11::object result_of(const NumberCall& call) const;
  void add(pybind11::object number, const Scalar& scalar) {
    numbers_.push_back(std::move(number));
    scalars_.push_back(scalar);
  }
  const pybind11::object& operator[](std::size_t i) const {
    return numbers_[i];
  }
  std::size_t size() const noexcept { return numbers_.size(); }

 private:
  std::vector<pybind11::object> numbers_;
  std::vector<Scalar> scalars_;
};

/// Holds the steps of a traced function.
class PythonSteps : public NumberSteps {
 public:
  explicit PythonSteps(std::vector<NumberCall> calls)
      : calls_(std::move(calls)) {}

  bool compute(std::span<void* const> numbers,
               std::vector<Scalar>& scalars) const override;
  void add_deciding(std::size_t first, AskedScalars& deciding) const override;
  template <typename Visit>
  int visit_objects(Visit visit) const {
    for (const NumberCall& call : calls_)
      if (const int result = call.visit_objects(visit)) return result;
    return 0;
  }

 private:
  std::vector<NumberCall> calls_;
};

/// Holds the numbers of a function that is being traced. number_result() finds
/// it as long as it lives.
class TracedNumbers {
 public:
  /// Begins to trace. The function gets the numbers of the scalars in `asked`.
  /// With `tells` the object returns a number to code that asks. Otherwise that
  /// code raises number_asked().
  TracedNumbers(ProgramBuilder& builder,
                std::vector<pybind11::object> arguments, AskedScalars asked,
                bool tells);
  ~TracedNumbers();
  TracedNumbers(const TracedNumbers&) = delete;
  TracedNumbers& operator=(const TracedNumbers&) = delete;

  /// Returns the value that stands for the next scalar argument, or its number.
  pybind11::object next(const ArgumentWord& word, const Scalar& scalar);
  /// Returns the number of `value` in this call. That value decides from now
  /// on. Returns null if `value` is no number, or if this object tells none.
  pybind11::object tell(const Value& value);
  /// Returns the type of the number. Only the structure decides it. Returns
  /// null if `value` is no number.
  pybind11::object type_of(const Value& value) const;
  std::vector<NumberCall> take_calls() { return std::move(calls_); }
  /// Returns the arguments' scalars that were in `asked` at first or told
  /// since.
  const AskedScalars& asked() const noexcept { return asked_; }
  /// Returns the scalars of take_calls() in this call.
  const std::vector<Scalar>& scalars() const noexcept {
    return numbers_.scalars();
  }
  /// Returns the object to which the first gpuos.Value of `operands` belongs,
  /// or null.
  static TracedNumbers* of(std::span<PyObject* const> operands);

 private:
  friend pybind11::object number_result(pybind11::handle function,
                                        std::span<PyObject* const> operands,
                                        pybind11::handle names);
  std::optional<std::uint32_t> place_of(const Value& value) const;
  std::optional<NumberCall::Operand> operand_of(PyObject* object) const;
  pybind11::object context() const;
  pybind11::object result_of(NumberCall call, bool is_item);
  pybind11::object keep(NumberCall call, pybind11::object made);
  pybind11::object stand_for(const ArgumentWord& word, const Scalar& scalar,
                             const pybind11::object& number);

  ProgramBuilder& builder_;
  AskedScalars asked_;
  CallNumbers numbers_;
  const std::size_t arguments_ = numbers_.size();
  const bool tells_;
  const pybind11::object errstate_;
  std::vector<std::uint32_t> ids_;  // ids of the values by number, ascending
  std::vector<NumberCall> calls_;
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
