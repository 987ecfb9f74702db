#include "program/passes/operations.h"

#include <array>

#include "base/concat.h"
#include "gpuos/error.h"
#include "program/passes/compute_type.h"

namespace gpuos::program {
namespace {

#define GPUOS_CASE(name, ...) \
  case Op::name:              \
    return Code::name;
Code function_code(Op op) {
  switch (op) {
    GPUOS_UNARY_FUNCTIONS(GPUOS_CASE)
    GPUOS_BINARY_FUNCTIONS(GPUOS_CASE)
    GPUOS_COMPARISONS(GPUOS_CASE)
    GPUOS_TESTS(GPUOS_CASE)
    GPUOS_PARTS(GPUOS_CASE)
    case Op::Where:
      return Code::Where;
    default:
      throw Error(concat("lower: expected a function, got ", info_of(op).name));
  }
}
#undef GPUOS_CASE

bool is_bool(DType dtype) noexcept { return dtype == DType::Bool; }

// Returns whether no dtype needs the rounding of narrow ones.
bool stays_in_range(const Step& step) {
  switch (step.op) {
    case Op::Where:
      return true;
    case Op::Negative:
    case Op::Absolute:
      return is_floating(step.dtype);
    default:
      return (traits_of(function_code(step.op)) & kStays) != 0;
  }
}

// Cuts the value to a narrow dtype.
void narrow(Operations& operations, DType dtype, Type type) {
  switch (dtype) {
    case DType::Int8:
      operations.push_back({Code::WrapI8, type});
      break;
    case DType::UInt8:
      operations.push_back({Code::WrapU8, type});
      break;
    case DType::Int16:
      operations.push_back({Code::WrapI16, type});
      break;
    case DType::UInt16:
      operations.push_back({Code::WrapU16, type});
      break;
#define GPUOS_CASE(with, name, text, bytes, Stored, ...) \
  case DType::name:                                      \
    operations.push_back({Code::Round##Stored, type});   \
    break;
      GPUOS_SHORT_FLOATS(GPUOS_CASE, )
#undef GPUOS_CASE
    default:
      break;
  }
}

bool is_identity(const Step& step) noexcept {
  const bool is_exact = is_integer(step.from) || is_bool(step.from);
  switch (step.op) {
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
      return is_exact;
    case Op::Conjugate:
    case Op::RealPart:
      return !is_complex(step.from);
    case Op::Absolute:
      return is_bool(step.from) || (is_exact && !is_signed(step.from));
    default:
      return false;
  }
}

Code conversion_to(DType dtype) {
  if (is_bool(dtype)) return Code::ToBool;
  constexpr Code kCodes[] = {Code::ToF32, Code::ToF64, Code::ToI32,
                             Code::ToU32, Code::ToI64, Code::ToU64,
                             Code::ToC64, Code::ToC128};
  return kCodes[compute_type(dtype)];
}

// Returns whether `to` can represent every value of `from`.
bool holds(DType to, DType from) noexcept {
  if (is_bool(from)) return true;
  if (is_floating(to) || is_floating(from)) return false;
  const bool fits =
      size_of(to) > size_of(from) ||
      (size_of(to) == size_of(from) && is_signed(to) == is_signed(from));
  return fits && (is_signed(to) || !is_signed(from));
}

Operations cast(const Step& step) {
  const Type from = compute_type(step.from);
  const Type to = compute_type(step.dtype);
  Operations operations;
  if (is_bool(step.dtype)) {
    operations.push_back({Code::ToBool, from});
    return operations;
  }
  // A double is rounded to a short float once.
  const bool rounds_double =
      from == kF64 && to == kF32 && step.dtype != DType::Float32;
  if (rounds_double) {
    narrow(operations, step.dtype, from);
    return operations;
  }
  if (from != to) operations.push_back({conversion_to(step.dtype), from});
  if (!holds(step.dtype, step.from)) narrow(operations, step.dtype, to);
  return operations;
}

Code code_of(const Step& step) {
  if (is_bool(step.from)) {
    if (step.op == Op::Add) return Code::BitwiseOr;
    if (step.op == Op::Multiply) return Code::BitwiseAnd;
    if (step.op == Op::Invert) return Code::LogicalNot;
  }
  if (step.op == Op::Absolute && is_complex(step.from)) return Code::ComplexAbs;
  return function_code(step.op);
}

constexpr auto kTraits = [] {
  std::array<std::uint8_t, static_cast<std::size_t>(Code::Count)> all{};
#define GPUOS_SET(name, function, numpy, rule, types, traits) \
  all[static_cast<std::size_t>(Code::name)] = traits;
  GPUOS_UNARY_FUNCTIONS(GPUOS_SET)
  GPUOS_BINARY_FUNCTIONS(GPUOS_SET)
#undef GPUOS_SET
  return all;
}();

}  // namespace

std::uint32_t traits_of(Code code) noexcept {
  return kTraits[static_cast<std::size_t>(code)];
}

Operations operations_of(const Step& step) {
  if (step.op == Op::Cast) return cast(step);
  Operations operations;
  if (is_identity(step)) return operations;
  Type type = compute_type(step.from);
  // Tests know reals. A whole number has the sign of the nearest real.
  const bool is_whole = is_integer(step.from) || is_bool(step.from);
  if (info_of(step.op).rule == OpRule::Test && is_whole) {
    operations.push_back({Code::ToF32, type});
    type = kF32;
  }
  operations.push_back({code_of(step), type});
  const bool is_same_kind = !is_bool(step.dtype);
  if (is_same_kind && !stays_in_range(step))
    narrow(operations, step.dtype, compute_type(step.dtype));
  return operations;
}

Type reduction_type(const Step& step) {
  return is_bool(step.from) ? kU32 : compute_type(step.from);
}

std::size_t operands_of(const Step& step) {
  switch (step.kind) {
    case Step::Kind::Store:
    case Step::Kind::Reduce:
      return 1;
    case Step::Kind::Compute:
      return info_of(step.op).operands;
    default:
      return 0;
  }
}

Operations after_reduction(const Step& step) {
  Operations operations;
  if (is_bool(step.dtype)) operations.push_back({Code::ToBool, kU32});
  if (step.op == Op::Sum || step.op == Op::Prod)
    narrow(operations, step.dtype, compute_type(step.dtype));
  return operations;
}

namespace {

/// The cells of each operand and of the result. 0 means that there is none.
constexpr u8 form(u32 kind, u32 operands, u32 result) {
  return static_cast<u8>(kind | (operands == 2 ? kWideOperands : 0) |
                         (operands == 4 ? kPairOperands : 0) |
                         (result == 2 ? kWideResult : 0) |
                         (result == 4 ? kPairResult : 0));
}

/// Returns the cells of a result. Conversions declare their result's type, and
/// tests and comparisons make 32 bits.
u32 result_cells(const Operation& operation) {
  switch (operation.code) {
    case Code::ToF64:
    case Code::ToI64:
    case Code::ToU64:
    case Code::ToC64:
      return 2;
    case Code::ToC128:
      return 4;
#define GPUOS_CASE(name, ...) case Code::name:
      GPUOS_COMPARISONS(GPUOS_CASE)
      GPUOS_TESTS(GPUOS_CASE)
#undef GPUOS_CASE
    case Code::ToF32:
    case Code::ToI32:
    case Code::ToU32:
    case Code::ToBool:
#define GPUOS_CASE(with, name, text, bytes, Stored, ...) \
  case Code::Round##Stored:
      GPUOS_SHORT_FLOATS(GPUOS_CASE, )
#undef GPUOS_CASE
      return 1;
#define GPUOS_CASE(name, ...) case Code::name:
      GPUOS_PARTS(GPUOS_CASE)
#undef GPUOS_CASE
    case Code::ComplexAbs:
      return cells_of(operation.type) / 2;
    default:
      return cells_of(operation.type);
  }
}

}  // namespace

u8 form_of(const Operation& operation) {
  const u32 cells = cells_of(operation.type);
  switch (operation.code) {
#define GPUOS_CASE(name, ...) case Code::name:
    GPUOS_LOAD_CODES(GPUOS_CASE)
    return form(kLoad, 0, operation.code == Code::Load64 ? 2 : 1);
    GPUOS_STORE_CODES(GPUOS_CASE)
    return form(kStore, operation.code == Code::Store64 ? 2 : 1, 0);
#undef GPUOS_CASE
    case Code::Load128:
      return form(kLoad, 0, 4);
    case Code::Store128:
      return form(kStore, 4, 0);
#define GPUOS_CASE(name, ...)         \
  case Code::name##Init:              \
    return form(kInit, cells, cells); \
  case Code::name##Step:              \
    return form(kStep, cells, cells); \
  case Code::name##Join:              \
    return form(kJoin, cells, cells);
      GPUOS_SUMS(GPUOS_CASE)
#undef GPUOS_CASE
#define GPUOS_CASE(name, ...)              \
  case Code::name##Init:                   \
    return form(kPlaceInit, cells, cells); \
  case Code::name##Step:                   \
    return form(kPlaceStep, cells, cells); \
  case Code::name##Join:                   \
    return form(kPlaceJoin, cells, cells);
      GPUOS_PLACES(GPUOS_CASE)
#undef GPUOS_CASE
    case Code::Scalar32:
    case Code::Scalar64:
    case Code::Scalar128:
      return form(kScalar, 0, cells);
    case Code::Where:
      return form(kSelect, cells, cells);
    default:
      return form(kCompute, cells, result_cells(operation));
  }
}

Operation load_of(DType dtype) {
  const Type type = compute_type(dtype);
  switch (dtype) {
    case DType::Int8:
      return {Code::LoadI8, type};
    case DType::Bool:
      return {Code::LoadBool, type};
    case DType::UInt8:
      return {Code::LoadU8, type};
    case DType::Int16:
      return {Code::LoadI16, type};
    case DType::UInt16:
      return {Code::LoadU16, type};
#define GPUOS_CASE(with, name, text, bytes, Stored, ...) \
  case DType::name:                                      \
    return {Code::Load##Stored, type};
      GPUOS_SHORT_FLOATS(GPUOS_CASE, )
#undef GPUOS_CASE
    default:
      if (size_of(dtype) == 16) return {Code::Load128, type};
      return {size_of(dtype) == 4 ? Code::Load32 : Code::Load64, type};
  }
}

Operation store_of(DType dtype) {
  const Type type = compute_type(dtype);
#define GPUOS_CASE(with, name, text, bytes, Stored, ...) \
  if (dtype == DType::name) return {Code::Store##Stored, type};
  GPUOS_SHORT_FLOATS(GPUOS_CASE, )
#undef GPUOS_CASE
  switch (size_of(dtype)) {
    case 1:
      return {Code::Store8, type};
    case 2:
      return {Code::Store16, type};
    case 4:
      return {Code::Store32, type};
    case 16:
      return {Code::Store128, type};
    default:
      return {Code::Store64, type};
  }
}

#define GPUOS_CASE(name, ...) \
  case Op::name:              \
    return {Code::name##Init, Code::name##Step, Code::name##Join};
ReductionCodes reduction_codes(Op op) {
  switch (op) {
    GPUOS_SUMS(GPUOS_CASE)
    GPUOS_PLACES(GPUOS_CASE)
    default:
      throw Error(
          concat("lower: expected a reduction, got ", info_of(op).name));
  }
}
#undef GPUOS_CASE

std::uint32_t gathered_cells(const Step& step) {
  const std::uint32_t value = cells_of(step.from);
  const bool is_place = step.op == Op::Argmax || step.op == Op::Argmin;
  return is_place ? value + 2 : value;
}

}  // namespace gpuos::program
