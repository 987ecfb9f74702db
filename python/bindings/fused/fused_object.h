#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fused/fused_call.h"
#include "fused/fused_numbers.h"
#include "gpuos/fused.h"
#include "gpuos/program.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Limits the programs that a function keeps. A number whose value decides
/// makes a new one for each value. Such a program would never be used again.
inline constexpr std::size_t kMostTraced = 256;
/// Sets how many programs cause a warning, because a function normally has
/// fewer.
inline constexpr std::size_t kManyTraced = 32;

/// Implements the result of fuse(): a Python function, and a program for each
/// structure of its calls.
///
/// Threads: every member is called with the GIL held.
class Fused : private FunctionTracer {
 public:
  /// Wraps `function`. `trace(function, args, keywords)` returns a list of the
  /// function's values for values, and TracedFunction::rebuild, or None.
  /// `runtime` may be None. With `is_deferred` a call is submitted when the
  /// program reads its result.
  Fused(pybind11::object function, pybind11::object trace,
        pybind11::object runtime, std::string name, bool is_deferred);

  pybind11::object call(PyObject* const* args, std::size_t count,
                        PyObject* names);
  /// Returns the program of these arguments, traced if it is new. With
  /// `compiles` its runtime compiles it, too.
  Program warm(PyObject* const* args, std::size_t count, PyObject* names,
               bool compiles);
  /// Returns the shapes and dtypes of the results for these arguments, and
  /// TracedFunction::rebuild, or None.
  pybind11::tuple forms(PyObject* const* args, std::size_t count,
                        PyObject* names);
  std::vector<Program> programs() const;

  /// Runs `function` from now on, which must have equal arguments and results.
  /// Each traced structure is traced with it at once. Returns the number of its
  /// version. Throws: InvalidArgument, and then nothing has changed.
  std::uint64_t replace(pybind11::object function);
  /// Returns a copy with another function, traced for all structures of this
  /// one. Throws: InvalidArgument if its results differ in form.
  std::unique_ptr<Fused> replaced(pybind11::object function) const;
  std::uint64_t version() const noexcept { return traces_.version(); }
  /// Returns the runtime for which it was made, or None.
  const pybind11::object& runtime() const noexcept { return runtime_; }
  std::string repr() const;

  template <typename Visit>
  int visit_objects(Visit visit) {
    for (pybind11::object* object :
         {&function_, &trace_, &runtime_, &others_}) {
      if (const int result = visit(object->ptr())) return result;
    }
    for (const auto& traced : traces_.all())
      if (const int result = visit_traced(*traced, visit)) return result;
    return 0;
  }
  void clear();

 private:
  template <typename Visit>
  static int visit_traced(const TracedFunction& traced, Visit visit) {
    const auto visit_one = [&](const HeldObject& object) {
      return object ? visit(static_cast<PyObject*>(object.get())) : 0;
    };
    for (const auto* all : {&traced.call.objects, &traced.call.numbers})
      for (const HeldObject& each : *all)
        if (const int result = visit_one(each)) return result;
    for (const NumberStep& step : traced.steps) {
      if (const int result = visit_one(step.function)) return result;
      if (const int result = visit_one(step.same)) return result;
      for (const auto& operand : step.operands)
        if (const int result = visit_one(operand.constant)) return result;
    }
    return visit_one(traced.rebuild);
  }

  std::vector<Value> run(ProgramBuilder& builder,
                         TracedFunction& made) override {
    return run(builder, made, /*tells=*/true);
  }
  std::vector<Value> run(ProgramBuilder& builder, TracedFunction& made,
                         bool tells) const;
  bool is_over(const std::exception_ptr& thrown) const override;
  void check_form(const TracedFunction& before,
                  const TracedFunction& made) override;
  /// Warns once that each call may be another structure, and why.
  void added(TracedFunction& made) override;

  /// Returns null if no runtime is named and no array has one.
  std::shared_ptr<RuntimeObject> runtime_for(const FusedCall& call) const;
  /// Gives a call to gpuos.fused_others: `method` for arguments with a list, a
  /// dict or a tuple of arrays, or null for other libraries' arrays.
  pybind11::object call_others(const char* method, PyObject* const* args,
                               std::size_t count, PyObject* names);
  /// Returns the result of `body` for the arguments and their program.
  template <typename Body>
  auto with_traced(PyObject* const* args, std::size_t count, PyObject* names,
                   Body body);
  /// Runs `body`. If the shapes of the call do not fit, the error names the
  /// line of the function that fails.
  template <typename Body>
  auto explained(const FusedCall& call, Body body);
  /// Returns null if the call must be submitted now.
  pybind11::object defer(PyObject* const* args, std::size_t count,
                         PyObject* names);
  pybind11::object submit(TracedFunction& traced, const FusedCall& call,
                          Arguments& arguments, RuntimeObject& runtime) const;

  pybind11::object function_;
  pybind11::object trace_;
  pybind11::object runtime_;
  pybind11::object others_ = pybind11::none();  // of call_others()
  bool is_deferred_;
  bool has_warned_ = false;
  TraceCache traces_;
};

}  // namespace gpuos::python
