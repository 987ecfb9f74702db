#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/jit_module.h"
#include "gpuos/operator.h"
#include "session/cells/launch_syntax.h"
#include "session/device/device.h"
#include "session/device/evaluator.h"
#include "session/host/host_program.h"
#include "session/workspace.h"

namespace gpuos::session {

/// Holds values that the caller gave names.
struct Bindings {
  std::map<std::string, KernelArg, std::less<>> values;
  std::map<std::string, std::shared_ptr<const void>, std::less<>> owners;
};

/// Holds a launch whose kernel is linked.
struct LinkedLaunch {
  LaunchStatement statement;
  std::string cell;
  std::shared_ptr<const Linked> linked;
};

/// Runs the launch statements of a session's cells.
class Launches {
 public:
  Launches(Workspace& workspace, Device& device, const Bindings& bindings)
      : workspace_(workspace),
        device_(device),
        bindings_(bindings),
        evaluator_(workspace.header(), workspace.compiler()) {}

  /// Returns the launches of `statements` and of the functions that they call.
  /// This needs no device.
  /// Throws: CompileError, InvalidArgument.
  std::vector<LinkedLaunch> link(const std::vector<Item>& statements,
                                 const std::string& cell);
  /// Runs one launch. Returns whether it went to the default stream.
  bool run(const LinkedLaunch& launch);
  bool run(const DefinitionPtr& kernel, const LaunchConfig& config,
           const KernelArgs& args);

 private:
  void add_links(const std::vector<Item>& statements, const std::string& cell,
                 int depth, std::vector<LinkedLaunch>& launches);
  LaunchConfig make_config(const LinkedLaunch& launch);
  KernelArgs make_arguments(const LinkedLaunch& launch);
  /// Returns false if only the compiler knows the value.
  bool add_argument(const LaunchExpression& expression, const std::string& cell,
                    KernelArgs& args);
  bool add_variable(std::string_view name, bool is_address, KernelArgs& args);

  Workspace& workspace_;
  Device& device_;
  const Bindings& bindings_;
  Evaluator evaluator_;
};

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

/// Returns the definition of an elementwise operator that calls `function`. The
/// parameters that `params` names are scalars.
/// Throws: InvalidArgument for a function that cannot become an operator,
/// CompileError, BackendUnavailable.
OperatorDefinition define_operator(const DefinitionPtr& function,
                                   const std::string& name,
                                   const std::vector<std::string>& params,
                                   Workspace& workspace, Device& device);

}  // namespace gpuos::session
