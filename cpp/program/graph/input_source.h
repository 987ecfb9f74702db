#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "gpuos/program.h"
#include "gpuos/tensor_view.h"

namespace gpuos::program {

/// A dimension of an input.
struct Dim {
  std::uint32_t input = 0;
  std::uint32_t dim = 0;

  friend auto operator<=>(const Dim&, const Dim&) = default;
};

/// Dimensions that are broadcast against each other. Their common size is that
/// of the longest, and 1 if there are none.
using DimSet = std::vector<Dim>;

/// A dimension that a view adds.
inline constexpr std::uint8_t kNewDim = 0xff;

/// Dimension d of a view is dimension `dims[d]` of its operand, or kNewDim.
using DimMap = std::array<std::uint8_t, kMaxDims>;

/// The source of an input in each call: an argument, or a view of an earlier
/// input. Shapes are known only in the call. The view therefore describes an
/// index into a value that contains the input. If the value is broadcast, the
/// input stays unchanged.
struct InputSource {
  enum class Kind : std::uint8_t {
    Argument,
    Index,    // `axes` of each dimension of `from`
    Reshape,  // `from` as a value of dimensions `dims`, under `shape`
    Shape,    // no memory, only `shape`, to which others are broadcast
    Joined    // no memory, only how long parts are that are joined
  };
  Kind kind = Kind::Argument;
  std::uint32_t from = 0;  // Argument: which; Joined: the axis; else an input
  std::vector<AxisIndex> axes{};
  DimMap dims{};
  /// The size of each dimension of the value: of an Index only where it is
  /// asked for, of what is joined each of the first part, then of the next.
  std::vector<DimSet> whole{};
  Shape shape{};  // Joined: how many parts; Shape: -1 is what `whole` is there

  friend auto operator<=>(const InputSource&, const InputSource&) = default;
};

/// The part of a result that is an output of a plan, along some dimensions.
struct ResultPiece {
  struct Part {
    std::uint32_t dim = 0;
    std::uint32_t joined = 0;  // an input
    std::uint32_t part = 0;
  };
  std::uint32_t result = 0;
  std::vector<Part> parts;
};

}  // namespace gpuos::program
