#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gpuos/dtype.h"
#include "gpuos/export.h"
#include "gpuos/inline_vector.h"
#include "gpuos/program.h"
#include "gpuos/requests.h"
#include "gpuos/scalar.h"
#include "gpuos/tensor_view.h"

// A fused function is traced once for each structure of its calls. This header
// has the structures, and the programs that a function has for them. A program
// in C++ needs it only for functions in another language. FusedFunction of
// array.h does the rest.

namespace gpuos {

/// Limits the arguments of a fused function.
inline constexpr std::size_t kMaxFusedArguments = 64;
/// Limits the results.
inline constexpr std::size_t kMaxFusedResults = 32;

/// Tells the kind of an argument of a fused function.
enum class ArgumentKind : std::uint8_t {
  Array,    // an input: its dtype and rank
  Scalar,   // a scalar of a dtype, as NumPy has them
  Point,    // an array without axes of another library, which is no number
  Number,   // a plain number, which adapts to the dtype of other operands
  Static,   // an object that decides what the function does
  Keyword,  // the name of the argument after it: an object
};

/// Describes one argument in a structure. `rank` is that of an array.
struct ArgumentWord {
  ArgumentKind kind{};
  DType dtype{};  // of a number: Bool, Int64, Float64 or Complex128
  std::uint8_t rank = 0;

  friend bool operator==(const ArgumentWord&, const ArgumentWord&) = default;
};

/// Returns the value that stands for a number. Requires a word of a number.
GPUOS_API Value stand_for(ProgramBuilder& builder, const ArgumentWord& word,
                          const Scalar& number);

/// Compares and holds objects of another language.
class ForeignObjects {
 public:
  virtual ~ForeignObjects() = default;
  /// Returns whether both lead to the same program. Their hashes are equal.
  virtual bool is_same(void* a, void* b) const = 0;
  /// Returns an equal object that nothing changes, for as long as it is held.
  virtual std::shared_ptr<void> hold(void* object) const = 0;
};

/// An object of another language, which is borrowed, or held.
template <typename Pointer>
struct ForeignObject {
  Pointer object;
  std::uint64_t hash;
};

/// Holds the structure of a call without an allocation. Borrows objects.
class CallKey {
 public:
  /// `function` is the number of the function in a cache of several.
  explicit CallKey(std::uint64_t function = 0) : function_(function) {}

  void add(ArgumentWord word) {
    words_.add([&] { return word; });
  }
  void add_object(ArgumentKind kind, void* object, std::uint64_t hash) {
    add({.kind = kind});
    objects_.add([&] { return ForeignObject<void*>{object, hash}; });
  }

  GPUOS_API std::uint64_t hash() const noexcept;
  std::uint64_t function() const noexcept { return function_; }
  std::span<const ArgumentWord> words() const noexcept { return words_.view(); }
  std::span<const ForeignObject<void*>> objects() const noexcept {
    return objects_.view();
  }

 private:
  std::uint64_t function_;
  // Each argument may have a name.
  InlineVector<ArgumentWord, 2 * kMaxFusedArguments> words_;
  InlineVector<ForeignObject<void*>, 2 * kMaxFusedArguments> objects_;
};

/// Holds the arguments of one call, sorted by what is known when the function
/// is traced. The caller adds at most kMaxFusedArguments.
class CallArguments {
 public:
  explicit CallArguments(std::uint64_t function = 0) : key_(function) {}

  /// Adds the array that `make` returns. It is made in its place.
  template <typename Make>
  const TensorView& add_array(Make make) {
    const TensorView& view = inputs_.add(make);
    key_.add(
        {.kind = ArgumentKind::Array, .dtype = view.dtype, .rank = view.dims});
    return view;
  }
  /// Adds a number. `object` is its object in another language.
  void add_number(ArgumentKind kind, DType dtype, const Scalar& number,
                  void* object = nullptr) {
    key_.add({.kind = kind, .dtype = dtype});
    own_scalars_.add([&] { return number; });
    numbers_.add([&] { return object; });
  }
  void add_object(ArgumentKind kind, void* object, std::uint64_t hash) {
    key_.add_object(kind, object, hash);
  }
  /// Sets the results of the steps that are computed of the numbers alone.
  GPUOS_API void set_more_scalars(std::span<const Scalar> more);

  const CallKey& key() const noexcept { return key_; }
  std::span<const TensorView> inputs() const noexcept { return inputs_.view(); }
  std::span<const Scalar> own_scalars() const noexcept {
    return own_scalars_.view();
  }
  /// Returns the scalars of the program: own_scalars(), then the other ones.
  std::span<const Scalar> scalars() const noexcept {
    return all_scalars_.empty() ? own_scalars() : all_scalars_;
  }
  std::span<void* const> numbers() const noexcept { return numbers_.view(); }

 private:
  CallKey key_;
  InlineVector<TensorView, kMaxFusedArguments> inputs_;
  InlineVector<Scalar, kMaxFusedArguments> own_scalars_;
  InlineVector<void*, kMaxFusedArguments> numbers_;
  std::vector<Scalar> all_scalars_;
};

/// Holds the call for which a function was traced.
struct KnownCall {
  KnownCall(const CallArguments& call, const ForeignObjects* foreign);

  std::uint64_t function;
  std::uint64_t hash;
  std::vector<ArgumentWord> words;
  std::vector<ForeignObject<std::shared_ptr<void>>> objects;
  std::vector<Shape> shapes;  // of the inputs
  std::vector<Scalar> scalars;
  std::vector<std::shared_ptr<void>> numbers;  // the objects of the scalars
};

/// Holds the places, among the scalars of a program, of the numbers for whose
/// values a function asked.
using AskedScalars = std::set<std::uint32_t>;

/// Holds the steps of a function that another language computes of the numbers
/// of a call alone.
class NumberSteps {
 public:
  virtual ~NumberSteps() = default;
  /// Returns whether the results have the kinds and deciding values of the
  /// traced call. `scalars` gets one for each step.
  virtual bool compute(std::span<void* const> numbers,
                       std::vector<Scalar>& scalars) const = 0;
  /// Adds the numbers from which the deciding results are computed. The result
  /// of the first step has the place `first`.
  virtual void add_deciding(std::size_t first,
                            AskedScalars& deciding) const = 0;
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
  std::unique_ptr<const NumberSteps> steps{};
  std::vector<Scalar> more_scalars{};  // of the steps, for `call`
  /// Makes the function's result from a list of arrays. Null: it is one array.
  std::shared_ptr<void> rebuild{};

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
  bool answers_the_same(CallArguments& other) const;

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
