// The extra time of an element compared with PyTorch.
#pragma once

#include <cstdint>

#include "pytorch/functions.h"

namespace gpuos::bridge {

/// The extra time per element compared with PyTorch, with one thread each. It
/// is negative if gpuos is faster. Units: picoseconds. A missing entry means
/// equal times.
struct Loss {
  Function function;
  std::int32_t single;  // float32, and integers
  std::int32_t twice;   // float64
  std::int32_t half;    // bfloat16 and float16
};

// Two cores of an AMD EPYC, PyTorch 2.13, 512 x 256 elements, the best of 30.
// The slower of interpreted and compiled code counts, rounded. Erf's and gelu's
// relatives, and rows that were not measured, have their neighbours' numbers.
inline constexpr Loss kElementLosses[] = {
    {Function::Exp, -300, 1'800, 50},
    {Function::Tanh, -1'500, 56'000, -800},
    {Function::Log, -300, 1'100, 100},
    {Function::Sin, 2'500, 27'000, 3'000},
    {Function::Cos, 2'500, 27'000, 3'000},
    {Function::Tan, 2'500, 27'000, 3'000},
    {Function::Power, 7'800, 5'900, 7'900},
    {Function::Erf, 200, 27'000, 900},
    {Function::Sigmoid, 50, 8'800, 400},
    {Function::Gelu, 900, 60'000, 900},
    {Function::GeluTanh, 900, 60'000, 900},
    {Function::Silu, 550, 9'300, 500},
};
// Rows whose elements follow each other in memory.
inline constexpr Loss kAlongLosses[] = {
    {Function::Sum, 250, 300, 700},
    {Function::Mean, 450, 600, 450},
    {Function::Prod, 300, 350, 700},
    {Function::Amax, 450, 400, 150},
    {Function::Amin, 450, 400, 150},
    {Function::Argmax, 3'000, 1'900, -200},
    {Function::Argmin, 3'000, 1'900, -200},
    {Function::Any, 200, 250, 100},
    {Function::All, 200, 250, 100},
    {Function::Var, -3'500, -3'500, -3'000},
    {Function::Std, -3'500, -3'500, -3'000},
    {Function::Logsumexp, 1'200, 6'500, 1'200},
    {Function::Norm, 300, 350, 700},
    {Function::Softmax, 1'000, 6'700, 1'000},
    {Function::LogSoftmax, 1'400, 6'700, 1'400},
    {Function::LayerNorm, 1'300, 1'500, 1'300},
    {Function::LayerNormPlain, 1'300, 1'500, 1'300},
    {Function::RmsNorm, 300, 500, 300},
    {Function::RmsNormPlain, 300, 500, 300},
};
// Rows whose elements do not.
inline constexpr Loss kAcrossLosses[] = {
    {Function::Sum, 100, 150, 150},
    {Function::Mean, 100, 150, 150},
    {Function::Prod, 150, 200, 200},
    {Function::Amax, 150, 150, 1'700},
    {Function::Amin, 150, 150, 1'700},
    {Function::Argmax, 300, 50, -2'300},
    {Function::Argmin, 300, 50, -2'300},
    {Function::Any, -300, -100, -150},
    {Function::All, -300, -100, -150},
    {Function::Var, -4'500, -4'500, -4'400},
    {Function::Std, -4'500, -4'500, -4'400},
    {Function::Logsumexp, 700, 28'000, 1'700},
    {Function::Norm, 200, 250, 250},
    {Function::Softmax, 500, 28'000, 1'700},
    {Function::LogSoftmax, 700, 28'000, 1'700},
};

/// The time of a row in addition to its elements. Units: nanoseconds.
struct RowLoss {
  Function function;
  std::int32_t each;
};

// 4 rows of 16, each result kept: PyTorch's softmax takes 1,200 in all. Ours
// takes 1,500, and 530 of them are the call. argmax takes 1,750 and 1,950,
// layer_norm 3,200 and 3,600. The others: 1,024 rows of 2, two cores of a Xeon.
inline constexpr RowLoss kRowLosses[] = {
    {Function::Softmax, 350},   {Function::LogSoftmax, 350},
    {Function::Argmax, 200},    {Function::Argmin, 200},
    {Function::LayerNorm, 250}, {Function::LayerNormPlain, 250},
    {Function::RmsNorm, 60},    {Function::RmsNormPlain, 60},
    {Function::Sum, 25},        {Function::Mean, 40},
    {Function::Prod, 30},       {Function::Amax, 30},
    {Function::Amin, 30},       {Function::Any, 25},
    {Function::All, 35},        {Function::Logsumexp, 130},
    {Function::Norm, 38}};

/// Many rows of a few columns run side by side. The library decides so in
/// has_rows_side_by_side() of program/calls/task.cpp.
inline constexpr std::int64_t kFewColumns = 8;
inline constexpr std::int64_t kManyRows = 32;

/// The additional time of an element in a walk of several runs. Within a run
/// each operand has a constant stride. Shorter runs take as long as PyTorch's.
/// Measured with x[:, None] - x, 32 x 32 runs of 2 to 32 elements. Units:
/// picoseconds.
inline constexpr std::int64_t kRunLoss = 300;
inline constexpr std::int64_t kShortRun = 4;  // elements

}  // namespace gpuos::bridge
