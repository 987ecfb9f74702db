#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gpuos/call_key.h"
#include "gpuos/export.h"
#include "gpuos/program.h"
#include "gpuos/requests.h"
#include "gpuos/scalar.h"
#include "gpuos/tensor_view.h"

// A fused function is traced once for each structure of its calls.
// FusedFunction of array.h does that for C++. Other languages use these
// classes.

namespace gpuos {

/// Holds the places, among the scalars of a program, of the numbers for whose
/// values a function asked.
using AskedScalars = std::set<std::uint32_t>;

/// A step that a function computes of numbers alone, as in `x * 10**-k`. Its
/// language computes it again in each call, with its own integers, types and
/// errors.
struct NumberStep {
  struct Operand {
    std::uint32_t number = 0;  // its place, if there is no constant
    HeldObject constant{};
  };

  HeldObject function;
  std::vector<Operand> operands{};
  StepResult::Kind kind{};
  ArgumentWord word{};
  HeldObject same{};  // the result decided what the function did
};

/// Names a cache in which a function was that called another, and its version.
struct FusedPart {
  std::shared_ptr<const std::uint64_t> version;
  std::uint64_t at;

  friend bool operator==(const FusedPart&, const FusedPart&) = default;
};

/// Holds the program of one structure of a fused function.
class TracedFunction {
 public:
  TracedFunction(KnownCall call, AskedScalars asked)
      : call(std::move(call)), asked(std::move(asked)) {}

  const Program& program() const noexcept { return function_->program; }
  const std::shared_ptr<const ProgramFunction>& function() const noexcept {
    return function_;
  }
  bool has_asked_shapes() const noexcept { return has_asked_shapes_; }
  /// Returns whether it is a program for these values of the numbers.
  bool is_of_values() const noexcept { return is_of_values_; }
  /// Returns the forms of the outputs for inputs of these shapes, without
  /// memory. Throws: as Program::output_shapes().
  GPUOS_API std::shared_ptr<const std::vector<TensorView>> output_forms(
      std::span<const TensorView> inputs);

  /// An argument whose value needs a program of its own: its position, or the
  /// object that is its name.
  struct Deciding {
    std::size_t position;
    void* name;
  };
  GPUOS_API std::vector<Deciding> deciding_arguments() const;

  KnownCall call;
  // The tracer sets these.
  AskedScalars asked;
  std::vector<NumberStep> steps{};
  std::vector<Scalar> more_scalars{};  // of the steps, for `call`
  /// Makes the function's result from a list of arrays. Null: it is one array.
  HeldObject rebuild{};

 private:
  friend class TraceCache;

  /// Returns whether the call has this structure, if no object and no question
  /// decides.
  bool serves_plainly(const CallKey& key) const noexcept {
    return is_plain_ && has_words(key);
  }
  bool has_words(const CallKey& key) const noexcept {
    return call.function == key.function() &&
           std::ranges::equal(call.words, key.words());
  }
  bool serves(CallArguments& other, const ForeignObjects* foreign) const;
  bool computes_the_same(CallArguments& other,
                         const ForeignObjects& foreign) const;

  std::shared_ptr<const ProgramFunction> function_;
  bool is_plain_ = false;
  bool has_asked_shapes_ = false;
  bool is_of_values_ = false;
  std::vector<FusedPart> parts_;
  // The shapes of the last call that asked for its outputs.
  std::vector<std::int64_t> input_dims_;
  std::shared_ptr<const std::vector<TensorView>> outputs_;
  TracedFunction* next_ = nullptr;  // of an equal hash
  std::uint64_t used_ = 0;  // when it was used last, counted by its cache
};

/// Holds the numbers of a function that is being traced: its scalar arguments,
/// then the results of its steps. Each has a place among the program's scalars.
class GPUOS_API TracedNumbers {
 public:
  TracedNumbers(ProgramBuilder& builder, TracedFunction& made);

  /// Returns the value that stands for the next scalar argument.
  Value next(const ArgumentWord& word);
  /// Adds a step with its result. Returns the value that stands for it.
  Value add(NumberStep step, StepResult result);
  std::size_t size() const noexcept { return ids_.size(); }
  /// Returns the place of a number, or nothing if it is computed of arrays. An
  /// array without axes is an array.
  std::optional<std::uint32_t> place_of(const Value& value) const;
  const HeldObject& number(std::uint32_t place) const {
    return numbers_[place];
  }
  bool is_asked(std::uint32_t place) const {
    return made_.asked.contains(place);
  }
  /// Notes that the value of a number decides from now on.
  void decide(std::uint32_t place);

 private:
  Value stand(const ArgumentWord& word, const Scalar& scalar);

