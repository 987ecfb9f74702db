#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuos {

/// Element type of a buffer or of a scalar parameter. The first four are those
/// of the built-in operators and of expressions, in the order of their slots.
enum class DType : std::uint8_t {
  Float32,
  Float64,
  Int32,
  Int64,
  Bool,
  Int8,
  UInt8,
  Int16,
  UInt16,
  UInt32,
  UInt64,
  Float16,
  BFloat16,
  Complex64
};

inline constexpr std::size_t kDTypeCount = 14;

/// Of each dtype. Not in size_of(), which would write them to the stack first.
inline constexpr std::uint8_t kElementBytes[kDTypeCount] = {
    4, 8, 4, 8, 1, 1, 1, 2, 2, 4, 8, 2, 2, 8};

/// Units: bytes.
constexpr std::size_t size_of(DType dtype) noexcept {
  return kElementBytes[static_cast<std::size_t>(dtype)];
}

/// Real, not complex.
constexpr bool is_floating(DType dtype) noexcept {
  return dtype == DType::Float32 || dtype == DType::Float64 ||
         dtype == DType::Float16 || dtype == DType::BFloat16;
}

constexpr bool is_complex(DType dtype) noexcept {
  return dtype == DType::Complex64;
}

/// Bool is no integer.
constexpr bool is_integer(DType dtype) noexcept {
  return !is_floating(dtype) && !is_complex(dtype) && dtype != DType::Bool;
}

/// Whether it has numbers below 0.
constexpr bool is_signed(DType dtype) noexcept {
  return dtype != DType::Bool && dtype != DType::UInt8 &&
         dtype != DType::UInt16 && dtype != DType::UInt32 &&
         dtype != DType::UInt64;
}

/// NumPy's name: "float32", "int8", "bool", ...; "bfloat16", which NumPy lacks.
std::string_view name_of(DType dtype) noexcept;

/// The same type as device code spells it: "float", "long long",
/// "unsigned char", "gpuos::F16", ...
std::string_view cpp_name_of(DType dtype) noexcept;

/// The inverse of name_of(); empty for a name that gpuos does not know.
std::optional<DType> dtype_from_name(std::string_view name) noexcept;

}  // namespace gpuos
