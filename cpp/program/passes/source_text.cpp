#include "program/passes/source_text.h"

#include "base/concat.h"
#include "gpuos/error.h"
#include "program/passes/compute_type.h"

namespace gpuos::program {
namespace {

/// The call of an operation, and its result.
struct Called {
  std::string name;
  Type type{};
};

Called called_of(const Operation& operation) {
  const Type type = operation.type;
  switch (operation.code) {
#define GPUOS_CASE(name, function, ...) \
  case Code::name:                      \
    return {"fn::" #function, type};
    GPUOS_UNARY_FUNCTIONS(GPUOS_CASE)
    GPUOS_BINARY_FUNCTIONS(GPUOS_CASE)
#undef GPUOS_CASE
#define GPUOS_CASE(name, function, ...) \
  case Code::name:                      \
    return {"fn::" #function, kI32};
    GPUOS_COMPARISONS(GPUOS_CASE)
    GPUOS_TESTS(GPUOS_CASE)
#undef GPUOS_CASE
#define GPUOS_CASE(name, function, ...) \
  case Code::name:                      \
    return {"fn::" #function, type == kC128 ? kF64 : kF32};
    GPUOS_PARTS(GPUOS_CASE)
    GPUOS_CASE(ComplexAbs, abs)
#undef GPUOS_CASE
#define GPUOS_CASE(name, Narrow, ...) \
  case Code::name:                    \
    return {#Narrow "::of", type};
    GPUOS_NARROWING_CODES(GPUOS_CASE)
#undef GPUOS_CASE
    case Code::LogicalNot:
      return {"NotFunction::of", type};
    case Code::ToF32:
      return {"Conversion<float>::of", kF32};
    case Code::ToF64:
      return {"Conversion<double>::of", kF64};
    case Code::ToI32:
      return {"Conversion<i32>::of", kI32};
    case Code::ToU32:
      return {"Conversion<u32>::of", kU32};
    case Code::ToI64:
      return {"Conversion<i64>::of", kI64};
    case Code::ToU64:
      return {"Conversion<u64>::of", kU64};
    case Code::ToC64:
      return {"Conversion<C64>::of", kC64};
    case Code::ToC128:
      return {"Conversion<C128>::of", kC128};
    case Code::ToBool:
      return {"Conversion<bool>::of", kI32};
    default:
      throw Error(concat("source: expected a function, got code ",
                         static_cast<unsigned>(operation.code)));
  }
}

/// Returns the number of additions that take about as long as `operation`.
std::size_t additions(const Operation& operation) {
  return (traits_of(operation.code) & kLong) != 0 ? 16 : 1;
}

}  // namespace

const char* type_name(Type type) {
  constexpr const char* kNames[] = {"float", "double", "i32", "u32",
                                    "i64",   "u64",    "C64", "C128"};
  return kNames[type];
}

const char* stored_name(DType dtype) {
  if (dtype == DType::Bool) return "unsigned char";
  return size_of(dtype) < 4 ? cpp_name_of(dtype).data()
                            : type_name(compute_type(dtype));
}

Type step_type(const Step& step) { return compute_type(step.dtype); }

const char* info_of_reduction(Op op) {
  switch (op) {
#define GPUOS_CASE(name, ...) \
  case Op::name:              \
    return #name "Of";
    GPUOS_SUMS(GPUOS_CASE)
    GPUOS_PLACES(GPUOS_CASE)
#undef GPUOS_CASE
    default:
      throw Error(
          concat("source: expected a reduction, got ", info_of(op).name));
  }
}

SourceValue call_of(const Operation& operation,
                    const std::vector<std::string>& operands) {
  const Called called = called_of(operation);
  std::string text = concat(called.name, "(");
  for (std::size_t k = 0; k < operands.size(); ++k)
    text += concat(k == 0 ? "" : ", ", operands[k]);
  return {concat("static_cast<", type_name(called.type), ">(", text, "))"),
          called.type};
}

void NeededHeaders::add(const Operation& operation) {
  const std::uint32_t traits = traits_of(operation.code);
  const bool is_real = operation.type == kF32 || operation.type == kF64;
  const bool is_complex = has(kComplexes, operation.type);
  if ((traits & kInNeural) != 0) neural_ = true;
  if (is_complex) complex_ = true;
  if ((traits & kInReal) != 0 && (is_real || is_complex)) real_ = true;
}

std::string NeededHeaders::includes() const {
  std::string text;
  if (real_) text += "#include \"gpuos/functions/real.h\"\n";
  if (complex_) text += "#include \"gpuos/functions/of_complex.h\"\n";
  if (neural_) text += "#include \"gpuos/functions/neural.h\"\n";
  return text;
}

std::size_t work_of(const Step& step) {
  std::size_t work = 0;
  for (const Operation& operation : operations_of(step))
    work += additions(operation);
  return work;
}

std::size_t cost_of(const Step& step) {
  std::size_t cost = 0;
  for (const Operation& operation : operations_of(step))
    cost += additions(operation) * (operation.type == kF32 ? 1 : 2);
  return cost;
}

}  // namespace gpuos::program
