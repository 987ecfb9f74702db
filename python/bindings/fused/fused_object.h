#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fused/fused_call.h"
#include "fused/fused_numbers.h"
#include "gpuos/program.h"
#include "gpuos/requests.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Returns the current values of a dict, or of None.
pybind11::list values_of(const pybind11::object& dict);

/// Holds the facts about a call that a function may ask for while it is traced.
struct ExampleCall {
  ExampleCall(const FusedCall& call);  // NOLINT(google-explicit-constructor)

  std::vector<Shape> shapes;  // shapes of the inputs
  std::vector<Scalar> scalars;
  std::vector<pybind11::object> numbers;  // the scalars as Python objects
};

/// Holds one traced structure of a fused function.
struct Traced {
  Traced(KnownKey key, ExampleCall example)
      : key(std::move(key)), example(std::move(example)) {}

  /// Returns whether the function computes this program in that call too. Then
  /// `call` has the scalars of the program.
  bool serves(FusedCall& call) const {
    if (!has_asked) return key.matches(call.key());
    return has_first_asked(call.scalars()) && key.matches(call.key()) &&
           answers_the_same(call);
  }
  /// Compares one number first, because most of many programs differ in it.
  bool has_first_asked(std::span<const Scalar> given) const {
    if (asked_scalars.empty()) return true;
    const std::uint32_t number = *asked_scalars.begin();
    return number >= example.scalars.size() || number >= given.size() ||
           example.scalars[number].is_same(given[number]);
  }
  bool answers_the_same(FusedCall& call) const;

  KnownKey key;
  /// Holds the call for which it was traced. The answers to the function's
  /// questions decide. It therefore serves only calls with equal answers.
  ExampleCall example;
  bool has_asked = false;  // it asked for anything, or Python computes numbers
  bool has_asked_shapes = false;
  bool is_of_values = false;  // made by find_or_trace_values()
  AskedScalars asked_scalars{};
  std::vector<NumberCall> number_calls;  // steps that Python computes for each
                                         // call
  std::vector<Scalar> more_scalars;      // results of these steps when it was
                                         // traced
  Program program;
  Value made;  // first output, from its builder
  std::shared_ptr<const ProgramFunction> whole;  // of function()
  /// Makes the function's result from a list of arrays. It is None if the
  /// function returned one array.
  pybind11::object rebuild;
  // These are the shapes of the last call that made its outputs.
  std::vector<std::int64_t> input_dims;
  std::shared_ptr<const std::vector<TensorView>> outputs;  // without memory
  Traced* next = nullptr;                                  // next one of an
                                                           // equal hash
  std::uint64_t used = 0;  // time of the last use, counted by its function

  template <typename Visit>
  int visit_objects(Visit visit) const {
    for (const auto* all : {&key.objects, &example.numbers})
      for (const pybind11::object& object : *all)
        if (const int result = visit(object.ptr())) return result;
    for (const NumberCall& call : number_calls)
      if (const int result = call.visit_objects(visit)) return result;
    return visit(rebuild.ptr());
  }

  /// Returns the program as a function of requests. It has one output.
  const std::shared_ptr<const ProgramFunction>& function() {
    if (whole == nullptr)
      whole = std::make_shared<const ProgramFunction>(program, made);
    return whole;
  }
  /// Returns the forms of the outputs for inputs of these shapes.
  std::shared_ptr<const std::vector<TensorView>> output_forms(
      std::span<const TensorView> inputs);
};

/// Implements the result of fuse(): a Python function, and a program for each
/// structure of its calls.
///
/// Threads: every member is called with the GIL held.
class Fused {
 public:
  /// Wraps `function`. `trace(function, args, keywords)` returns a list of the
  /// function's values for values, and Traced::rebuild. `runtime` may be None.
  /// With `is_deferred` a call is submitted when the program reads its result.
  Fused(pybind11::object function, pybind11::object trace,
        pybind11::object runtime, std::string name, bool is_deferred);

  pybind11::object call(PyObject* const* args, std::size_t count,
                        PyObject* names);
  /// Returns the program of these arguments, traced if it is new.
  Program warm(PyObject* const* args, std::size_t count, PyObject* names);
  /// Returns the program as warm() does, and lets its runtime compile it.
  Program compile(PyObject* const* args, std::size_t count, PyObject* names);
  /// Returns the shapes and dtypes of the results for these arguments, and
  /// Traced::rebuild.
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
  std::uint64_t version() const noexcept { return *version_; }
  /// Returns the runtime for which it was made, or None.
  const pybind11::object& runtime() const noexcept { return runtime_; }
  std::string repr() const;

