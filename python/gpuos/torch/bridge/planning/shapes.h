// Turns operators that move elements, such as cat, into copies, and products of
// small matrices into requests.
#pragma once

#include <ATen/core/ivalue.h>

#include <span>
#include <string_view>

#include "planning/elementwise.h"

namespace gpuos::bridge {

/// Reads the arguments of an operator and plans the requests that write its
/// result, in order. Undefined: PyTorch must do it, or raise.
using PlanCall = Tensor (*)(c10::ArrayRef<c10::IValue> arguments,
                            std::vector<Deferred>& requests, const Site*& site);

struct PlannedName {
  std::string_view name;  // without "aten::"
  PlanCall plan;
  bool saves_flushes_alone = true;  // on processors; false: nothing there
};

/// The products, for find_planned().
extern const std::span<const PlannedName> kProducts;

/// Returns null for operators that are neither.
const PlannedName* find_planned(std::string_view name);

}  // namespace gpuos::bridge
