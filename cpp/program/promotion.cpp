#include "program/promotion.h"

#include <algorithm>
#include <utility>

namespace gpuos::program {
namespace {

DType signed_of(std::size_t bytes) noexcept {
  switch (bytes) {
    case 1:
      return DType::Int8;
    case 2:
      return DType::Int16;
    case 4:
      return DType::Int32;
    default:
      return bytes == 8 ? DType::Int64 : DType::Float64;
  }
}

DType promote_integers(DType a, DType b) noexcept {
  if (is_signed(a) == is_signed(b)) return size_of(a) >= size_of(b) ? a : b;
  if (is_signed(b)) std::swap(a, b);
  // `a` is the signed one.
  return size_of(a) > size_of(b) ? a : signed_of(2 * size_of(b));
}

DType promote_integer_and_float(DType integer, DType real) noexcept {
  if (package_of(real) != "numpy") return real;
  return std::max(floating_of(integer), real,
                  [](DType x, DType y) { return size_of(x) < size_of(y); });
}

}  // namespace

DType floating_of(DType dtype) noexcept {
  if (is_floating(dtype) || is_complex(dtype)) return dtype;
  switch (size_of(dtype)) {
    case 1:
      return DType::Float16;
    case 2:
      return DType::Float32;
    default:
      return DType::Float64;
  }
}

DType promote(DType a, DType b) noexcept {
  if (a == b || b == DType::Bool) return a;
  if (a == DType::Bool) return b;
  if (is_complex(b)) std::swap(a, b);
  if (is_complex(a)) {
    const bool is_wide = is_complex(b) || floating_of(b) == DType::Float64;
    return is_wide ? DType::Complex128 : a;
  }
  if (is_integer(a) && is_integer(b)) return promote_integers(a, b);
  if (is_integer(a)) return promote_integer_and_float(a, b);
  if (is_integer(b)) return promote_integer_and_float(b, a);
  if (is_short_float(a) && is_short_float(b)) return DType::Float32;
  return size_of(a) >= size_of(b) ? a : b;
}

DType promote_weak(DType weak, DType array) noexcept {
  if (weak == DType::Bool) return promote(weak, array);
  if (weak == DType::Int64) return array == DType::Bool ? weak : array;
  const bool is_exact = is_integer(array) || array == DType::Bool;
  if (weak == DType::Float64) return is_exact ? weak : array;
  if (is_complex(array)) return array;
  const bool is_wide = is_exact || array == DType::Float64;
  return is_wide ? DType::Complex128 : DType::Complex64;
}

}  // namespace gpuos::program
