#pragma once

#include <cstdint>

#include "device/program_codes.h"
#include "gpuos/dtype.h"

namespace gpuos::program {

/// The type in which values of `dtype` are computed.
constexpr Type compute_type(DType dtype) noexcept {
  switch (dtype) {
    case DType::Float64:
      return kF64;
    case DType::Int64:
      return kI64;
    case DType::UInt64:
      return kU64;
    case DType::Complex64:
      return kC64;
    case DType::Bool:
    case DType::Int8:
    case DType::Int16:
    case DType::Int32:
      return kI32;
    case DType::UInt8:
    case DType::UInt16:
    case DType::UInt32:
      return kU32;
    default:
      return kF32;
  }
}

/// Cells that a value takes.
constexpr std::uint32_t cells_of(Type type) noexcept {
  return type == kF64 || type == kI64 || type == kU64 || type == kC64 ? 2 : 1;
}
constexpr std::uint32_t cells_of(DType dtype) noexcept {
  return cells_of(compute_type(dtype));
}

}  // namespace gpuos::program
