#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuos {

/// Element type of a buffer or of a scalar parameter.
enum class DType : std::uint8_t { Float32, Float64, Int32, Int64 };

inline constexpr std::size_t kDTypeCount = 4;

/// Units: bytes.
constexpr std::size_t size_of(DType dtype) noexcept {
  return dtype == DType::Float32 || dtype == DType::Int32 ? 4 : 8;
}

/// NumPy's name: "float32", "float64", "int32", "int64".
std::string_view name_of(DType dtype) noexcept;

/// The same type as C++ spells it: "float", "double", "int", "long long".
std::string_view cpp_name_of(DType dtype) noexcept;

/// The inverse of name_of(); empty for a name that gpuos does not know.
std::optional<DType> dtype_from_name(std::string_view name) noexcept;

}  // namespace gpuos