  template <typename Visit>
  int visit_objects(Visit visit) {
    for (pybind11::object* object :
         {&function_, &trace_, &runtime_, &of_runtimes_, &of_trees_}) {
      if (const int result = visit(object->ptr())) return result;
    }
    for (const auto& traced : traced_)
      if (const int result = traced->visit_objects(visit)) return result;
    return 0;
  }
  void clear();

 private:
  /// Returns null if no runtime is named and no array has one.
  std::shared_ptr<RuntimeObject> runtime_for(const FusedCall& call) const;
  std::shared_ptr<RuntimeObject> known_runtime_for(const FusedCall& call) const;
  /// Calls `method` for arguments with a list, a dict or a tuple of arrays.
  pybind11::object call_tree(const char* method, PyObject* const* args,
                             std::size_t count, PyObject* names);
  pybind11::object call_foreign(PyObject* const* args, std::size_t count,
                                PyObject* names);
  /// Marks a running call. The programs that it uses stay until it is over.
  class Running;
  /// Names a fused function with which this one was traced, and its version
  /// then.
  struct Part {
    std::shared_ptr<const std::uint64_t> version;
    std::uint64_t at;
  };
  using AllTraced = std::vector<std::unique_ptr<Traced>>;

  Traced& find_or_trace(FusedCall& call);
  /// Finds or traces a program for exactly these numbers. At least one of them
  /// does not fit its operand's dtype. The function sees them as if they were
  /// in its text.
  Traced& find_or_trace_values(FusedCall& call);
  Traced* find(FusedCall& call) const;
  Traced& use(Traced& traced);
  void add(std::unique_ptr<Traced> made, std::span<const Part> parts);
  void forget_oldest();
  /// Warns once that each call may be another structure, and why.
  void warn_of_many(const Traced& made);
  /// Traces the function. `parts` gets the fused functions that it calls. With
  /// `is_strict` it throws at the operation that the shapes of the example do
  /// not fit.
  std::unique_ptr<Traced> trace(const KnownKey& key, const ExampleCall& example,
                                const pybind11::object& function,
                                std::vector<Part>& parts,
                                bool is_strict = false,
                                AskedScalars asked = {}) const;
  std::unique_ptr<Traced> trace_once(ProgramBuilder& builder,
                                     const KnownKey& key,
                                     const ExampleCall& example,
                                     const pybind11::object& function,
                                     const AskedScalars& asked,
                                     bool tells = true) const;
  /// Runs `body`. If the shapes of the call do not fit, the error names the
  /// line of the function that fails.
  template <typename Body>
  auto explained(const FusedCall& call, Body body) const;
  /// Notes this function as a part of all that is traced at this moment.
  /// Throws: InvalidArgument if that is what replaces it.
  void note_part() const;
  void forget_traced();
  void forget_if_parts_were_replaced();
  /// Returns null if the call must be submitted now.
  pybind11::object defer(PyObject* const* args, std::size_t count,
                         PyObject* names);
  pybind11::object submit(Traced& traced, const FusedCall& call,
                          Arguments& arguments, RuntimeObject& runtime) const;

  pybind11::object function_;
  pybind11::object trace_;
  pybind11::object runtime_;
  pybind11::object of_runtimes_ =
      pybind11::none();                           // of call_foreign(): a dict
  pybind11::object of_trees_ = pybind11::none();  // of call_tree(): a dict
  std::string name_;
  bool is_deferred_;
  AllTraced traced_;
  AllTraced left_;  // entries of earlier versions, for running calls
  std::size_t running_ = 0;
  std::shared_ptr<std::uint64_t> version_ = std::make_shared<std::uint64_t>(1);
  std::vector<Part> parts_;
  std::uint64_t uses_ = 0;
  bool has_warned_ = false;
  std::uint64_t seen_ = replacements;  // last seen count of all replacements
  static inline std::uint64_t replacements = 0;
  // A comparison of keys may run code that calls this object and removes an
  // entry. The removed entry still leads to the next until no call is running.
  std::unordered_map<std::uint64_t, Traced*> by_hash_;
  Traced* last_ = nullptr;
};

class Fused::Running {
 public:
  /// Begins a call. With `forgets` it drops programs that were traced with
  /// functions that are replaced now. Otherwise no such program runs.
  explicit Running(Fused& fused, bool forgets = true) : fused_(fused) {
    if (forgets && fused.seen_ != replacements) [[unlikely]]
      fused.forget_if_parts_were_replaced();
    ++fused.running_;
  }
  ~Running() {
    if (--fused_.running_ == 0 && !fused_.left_.empty()) [[unlikely]] {
      // Releasing the programs may run code that calls this object.
      const AllTraced left = std::exchange(fused_.left_, {});
    }
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Fused& fused_;
};

}  // namespace gpuos::python
