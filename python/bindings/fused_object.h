#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fused_call.h"
#include "fused_numbers.h"
#include "gpuos/program.h"
#include "pybind_objects.h"

namespace gpuos::python {

/// The values of a dict, or of None, as they are now.
pybind11::list values_of(const pybind11::object& dict);

/// What a function may ask of a call that it is traced for.
struct ExampleCall {
  ExampleCall(const FusedCall& call);  // NOLINT(google-explicit-constructor)

  std::vector<Shape> shapes;  // of the inputs
  std::vector<Scalar> scalars;
  std::vector<pybind11::object> numbers;  // the scalars, as Python has them
};

/// One traced structure of a fused function.
struct Traced {
  Traced(KnownKey key, ExampleCall example)
      : key(std::move(key)), example(std::move(example)) {}

  /// Whether this is what the function does in that call too.
  /// Then `call` has the scalars of the program.
  bool serves(FusedCall& call) const {
    if (!has_asked) return key.matches(call.key());
    return has_first_asked(call.scalars()) && key.matches(call.key()) &&
           answers_the_same(call);
  }
  /// A look at one number: of many programs most differ in it.
  bool has_first_asked(std::span<const Scalar> given) const {
    if (asked_scalars.empty()) return true;
    const std::uint32_t number = *asked_scalars.begin();
    return number >= example.scalars.size() || number >= given.size() ||
           example.scalars[number].is_same(given[number]);
  }
  bool answers_the_same(FusedCall& call) const;

  KnownKey key;
  /// What it was traced for. What the function asked of that call decides, so
  /// that it serves only those that answer the same.
  ExampleCall example;
  bool has_asked = false;  // anything at all, or computed of numbers
  bool has_asked_shapes = false;
  bool is_of_values = false;  // of find_or_trace_values()
  AskedScalars asked_scalars{};
  std::vector<NumberCall> number_calls;  // what Python computes for each call
  std::vector<Scalar> more_scalars;      // what it gave when it was traced
  Program program;
  Value made;  // its first output, of its builder
  /// Makes what the function returned out of a list of arrays; None if it
  /// returned one array.
  pybind11::object rebuild;
  // The shapes of the last call that made its outputs.
  std::vector<std::int64_t> input_dims;
  std::shared_ptr<const std::vector<TensorView>> outputs;  // without memory
  Traced* next = nullptr;                                  // of the same hash
  std::uint64_t used = 0;  // when, among those of its function

  template <typename Visit>
  int visit_objects(Visit visit) const {
    for (const auto* all : {&key.objects, &example.numbers})
      for (const pybind11::object& object : *all)
        if (const int result = visit(object.ptr())) return result;
    for (const NumberCall& call : number_calls)
      if (const int result = call.visit_objects(visit)) return result;
    return visit(rebuild.ptr());
  }

  /// The forms of the outputs for inputs of these shapes.
  std::shared_ptr<const std::vector<TensorView>> output_forms(
      std::span<const TensorView> inputs);
};

/// What fuse() returns: a Python function, and a program for each structure
/// that it was called with.
///
/// Threads: every member is called with the GIL held.
class Fused {
 public:
  /// `trace(function, args, keywords)` returns the values that the function
  /// gives for values, as a list, and Traced::rebuild. `runtime` may be None.
  /// What `is_deferred` is submitted when somebody looks at the result.
  Fused(pybind11::object function, pybind11::object trace,
        pybind11::object runtime, std::string name, bool is_deferred);

  pybind11::object call(PyObject* const* args, std::size_t count,
                        PyObject* names);
  /// The program of these arguments, traced if it is new.
  Program warm(PyObject* const* args, std::size_t count, PyObject* names);
  /// The same, and compiled by its runtime.
  Program compile(PyObject* const* args, std::size_t count, PyObject* names);
  /// The shapes and dtypes of what these arguments give, and Traced::rebuild.
  pybind11::tuple forms(PyObject* const* args, std::size_t count,
                        PyObject* names);
  std::vector<Program> programs() const;

  /// Runs `function` from now on, which takes and gives the same: each
  /// structure that was traced is traced with it at once. Returns the number of
  /// its version. Throws: InvalidArgument; then nothing has changed.
  std::uint64_t replace(pybind11::object function);
  /// The same with another function, traced for all that this one was traced
  /// for. Throws: InvalidArgument if that gives something else.
  std::unique_ptr<Fused> replaced(pybind11::object function) const;
  std::uint64_t version() const noexcept { return *version_; }
  /// What it was made for; may be None.
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
  /// Null: none is named, and none of the arrays has one.
  std::shared_ptr<RuntimeObject> runtime_for(const FusedCall& call) const;
  std::shared_ptr<RuntimeObject> known_runtime_for(const FusedCall& call) const;
  /// Of what a list, a dict or a tuple of arrays holds.
  pybind11::object call_tree(const char* method, PyObject* const* args,
                             std::size_t count, PyObject* names);
  pybind11::object call_foreign(PyObject* const* args, std::size_t count,
                                PyObject* names);
  /// A call under way: what it uses stays until it is over.
  class Running;
  /// A fused function that this one was traced with, and its version then.
  struct Part {
    std::shared_ptr<const std::uint64_t> version;
    std::uint64_t at;
  };
  using AllTraced = std::vector<std::unique_ptr<Traced>>;

  Traced& find_or_trace(FusedCall& call);
  /// Finds or traces a program for these very numbers, one of which does not
  /// fit its operand's dtype. The function sees them as if they were in its
  /// text.
  Traced& find_or_trace_values(FusedCall& call);
  Traced* find(FusedCall& call) const;
  Traced& use(Traced& traced);
  void add(std::unique_ptr<Traced> made, std::span<const Part> parts);
  void forget_oldest();
  /// Says once that each call may be another structure, and why.
  void warn_of_many(const Traced& made);
  /// `parts` gets the fused functions that it is made of. Strict: throws at the
  /// operation that the shapes of the example do not fit.
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
  /// Runs `body`; what it refuses is said with the line of the function that
  /// the shapes of the call do not fit, if there is one.
  template <typename Body>
  auto explained(const FusedCall& call, Body body) const;
  /// Notes itself as a part of all that is traced at this moment. Throws:
  /// InvalidArgument if that is what replaces it.
  void note_part() const;
  void forget_traced();
  void forget_if_parts_were_replaced();
  /// Null: it must be submitted now.
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
  AllTraced left_;  // of earlier versions, for calls under way
  std::size_t running_ = 0;
  std::shared_ptr<std::uint64_t> version_ = std::make_shared<std::uint64_t>(1);
  std::vector<Part> parts_;
  std::uint64_t uses_ = 0;
  bool has_warned_ = false;
  std::uint64_t seen_ = replacements;  // of all fused functions
  static inline std::uint64_t replacements = 0;
  // A comparison of keys may run code that comes back here and takes one out:
  // that one still leads to the next until no call is under way.
  std::unordered_map<std::uint64_t, Traced*> by_hash_;
  Traced* last_ = nullptr;
};

}  // namespace gpuos::python
