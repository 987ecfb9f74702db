#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jit/unit_compiler.h"
#include "session/header.h"

namespace gpuos::session {

/// Holds one function, kernel or variable as a relocatable object. It never
/// changes after it is made.
struct Definition {
  Item item;
  std::string cell;
  std::string symbol;                       // mangled
  std::vector<std::string> more_symbols{};  // a constructor has two
  jit::Object object;
  std::vector<std::string> undefined{};  // symbols that it wants
  std::vector<Dependency> dependencies{};

  // This is the pointer of a variable. `object` has the variable's storage
  // under another symbol. The pointer has the variable's name and is linked
  // with its users.
  jit::Object pointer{};
  std::string storage_symbol{};
  std::size_t bytes = 0;

  bool is_variable() const { return item.kind == ItemKind::Variable; }
  bool is_kernel() const { return item.kind == ItemKind::Kernel; }
  /// Returns "kernel foo (cell 3)", for messages.
  std::string title() const;
  std::string qualified_name() const {
    return qualifier_of(item.scopes) + item.name;
  }
};
using DefinitionPtr = std::shared_ptr<const Definition>;

}  // namespace gpuos::session
