#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

#include "gpuos/vocabulary.h"

namespace gpuos {

/// Names the rule for the dtypes of an operation's operands and of its result.
enum class OpRule : std::uint8_t {
  Leaf,        // inputs, scalars, casts, shapes: not of operands alone
  Arithmetic,  // the promoted dtype
  Division,    // the same, integers as float64
  Real,        // the same, integers as the smallest float that holds them
  Integer,     // the same, integers and bool only
  Comparison,  // the promoted dtype in, bool out
  Test,        // any dtype in, bool out
  Parts,       // the dtype of a part; a real dtype stays
  Select,      // a condition and two values of the promoted dtype
  Reduction
};

/// One node of a program. docs/programs.md describes each operation.
enum class Op : std::uint8_t {
  Input,
  Scalar,
  Extent,
  Cast,
  View,
  BroadcastTo,
  Join,
  Where,
#define GPUOS_NAME(name, ...) name,
  GPUOS_UNARY_FUNCTIONS(GPUOS_NAME) GPUOS_BINARY_FUNCTIONS(GPUOS_NAME)
      GPUOS_COMPARISONS(GPUOS_NAME) GPUOS_TESTS(GPUOS_NAME)
          GPUOS_PARTS(GPUOS_NAME) GPUOS_SUMS(GPUOS_NAME)
              GPUOS_PLACES(GPUOS_NAME)
#undef GPUOS_NAME
};

struct OpInfo {
  Op op;
  std::string_view name;  // NumPy's
  std::uint8_t operands;
  OpRule rule;
};

/// Contains all operations in the order of Op.
inline constexpr OpInfo kOpInfos[] = {
    {Op::Input, "input", 0, OpRule::Leaf},
    {Op::Scalar, "scalar", 0, OpRule::Leaf},
    {Op::Extent, "extent", 1, OpRule::Leaf},
    {Op::Cast, "astype", 1, OpRule::Leaf},
    {Op::View, "transpose", 1, OpRule::Leaf},
    {Op::BroadcastTo, "broadcast_to", 1, OpRule::Leaf},
    {Op::Join, "concatenate", 0, OpRule::Leaf},
    {Op::Where, "where", 3, OpRule::Select},
#define GPUOS_OF_ONE(name, function, numpy, rule, ...) \
  {Op::name, #numpy, 1, OpRule::rule},
#define GPUOS_OF_TWO(name, function, numpy, rule, ...) \
  {Op::name, #numpy, 2, OpRule::rule},
#define GPUOS_REDUCTION(name, function, numpy, ...) \
  {Op::name, #numpy, 1, OpRule::Reduction},
    GPUOS_UNARY_FUNCTIONS(GPUOS_OF_ONE) GPUOS_BINARY_FUNCTIONS(GPUOS_OF_TWO)
        GPUOS_COMPARISONS(GPUOS_OF_TWO) GPUOS_TESTS(GPUOS_OF_ONE)
            GPUOS_PARTS(GPUOS_OF_ONE) GPUOS_SUMS(GPUOS_REDUCTION)
                GPUOS_PLACES(GPUOS_REDUCTION)
#undef GPUOS_OF_ONE
#undef GPUOS_OF_TWO
#undef GPUOS_REDUCTION
};

constexpr const OpInfo& info_of(Op op) noexcept {
  return kOpInfos[static_cast<std::size_t>(op)];
}

static_assert(
    [] {
      for (std::size_t i = 0; i < std::size(kOpInfos); ++i)
        if (static_cast<std::size_t>(kOpInfos[i].op) != i) return false;
      return true;
    }(),
    "info_of(op) is the one of op");

}  // namespace gpuos
