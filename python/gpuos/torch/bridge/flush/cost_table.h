// The extra time of an element compared with PyTorch.
#pragma once

#include <cstdint>

#include "pytorch/functions.h"

namespace gpuos::bridge {

/// The extra time per element compared with PyTorch, with one thread each. It
/// is negative if gpuos is faster. Units: picoseconds. A missing entry means
/// equal times.
struct Loss {
  Recipe recipe;
  std::int32_t single;  // float32, and integers
  std::int32_t twice;   // float64
  std::int32_t half;    // bfloat16 and float16
};

// Two cores of an AMD EPYC, PyTorch 2.13, 512 x 256 elements, the best of 30.
// The slower of interpreted and compiled code counts, rounded. Erf's and gelu's
// relatives, and rows that were not measured, have their neighbours' numbers.
inline constexpr Loss kElementLosses[] = {
    {Recipe::Exp, -300, 1'800, 50},       {Recipe::Tanh, -1'500, 56'000, -800},
    {Recipe::Log, -300, 1'100, 100},      {Recipe::Sin, 2'500, 27'000, 3'000},
    {Recipe::Cos, 2'500, 27'000, 3'000},  {Recipe::Tan, 2'500, 27'000, 3'000},
    {Recipe::Power, 7'800, 5'900, 7'900}, {Recipe::Erf, 200, 27'000, 900},
    {Recipe::Sigmoid, 50, 8'800, 400},    {Recipe::Gelu, 900, 60'000, 900},
    {Recipe::GeluTanh, 900, 60'000, 900}, {Recipe::Silu, 550, 9'300, 500},
};
// Rows whose elements follow each other in memory.
inline constexpr Loss kAlongLosses[] = {
    {Recipe::Sum, 250, 300, 700},
    {Recipe::Mean, 450, 600, 450},
    {Recipe::Prod, 300, 350, 700},
    {Recipe::Amax, 450, 400, 150},
    {Recipe::Amin, 450, 400, 150},
    {Recipe::Argmax, 3'000, 1'900, -200},
    {Recipe::Argmin, 3'000, 1'900, -200},
    {Recipe::Any, 200, 250, 100},
    {Recipe::All, 200, 250, 100},
    {Recipe::Var, -3'500, -3'500, -3'000},
    {Recipe::Std, -3'500, -3'500, -3'000},
    {Recipe::Logsumexp, 1'200, 6'500, 1'200},
    {Recipe::Norm, 300, 350, 700},
    {Recipe::Softmax, 1'000, 6'700, 1'000},
    {Recipe::LogSoftmax, 1'400, 6'700, 1'400},
    {Recipe::LayerNorm, 1'300, 1'500, 1'300},
    {Recipe::LayerNormPlain, 1'300, 1'500, 1'300},
    {Recipe::RmsNorm, 300, 500, 300},
    {Recipe::RmsNormPlain, 300, 500, 300},
};
// Rows whose elements do not.
inline constexpr Loss kAcrossLosses[] = {
    {Recipe::Sum, 100, 150, 150},
    {Recipe::Mean, 100, 150, 150},
    {Recipe::Prod, 150, 200, 200},
    {Recipe::Amax, 150, 150, 1'700},
    {Recipe::Amin, 150, 150, 1'700},
    {Recipe::Argmax, 300, 50, -2'300},
    {Recipe::Argmin, 300, 50, -2'300},
    {Recipe::Any, -300, -100, -150},
    {Recipe::All, -300, -100, -150},
    {Recipe::Var, -4'500, -4'500, -4'400},
    {Recipe::Std, -4'500, -4'500, -4'400},
    {Recipe::Logsumexp, 700, 28'000, 1'700},
    {Recipe::Norm, 200, 250, 250},
    {Recipe::Softmax, 500, 28'000, 1'700},
    {Recipe::LogSoftmax, 700, 28'000, 1'700},
};

/// The time of a row in addition to its elements. Units: nanoseconds.
struct RowLoss {
  Recipe recipe;
  std::int32_t each;
};

// 4 rows of 16, each result kept: PyTorch's softmax takes 1,200 in all. Ours
// takes 1,500, and 530 of them are the call. argmax takes 1,750 and 1,950,
// layer_norm 3,200 and 3,600. The others: 1,024 rows of 2, two cores of a Xeon.
inline constexpr RowLoss kRowLosses[] = {
    {Recipe::Softmax, 350},   {Recipe::LogSoftmax, 350},
    {Recipe::Argmax, 200},    {Recipe::Argmin, 200},
    {Recipe::LayerNorm, 250}, {Recipe::LayerNormPlain, 250},
    {Recipe::RmsNorm, 60},    {Recipe::RmsNormPlain, 60},
    {Recipe::Sum, 25},        {Recipe::Mean, 40},
    {Recipe::Prod, 30},       {Recipe::Amax, 30},
    {Recipe::Amin, 30},       {Recipe::Any, 25},
    {Recipe::All, 35},        {Recipe::Logsumexp, 130},
    {Recipe::Norm, 38}};

/// The additional time of each run in a walk over elements. Within a run each
/// operand has a constant stride. Measured with x[:, None] - y, 2,025 runs of 2
/// elements. Units: nanoseconds.
inline constexpr std::int64_t kRunLoss = 13;

}  // namespace gpuos::bridge
