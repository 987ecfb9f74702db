#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpuos/dtype.h"
#include "gpuos/export.h"
#include "gpuos/inline_vector.h"
#include "gpuos/program.h"
#include "gpuos/scalar.h"
#include "gpuos/tensor_view.h"

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

/// Holds an object of another language.
using HeldObject = std::shared_ptr<void>;

/// The result of a step that a function computes of numbers alone.
struct StepResult {
  enum class Kind : std::uint8_t {
    Number,   // a scalar of a program, of the kind `word`
    Other,    // a number that no program has
    Objects,  // several numbers, which other steps take
    Error,    // an error, which the function may have caught
    None      // anything else
  };

  Kind kind{};
  HeldObject object{};  // of an error: its form, which equal errors have
  ArgumentWord word{};
  Scalar scalar = 0;
};

/// Compares, holds and computes objects of another language.
class ForeignObjects {
 public:
  virtual ~ForeignObjects() = default;
  /// Returns whether both lead to the same program.
  virtual bool is_same(void* a, void* b) const = 0;
  /// Returns an equal object that nothing changes, for as long as it is held.
  virtual HeldObject hold(void* object) const = 0;
  /// Computes a step (NumberStep::function). Throws: what ends the call, as
  /// Ctrl-C does.
  virtual StepResult compute(void* function,
                             std::span<void* const> operands) const = 0;
};

/// An object of another language, which is borrowed.
struct ForeignObject {
  void* object;
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
    objects_.add([&] { return ForeignObject{object, hash}; });
  }

  GPUOS_API std::uint64_t hash() const noexcept;
  std::uint64_t function() const noexcept { return function_; }
  std::span<const ArgumentWord> words() const noexcept { return words_.view(); }
  std::span<const ForeignObject> objects() const noexcept {
    return objects_.view();
  }

 private:
  std::uint64_t function_;
  // Each argument may have a name.
  InlineVector<ArgumentWord, 2 * kMaxFusedArguments> words_;
  InlineVector<ForeignObject, 2 * kMaxFusedArguments> objects_;
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
  std::vector<HeldObject> objects;
  std::vector<Shape> shapes;  // of the inputs
  std::vector<Scalar> scalars;
  std::vector<HeldObject> numbers;  // the objects of the scalars
};

}  // namespace gpuos
