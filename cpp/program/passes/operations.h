#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <initializer_list>

#include "device/interpreter/text.h"
#include "program/graph/plan.h"

namespace gpuos::program {

/// A vector of at most `kMost` values, in place. Objects that are made for each
/// step of a pass must not allocate memory.
template <typename T, std::size_t kMost>
class ShortVector {
 public:
  ShortVector() = default;
  ShortVector(std::initializer_list<T> values) {
    for (const T& value : values) push_back(value);
  }

  void push_back(const T& value) {
    assert(count_ < kMost);
    values_[count_++] = value;
  }

  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  const T& operator[](std::size_t i) const { return values_[i]; }
  const T& back() const { return values_[count_ - 1]; }
  const T* begin() const noexcept { return values_.data(); }
  const T* end() const noexcept { return values_.data() + count_; }

 private:
  std::array<T, kMost> values_{};
  std::size_t count_ = 0;
};

/// One instruction without cells: an operation on the operands' values.
struct Operation {
  Code code{};
  Type type{};
};

using Operations = ShortVector<Operation, 4>;

/// The properties of a function in the vocabulary, except its types.
enum Traits : std::uint8_t {
  kNone = 0,
  kStays = 1,     // results are operands' values or whole numbers between them
  kLong = 2,      // takes as long as some additions
  kInReal = 4,    // for real types in device/functions/real.h
  kInNeural = 8,  // in device/functions/neural.h
};

/// Returns the traits of a code, or 0 if it is no function of the vocabulary.
std::uint32_t traits_of(Code code) noexcept;

/// Returns the operations that compute `step`. The first has all operands, and
/// each later one the result of the one before. It is empty if the result is
/// the operand itself. Not for loads, stores, scalars and reductions.
Operations operations_of(const Step& step);

/// Returns the number of operands that are steps.
std::size_t operands_of(const Step& step);

/// Returns the operations that convert a reduction's result to its dtype.
Operations after_reduction(const Step& step);

/// A Form: how `operation` is run.
u8 form_of(const Operation& operation);

Operation load_of(DType dtype);
Operation store_of(DType dtype);

/// The type in which a reduction gathers. A bool gathers as unsigned, so that a
/// maximum begins with 0.
Type reduction_type(const Step& step);

/// A reduction's codes for its initial value, each further value, and the join
/// of partial results.
struct ReductionCodes {
  Code init{};
  Code step{};
  Code join{};
};
ReductionCodes reduction_codes(Op op);

/// Returns the number of cells of a reduction's partial result. An argmax keeps
/// the place after the value.
std::uint32_t gathered_cells(const Step& step);

}  // namespace gpuos::program
