#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpuos/dtype.h"
#include "gpuos/scalar.h"
#include "module/inline_vector.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Limits the arguments of a fused function, with keywords counted twice.
inline constexpr std::size_t kMaxFusedArguments = 128;
/// Limits the results.
inline constexpr std::size_t kMaxFusedResults = 32;

/// Tells the kind of an argument of a fused function.
enum class ArgumentKind : std::uint8_t {
  Array,    // an input: its dtype and rank
  Scalar,   // a NumPy scalar: its dtype
  Point,    // a NumPy array without axes, which is no number: its dtype
  Number,   // a number of Python: what kind of number
  Static,   // decides what the function does: its value
  Keyword,  // the name of the argument after it
};

/// Describes one argument in a structure. `rank` is that of an array.
struct ArgumentWord {
  ArgumentKind kind{};
  DType dtype{};  // dtype of a number: Bool, Int64, Float64 or Complex128
  std::uint8_t rank = 0;

  friend bool operator==(const ArgumentWord&, const ArgumentWord&) = default;
};

/// Holds the structure of a call without an allocation. Borrows objects.
class CallKey {
 public:
  void add(ArgumentWord word) {
    words_.add([&] { return word; });
    mix(static_cast<std::uint64_t>(word.kind) << 16 |
        static_cast<std::uint64_t>(word.dtype) << 8 | word.rank);
  }
  /// Adds an object. Throws: TypeError if it has no hash.
  void add_object(ArgumentKind kind, PyObject* object);

  std::uint64_t hash() const noexcept { return hash_; }
  std::span<const ArgumentWord> words() const noexcept { return words_.view(); }
  std::span<PyObject* const> objects() const noexcept {
    return {objects_.data(), object_count_};
  }

 private:
  void mix(std::uint64_t bits) noexcept {
    hash_ = (hash_ ^ bits) * 0x9E3779B97F4A7C15u;
    hash_ ^= hash_ >> 32;
  }

  std::uint64_t hash_ = 0;
  InlineVector<ArgumentWord, kMaxFusedArguments> words_;
  std::size_t object_count_ = 0;
  std::array<PyObject*, kMaxFusedArguments> objects_;
};

/// Holds the structure of the calls that one program serves.
struct KnownKey {
  explicit KnownKey(const CallKey& key);
  /// Throws: error_already_set, from a comparison of static arguments.
  bool matches(const CallKey& key) const;

  std::uint64_t hash;
  std::vector<ArgumentWord> words;
  std::vector<pybind11::object> objects;
};

/// Returns whether the object is None, a str, bytes, a tuple, an enum, a type,
/// a NumPy dtype or `...`.
bool is_static(PyObject* object);

}  // namespace gpuos::python
