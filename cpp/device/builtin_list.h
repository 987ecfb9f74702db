// Lists the operators that every runtime starts with. Operator k for dtype d
// has slot k * kBuiltinDTypes + d of the operator table. The interpreter of
// programs has the slots after them. To add an operator, add its line.
#pragma once

#include "task_abi.h"

// X(name, number of inputs, number of scalars, value of element i)
#define GPUOS_BUILTIN_OPERATORS(X)     \
  X(add, 2, 0, gpuos::add(x[0], x[1])) \
  X(sub, 2, 0, gpuos::sub(x[0], x[1])) \
  X(mul, 2, 0, gpuos::mul(x[0], x[1])) \
  X(div, 2, 0, gpuos::div(x[0], x[1])) \
  X(copy, 1, 0, x[0])                  \
  X(fill, 0, 1, value)

// X(suffix, C++ type): the first of gpuos::DType, in its order.
#define GPUOS_BUILTIN_DTYPES(X, ...) \
  X(f32, float, __VA_ARGS__)         \
  X(f64, double, __VA_ARGS__)        \
  X(i32, int, __VA_ARGS__)           \
  X(i64, long long, __VA_ARGS__)

namespace gpuos {

#define GPUOS_NAME(name, ...) name,
// NOLINTBEGIN(readability-identifier-naming): as the operators are called.
enum class BuiltinOperator : u32 { GPUOS_BUILTIN_OPERATORS(GPUOS_NAME) count };
enum class BuiltinDType : u32 { GPUOS_BUILTIN_DTYPES(GPUOS_NAME) count };
// NOLINTEND(readability-identifier-naming)
#undef GPUOS_NAME

enum : u32 {
  kBuiltinDTypes = static_cast<u32>(BuiltinDType::count),
  kInterpreterSlot = static_cast<u32>(BuiltinOperator::count) * kBuiltinDTypes
};

GPUOS_DEVICE constexpr u32 slot_of(BuiltinOperator op, u32 dtype) {
  return static_cast<u32>(op) * kBuiltinDTypes + dtype;
}

}  // namespace gpuos
