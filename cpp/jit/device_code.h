#pragma once

#include <memory>
#include <vector>

#include "jit/objects/object_symbols.h"
#include "jit/unit_compiler.h"

namespace gpuos {

/// Holds compiled code that the source of an operator calls.
struct DeviceCode {
  std::vector<jit::Object> objects;
  std::vector<jit::SymbolAddress> addresses;         // addresses of variables
  std::vector<std::shared_ptr<const void>> storage;  // keeps them valid
};

}  // namespace gpuos
