#pragma once

#include <cstddef>
#include <cstdint>

#include "device/interpreter/codes.h"
#include "gpuos/dtype.h"

namespace gpuos::program {

constexpr Type compute_type(DType dtype) noexcept {
#define GPUOS_TYPE(name, text, bytes, kind, Stored, type, ...) type,
  constexpr Type kTypes[] = {GPUOS_DTYPES(GPUOS_TYPE)};
#undef GPUOS_TYPE
  return kTypes[static_cast<std::size_t>(dtype)];
}

/// Cells that a value takes.
constexpr std::uint32_t cells_of(Type type) noexcept {
  switch (type) {
    case kF32:
    case kI32:
    case kU32:
      return 1;
    case kC128:
      return 4;
    default:
      return 2;
  }
}
constexpr std::uint32_t cells_of(DType dtype) noexcept {
  return cells_of(compute_type(dtype));
}

}  // namespace gpuos::program
