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

/// Values that the caller gave names, at places that host code can read: a
/// place keeps its type and follows its name.
class BoundNames {
 public:
  explicit BoundNames(const Bindings& bindings) : bindings_(bindings) {}

  /// A declaration for host code; empty if nothing of that name is bound.
  std::optional<BoundName> find(const std::string& name);
  /// Before host code runs: what was bound again since.
  void refresh();

 private:
  struct Place {
    alignas(16) std::array<std::byte, 16> bytes{};
  };

  const Bindings& bindings_;
  // By name and type.
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Place>> places_;
};

}  // namespace gpuos::session
