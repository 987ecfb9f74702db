#include "program/graph/typing.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/concat.h"
#include "device/interpreter/codes.h"
#include "gpuos/error.h"

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

[[noreturn]] void refuse(Op op, std::string_view expected, DType got) {
  throw WrongType(concat(info_of(op).name, ": expected ", expected, ", got ",
                         name_of(got)));
}

// Weak numbers together stay weak: bool < int < real < complex.
DType wider_of_weak(DType a, DType b) noexcept {
  for (const DType dtype : {DType::Complex128, DType::Float64, DType::Int64}) {
    if (a == dtype || b == dtype) return dtype;
  }
  return a;
}

// Weak numbers take the common type of the other operands.
Typing common_type(std::span<const Node> operands) {
  std::optional<DType> strong;
  std::optional<DType> weak;
  for (const Node& node : operands) {
    if (node.is_weak)
      weak = weak ? wider_of_weak(*weak, node.dtype) : node.dtype;
    else
      strong = strong ? promote(*strong, node.dtype) : node.dtype;
  }
  const DType dtype = !strong ? *weak
                      : !weak ? *strong
                              : promote_weak(*weak, *strong);
  return {dtype, dtype, !strong};
}

constexpr auto kTakesComplex = [] {
  std::array<bool, std::size(kOpInfos)> all{};
#define GPUOS_SET(name, function, numpy, rule, types, ...) \
  all[static_cast<std::size_t>(Op::name)] = has(types, kC64);
  GPUOS_UNARY_FUNCTIONS(GPUOS_SET)
  GPUOS_BINARY_FUNCTIONS(GPUOS_SET)
  GPUOS_COMPARISONS(GPUOS_SET)
  GPUOS_TESTS(GPUOS_SET)
  GPUOS_PARTS(GPUOS_SET)
#undef GPUOS_SET
#define GPUOS_SET(name, function, numpy, types) \
  all[static_cast<std::size_t>(Op::name)] = has(types, kC64);
  GPUOS_SUMS(GPUOS_SET)
  GPUOS_PLACES(GPUOS_SET)
#undef GPUOS_SET
  // The lists do not give these two complex types.
  for (const Op op : {Op::Absolute, Op::Where})
    all[static_cast<std::size_t>(op)] = true;
  return all;
}();

bool takes_complex(Op op) noexcept {
  return kTakesComplex[static_cast<std::size_t>(op)];
}

// Returns whether NumPy has no loop for bool and computes in int8.
bool widens_bool(Op op) noexcept {
  switch (op) {
    case Op::FloorDivide:
    case Op::Remainder:
    case Op::Fmod:
    case Op::Power:
    case Op::Square:
    case Op::Reciprocal:
    case Op::Conjugate:
    case Op::LeftShift:
    case Op::RightShift:
      return true;
    default:
      return false;
  }
}

bool refuses_bool(Op op) noexcept {
  return op == Op::Subtract || op == Op::Negative || op == Op::Sign;
}

Typing arithmetic(Op op, Typing type) {
  if (type.operands == DType::Bool) {
    if (refuses_bool(op)) refuse(op, "numbers", type.operands);
    if (widens_bool(op)) type.operands = type.result = DType::Int8;
  }
  return type;
}

bool is_exact(DType dtype) noexcept {
  return is_integer(dtype) || dtype == DType::Bool;
}

// NumPy chooses the smallest float that holds each integer, not the one that
// holds their promoted dtype: int8 and uint8 give float16.
Typing real(Typing type, std::span<const Node> operands) {
  DType widest = operands[0].dtype;
  bool is_plain = true;
  for (const Node& node : operands) {
    is_plain = is_plain && !node.is_weak && is_exact(node.dtype);
    if (size_of(node.dtype) > size_of(widest)) widest = node.dtype;
  }
  if (is_plain)
    type.operands = floating_of(widest);
  else if (type.is_weak && !is_complex(type.operands))
    type.operands = DType::Float64;
  else
    type.operands = floating_of(type.operands);
  type.result = type.operands;
  return type;
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

Typing type_of(Op op, std::span<const Node> operands) {
  const OpRule rule = info_of(op).rule;
  Typing type =
      common_type(rule == OpRule::Select ? operands.subspan(1) : operands);
  if (is_complex(type.operands) && !takes_complex(op))
    refuse(op, "a real dtype", type.operands);
  if (op == Op::ImaginaryPart && !is_complex(type.operands))
    refuse(op, "a complex dtype", type.operands);
  switch (rule) {
    case OpRule::Arithmetic:
      return arithmetic(op, type);
    case OpRule::Division:
      if (!is_floating(type.operands) && !is_complex(type.operands))
        type.operands = DType::Float64;
      type.result = type.operands;
      return type;
    case OpRule::Real:
      return real(type, operands);
    case OpRule::Integer:
      if (is_floating(type.operands)) refuse(op, "integers", type.operands);
      return arithmetic(op, type);
    case OpRule::Test:
      if (is_exact(type.operands)) type.operands = floating_of(type.operands);
      [[fallthrough]];
    case OpRule::Comparison:
      type.result = DType::Bool;
      type.is_weak = false;
      return type;
    case OpRule::Parts:
      if (is_complex(type.operands)) type.result = part_of(type.operands);
      return type;
    default:
      return type;
  }
}

Typing reduction_type_of(Op op, DType dtype) {
  if (is_complex(dtype) && !takes_complex(op))
    refuse(op, "a real dtype", dtype);
  switch (op) {
    case Op::Sum:
    case Op::Prod: {
      if (!is_exact(dtype)) return {dtype, dtype};
      const DType wide = dtype == DType::Bool || is_signed(dtype)
                             ? DType::Int64
                             : DType::UInt64;
      return {wide, wide};
    }
    case Op::Argmax:
    case Op::Argmin:
      return {dtype, DType::Int64};
    default:
      return {dtype, dtype};
  }
}

}  // namespace gpuos::program
