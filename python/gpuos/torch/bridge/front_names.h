// What methods of torch.Tensor and functions of the module torch are called
// alike.
#pragma once

// X(name, recipe, rule)
#define GPUOS_UNARY_NAMES(X)       \
  X(neg, Negative, Arithmetic)     \
  X(abs, Absolute, Arithmetic)     \
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
  X(sub, Subtract, Arithmetic)    \
  X(mul, Multiply, Arithmetic)    \
  X(div, Divide, Float)           \
  X(maximum, Maximum, Arithmetic) \
  X(minimum, Minimum, Arithmetic) \
  X(lt, Less, Comparison)         \
  X(le, LessEqual, Comparison)    \
  X(gt, Greater, Comparison)      \
  X(ge, GreaterEqual, Comparison) \
  X(eq, Equal, Comparison)        \
  X(ne, NotEqual, Comparison)
// X(name, recipe)
#define GPUOS_ROW_NAMES(X) \
  X(sum, Sum)              \
  X(mean, Mean)            \
  X(amax, Amax)            \
  X(amin, Amin)            \
  X(softmax, Softmax)      \
  X(log_softmax, LogSoftmax)
