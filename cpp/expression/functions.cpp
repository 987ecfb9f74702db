#include "expression/tree.h"

#include <algorithm>

#include "base/concat.h"

namespace gpuos::expression {
namespace {

using Operands = std::span<const Operand>;

/// Returns an operand as a value. A number becomes a value of the program of
/// the other operands.
Value value_of(Operands x) {
  const auto* like = std::ranges::find_if(
      x.data(), x.data() + x.size(),
      [](const Operand& operand) { return !operand.is_number(); });
  return literal_of(x[0], like->value());
}

Value rounded(Operands x) {
  const Value value = value_of(x);
  return is_floating(value.dtype()) ? rint(value) : value;
}

// These macros write a table row for a function of program_functions.h, by its
// operands.
#define GPUOS_ONE(name) \
  {#name, 1, 1, [](Operands x) { return gpuos::name(value_of(x)); }}
#define GPUOS_TWO(name) \
  {#name, 2, 2, [](Operands x) { return gpuos::name(x[0], x[1]); }}
#define GPUOS_ONE_OR_TWO(name)                              \
  {#name, 1, 2, [](Operands x) {                            \
     return x.size() == 1 ? gpuos::name(value_of(x))        \
                          : gpuos::name(value_of(x), x[1]); \
   }}
#define GPUOS_OVER(function)                                              \
  {.name = #function,                                                     \
   .over = [](const Value& x, const Axes& axes, bool keepdims) -> Value { \
     return gpuos::function(x, axes, keepdims);                           \
   }}

constexpr NamedFunction kFunctions[] = {
#define GPUOS_OF_ONE(name, function, numpy, ...) \
  {#numpy, 1, 1, [](Operands x) { return elementwise(Op::name, x); }},
#define GPUOS_OF_TWO(name, function, numpy, ...) \
  {#numpy, 2, 2, [](Operands x) { return elementwise(Op::name, x); }},
    GPUOS_UNARY_FUNCTIONS(GPUOS_OF_ONE)   //
    GPUOS_TESTS(GPUOS_OF_ONE)             //
    GPUOS_PARTS(GPUOS_OF_ONE)             //
    GPUOS_BINARY_FUNCTIONS(GPUOS_OF_TWO)  //
    GPUOS_COMPARISONS(GPUOS_OF_TWO)       //
    {"abs", 1, 1, [](Operands x) { return absolute(x[0]); }},
    {"pow", 2, 2, [](Operands x) { return power(x[0], x[1]); }},
    {"round", 1, 1, rounded},
    {"clip", 3, 3, [](Operands x) { return clip(value_of(x), x[1], x[2]); }},
    {"where", 3, 3, [](Operands x) { return where(x[0], x[1], x[2]); }},
    {"max", 2, 2, [](Operands x) { return maximum(x[0], x[1]); },
     [](const Value& x, const Axes& axes, bool keepdims) {
       return max(x, axes, keepdims);
     }},
    {"min", 2, 2, [](Operands x) { return minimum(x[0], x[1]); },
     [](const Value& x, const Axes& axes, bool keepdims) {
       return min(x, axes, keepdims);
     }},
    GPUOS_TWO(greater),
    GPUOS_TWO(greater_equal),
    GPUOS_TWO(logical_and),
    GPUOS_TWO(logical_or),
    GPUOS_TWO(logical_xor),
    GPUOS_ONE(logical_not),
    GPUOS_ONE(relu),
    GPUOS_ONE_OR_TWO(leaky_relu),
    GPUOS_ONE_OR_TWO(elu),
    GPUOS_ONE_OR_TWO(celu),
    GPUOS_ONE(selu),
    GPUOS_ONE_OR_TWO(softplus),
    GPUOS_ONE(logsigmoid),
    GPUOS_ONE(mish),
    GPUOS_ONE(softsign),
    GPUOS_ONE(hardsigmoid),
    GPUOS_ONE(hardswish),
    GPUOS_ONE(hardtanh),
    GPUOS_OVER(sum),
    GPUOS_OVER(prod),
    GPUOS_OVER(ptp),
    GPUOS_OVER(any),
    GPUOS_OVER(all),
    GPUOS_OVER(count_nonzero),
    GPUOS_OVER(argmax),
    GPUOS_OVER(argmin),
    GPUOS_OVER(mean),
    GPUOS_OVER(logsumexp),
    {.name = "var",
     .over = [](const Value& x, const Axes& axes,
                bool keepdims) { return var(x, axes, 0, keepdims); }},
    {.name = "std",
     .over = [](const Value& x, const Axes& axes,
                bool keepdims) { return stddev(x, axes, 0, keepdims); }},
};

}  // namespace

const NamedFunction* find_function(std::string_view name) noexcept {
  const auto* found = std::ranges::find(kFunctions, name, &NamedFunction::name);
  return found == std::end(kFunctions) ? nullptr : found;
}

std::string function_names() {
  std::string names;
  for (const NamedFunction& function : kFunctions)
    names += concat(names.empty() ? "" : ", ", function.name);
  return names;
}

}  // namespace gpuos::expression