  ProgramBuilder& builder_;
  TracedFunction& made_;
  std::vector<HeldObject> numbers_;
  std::set<std::uint32_t> points_;  // places of arrays without axes
  std::vector<std::uint32_t> ids_;  // ids of the values by place, ascending
};

/// Runs a function on values that stand for its arguments.
class FunctionTracer {
 public:
  virtual ~FunctionTracer() = default;
  /// Returns the results for the structure `made.call`. The function gets the
  /// numbers of `made.asked` in place of values. It may throw after it asked
  /// for more (ProgramBuilder::ask_scalars()), and then it begins again.
  virtual std::vector<Value> run(ProgramBuilder& builder,
                                 TracedFunction& made) = 0;
  /// Returns whether the exception ends the trace, whatever was asked.
  virtual bool is_over(const std::exception_ptr& /*thrown*/) const {
    return false;
  }
  /// Gets each function that enters the cache.
  virtual void added(TracedFunction& /*made*/) {}
  /// Throws: InvalidArgument if a replacement returns its results in another
  /// form.
  virtual void check_form(const TracedFunction& /*before*/,
                          const TracedFunction& /*made*/) {}
};

/// Holds the programs of a fused function, one for each structure of its calls,
/// or of several functions with numbers. The one that was used least recently
/// is forgotten when there are too many.
///
/// Threads: one at a time, which may call again from what it calls. This holds
/// for all caches together whose functions call each other.
class GPUOS_API TraceCache {
 public:
  class Running;
  class Replacing;

  /// Errors begin with `name`. `foreign` is null if no call has objects.
  TraceCache(std::string name, std::size_t most,
             const ForeignObjects* foreign = nullptr);

  /// Returns the program of a call, and traces the function if it is new.
  /// `call` has the scalars of the program then. Throws: as the function.
  TracedFunction& find_or_trace(CallArguments& call, FunctionTracer& tracer) {
    if (last_ != nullptr && last_->serves_plainly(call.key())) return *last_;
    return find_or_trace(call, tracer, /*is_of_values=*/false);
  }
  /// Does the same for exactly these numbers. At least one of them does not fit
  /// its operand's dtype. The function sees them as if they were in its text.
  TracedFunction& find_or_trace_values(CallArguments& call,
                                       FunctionTracer& tracer) {
    return find_or_trace(call, tracer, /*is_of_values=*/true);
  }
  /// Runs the function again for a call whose shapes it does not fit. Throws:
  /// the error of the operation that they do not fit.
  void explain(const CallArguments& call, FunctionTracer& tracer) const;

  std::span<const std::shared_ptr<TracedFunction>> all() const noexcept {
    return traced_;
  }
  const std::string& name() const noexcept { return name_; }
  std::uint64_t version() const noexcept { return *version_; }

  /// Notes this function as a part of all that this thread traces now. Throws:
  /// InvalidArgument if that is what replaces it.
  void note_part() const;
  /// Traces another function for all structures of `other`. Throws:
  /// InvalidArgument if its results differ in form.
  void trace_as(const TraceCache& other, FunctionTracer& tracer);
  /// Takes the programs of another function. Returns the number of the version.
  std::uint64_t replace(TraceCache& next);
  void clear();

 private:
  using AllTraced = std::vector<std::shared_ptr<TracedFunction>>;

  TracedFunction& find_or_trace(CallArguments& call, FunctionTracer& tracer,
                                bool is_of_values);
  TracedFunction* find(CallArguments& call, bool is_of_values) const;
  TracedFunction& use(TracedFunction& traced);
  void add(std::shared_ptr<TracedFunction> made);
  void forget_oldest();
  void forget_traced();
  void forget_if_parts_were_replaced();
  std::shared_ptr<TracedFunction> trace(const KnownCall& call,
                                        FunctionTracer& tracer,
                                        AskedScalars asked = {},
                                        bool is_strict = false) const;

  std::string name_;
  std::size_t most_;
  const ForeignObjects* foreign_;
  AllTraced traced_;
  AllTraced left_;  // entries of earlier versions, for running calls
  std::size_t running_ = 0;
  std::shared_ptr<std::uint64_t> version_ = std::make_shared<std::uint64_t>(1);
  std::vector<FusedPart> parts_;
  std::uint64_t uses_ = 0;
  const std::atomic<std::uint64_t>& replacements_;  // of all functions
  std::uint64_t seen_;                              // of replacements_
  // A comparison of keys may run code that calls this object and removes an
  // entry. The removed entry still leads to the next until no call is running.
  std::unordered_map<std::uint64_t, TracedFunction*> by_hash_;
  TracedFunction* last_ = nullptr;
};

/// Marks a running call. The programs that it uses stay until it is over.
class TraceCache::Running {
 public:
  /// Begins a call. With `forgets` it drops programs that were traced with
  /// functions that are replaced now. Otherwise no such program runs.
  explicit Running(TraceCache& cache, bool forgets = true) : cache_(cache) {
    if (forgets && cache.seen_ != cache.replacements_.load(
                                      std::memory_order_relaxed)) [[unlikely]]
      cache.forget_if_parts_were_replaced();
    ++cache.running_;
  }
  ~Running() {
    if (--cache_.running_ == 0 && !cache_.left_.empty()) [[unlikely]] {
      // Releasing the programs may run code that calls this object.
      const AllTraced left = std::exchange(cache_.left_, {});
    }
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  TraceCache& cache_;
};

/// Marks the cache whose function this thread replaces.
class GPUOS_API TraceCache::Replacing {
 public:
  explicit Replacing(const TraceCache& cache) noexcept;
  ~Replacing();
  Replacing(const Replacing&) = delete;
  Replacing& operator=(const Replacing&) = delete;

 private:
  const TraceCache* before_;
};

}  // namespace gpuos
