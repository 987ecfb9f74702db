#pragma once

#include <span>
#include <string_view>

#include "device/operator.h"

namespace gpuos::host {

struct Builtin {
  std::string_view name;
  OpFn function;
};

/// The built-in operators in slot order: operator * 4 + dtype.
std::span<const Builtin> builtin_table() noexcept;

}  // namespace gpuos::host
