// Turns a reduction of PyTorch, or a function made of one, into a request.
#pragma once

#include <optional>

#include "planning/elementwise.h"

namespace gpuos::bridge {

struct Rows {
  Function function{};
};

struct RowArguments {
  at::OptionalIntArrayRef dims{};  // empty: all
  bool keepdims = false;
  std::optional<at::ScalarType> type{};  // asked for
  std::optional<double> number{};        // correction, epsilon
  Tensor weight{};
  Tensor bias{};
};

/// Plans a reduction, as plan() of elementwise.h plans an operation.
std::optional<Planned> plan_rows(const Rows& what, const Tensor& tensor,
                                 const RowArguments& arguments,
                                 const Tensor& out = {},
                                 std::int64_t most = size_threshold());
Tensor defer_rows(const Rows& what, const Tensor& tensor,
                  const RowArguments& arguments);
bool defer_rows_into(const Rows& what, const Tensor& tensor,
                     const RowArguments& arguments, const Tensor& out);

}  // namespace gpuos::bridge
