#pragma once

// Almost every other header comes here first.
#if __cplusplus < 202002L
#error "gpuos: expected C++20 or newer, got an older standard; add -std=c++20"
#endif

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gpuos/dtype_list.h"

namespace gpuos {

/// Element type of a buffer or of a scalar parameter. The first four are those
/// of the built-in operators, in the order of their slots.
#define GPUOS_NAME(name, ...) name,
enum class DType : std::uint8_t { GPUOS_DTYPES(GPUOS_NAME) };
#undef GPUOS_NAME

/// NumPy's kinds of numbers, from which one may be cast to a later one.
enum class DTypeKind : std::uint8_t {
  Bool,
  Unsigned,
  Signed,
  Floating,  // real
  Complex
};

/// The bytes of each dtype. They are not in size_of(), which would write them
/// to the stack first.
#define GPUOS_BYTES(name, text, bytes, ...) bytes,
inline constexpr std::uint8_t kElementBytes[] = {GPUOS_DTYPES(GPUOS_BYTES)};
#undef GPUOS_BYTES
#define GPUOS_KIND(name, text, bytes, kind, ...) DTypeKind::kind,
inline constexpr DTypeKind kDTypeKinds[] = {GPUOS_DTYPES(GPUOS_KIND)};
#undef GPUOS_KIND

inline constexpr std::size_t kDTypeCount = sizeof(kElementBytes);

/// Units: bytes.
constexpr std::size_t size_of(DType dtype) noexcept {
  return kElementBytes[static_cast<std::size_t>(dtype)];
}

constexpr DTypeKind kind_of(DType dtype) noexcept {
  return kDTypeKinds[static_cast<std::size_t>(dtype)];
}

constexpr bool is_floating(DType dtype) noexcept {
  return kind_of(dtype) == DTypeKind::Floating;
}

/// Returns whether it is a float of fewer bits than float32. Programs compute
/// it in float32.
constexpr bool is_short_float(DType dtype) noexcept {
  return is_floating(dtype) && size_of(dtype) < 4;
}

constexpr bool is_complex(DType dtype) noexcept {
  return kind_of(dtype) == DTypeKind::Complex;
}
/// Returns the dtype of the parts of a complex dtype.
constexpr DType part_of(DType dtype) noexcept {
  return dtype == DType::Complex128 ? DType::Float64 : DType::Float32;
}

/// Bool is no integer.
constexpr bool is_integer(DType dtype) noexcept {
  return kind_of(dtype) == DTypeKind::Signed ||
         kind_of(dtype) == DTypeKind::Unsigned;
}

/// Returns whether the dtype has negative numbers.
constexpr bool is_signed(DType dtype) noexcept {
  return kind_of(dtype) != DTypeKind::Bool &&
         kind_of(dtype) != DTypeKind::Unsigned;
}

/// The name in Python: "float32", "int8", "bool", "bfloat16", ...
std::string_view name_of(DType dtype) noexcept;

/// Returns the name of the type in device code: "float", "long long",
/// "unsigned char", "gpuos::F16", ...
std::string_view cpp_name_of(DType dtype) noexcept;

/// Returns the package that makes it a dtype of NumPy: "numpy", or "ml_dtypes"
/// for those that NumPy itself lacks.
std::string_view package_of(DType dtype) noexcept;

/// The inverse of name_of(); empty for a name that gpuos does not know.
std::optional<DType> dtype_from_name(std::string_view name) noexcept;

}  // namespace gpuos
