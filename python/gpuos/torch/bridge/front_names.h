// What methods of torch.Tensor and functions of the module torch are called
// alike.
#pragma once

// X(name, recipe, rule)
#define GPUOS_UNARY_NAMES(X)       \
  X(neg, Neg, Arithmetic)          \
  X(abs, Abs, Arithmetic)          \
  X(relu, Relu, Arithmetic)        \
  X(sigmoid, Sigmoid, Float)       \
  X(tanh, Tanh, Float)             \
  X(exp, Exp, Float)               \
  X(log, Log, Float)               \
  X(sqrt, Sqrt, Float)             \
  X(rsqrt, Rsqrt, Float)           \
  X(reciprocal, Reciprocal, Float) \
  X(square, Square, Arithmetic)    \
  X(sin, Sin, Float)               \
  X(cos, Cos, Float)
#define GPUOS_BINARY_NAMES(X)     \
  X(add, Add, Arithmetic)         \
  X(sub, Sub, Arithmetic)         \
  X(mul, Mul, Arithmetic)         \
  X(div, Div, Float)              \
  X(maximum, Maximum, Arithmetic) \
  X(minimum, Minimum, Arithmetic) \
  X(lt, Lt, Comparison)           \
  X(le, Le, Comparison)           \
  X(gt, Gt, Comparison)           \
  X(ge, Ge, Comparison)           \
  X(eq, Eq, Comparison)           \
  X(ne, Ne, Comparison)
// X(name, recipe)
#define GPUOS_ROW_NAMES(X) \
  X(sum, Sum)              \
  X(mean, Mean)            \
  X(amax, Amax)            \
  X(amin, Amin)            \
  X(softmax, Softmax)      \
  X(log_softmax, LogSoftmax)
