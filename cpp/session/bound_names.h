#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "session/host_program.h"
#include "session/launches.h"

namespace gpuos::session {

/// Holds values that the caller gave names, at places that host code can read.
/// A place keeps its type and follows its name.
class BoundNames {
 public:
  explicit BoundNames(const Bindings& bindings) : bindings_(bindings) {}

  /// Returns a declaration for host code, or nothing if the name is not bound.
  std::optional<BoundName> find(const std::string& name);
  /// Writes values that were bound again since. The session calls this before
  /// host code runs.
  void refresh();

 private:
  struct Place {
    alignas(16) std::array<std::byte, 16> bytes{};
  };

  const Bindings& bindings_;
  // The keys are name and type.
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Place>> places_;
};

}  // namespace gpuos::session
