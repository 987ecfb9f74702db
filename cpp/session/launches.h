#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/jit_module.h"
#include "session/device.h"
#include "session/evaluator.h"
#include "session/launch_syntax.h"
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

}  // namespace gpuos::session
