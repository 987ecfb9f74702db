// Small arrays for the targets that run programs.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "gpuos/program.h"
#include "gpuos/runtime.h"
#include "target.h"

namespace gpuos::fuzz {

inline constexpr std::size_t kMostArrays = 8;

/// One worker, and nothing is compiled. It lives as long as the process.
inline Runtime& host_runtime() {
  static Runtime& runtime = *new Runtime(
      {.backend = "host", .workers = 1, .compile_programs_after = 0});
  return runtime;
}

/// An array in C order, in memory without room around it.
struct SmallArray {
  SmallArray(DType type, Shape sizes) : dtype(type), shape(std::move(sizes)) {
    std::size_t bytes = size_of(dtype);
    for (const std::int64_t size : shape)
      bytes *= static_cast<std::size_t>(size);
    memory.resize(bytes);
  }

  TensorView view() const {
    TensorView view;
    // An invalid address is refused even for an array without elements.
    view.data = const_cast<std::uint8_t*>(memory.data());
    view.dtype = dtype;
    view.dims = static_cast<std::uint8_t>(shape.size());
    std::ranges::copy(shape, view.shape.begin());
    return view;
  }
  ProgramArgument argument() const {
    return {dtype, static_cast<int>(shape.size())};
  }
  friend bool operator==(const SmallArray&, const SmallArray&) = default;

  DType dtype;
  Shape shape;
  std::vector<std::uint8_t> memory;
};

inline DType draw_dtype(Bytes& bytes) {
  return static_cast<DType>(bytes.below(static_cast<int>(kDTypeCount)));
}

/// Draws an array of up to three axes, each of size 1 or of a common size.
inline SmallArray draw_array(Bytes& bytes) {
  const DType dtype = draw_dtype(bytes);
  const std::uint8_t form = bytes.number();
  constexpr std::array<std::int64_t, 3> kSizes{3, 2, 5};
  Shape shape;
  for (std::size_t d = form & 3; d-- > 0;)
    shape.push_back((form >> (2 + d) & 1) != 0   ? 1
                    : (form >> (5 + d) & 1) != 0 ? 0
                                                 : kSizes[d]);
  SmallArray array(dtype, shape);
  for (std::uint8_t& byte : array.memory) {
    byte = bytes.number();
    if (dtype == DType::Bool) byte &= 1;
  }
  return array;
}

}  // namespace gpuos::fuzz
