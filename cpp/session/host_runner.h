#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/cell_names.h"
#include "session/device.h"
#include "session/host_memory.h"
#include "session/host_objects.h"
#include "session/launches.h"
#include "session/owned_mutex.h"
#include "session/workspace.h"

namespace gpuos::session {

/// Calls what it is given, which runs host code.
using Around = std::function<void(const std::function<void()>&)>;

/// Runs the host code of a session's cells, and does for it what it asks for.
///
/// Threads: a cell's own threads may call back while it runs.
class HostRunner {
 public:
  /// `state`: held but while host code runs. `settle`: waits for what was
  /// submitted before.
  HostRunner(Workspace& workspace, Device& device, Launches& launches,
             OwnedMutex& state, std::function<void()> settle);
  ~HostRunner();
  HostRunner(const HostRunner&) = delete;
  HostRunner& operator=(const HostRunner&) = delete;

  /// Nothing of it has run. `launches`: of the statements of the cell that the
  /// session runs itself, by their index.
  /// Throws: CompileError, Error.
  void open(HostUnit unit, HostCell cell,
            std::map<int, std::vector<LinkedLaunch>> launches);
  /// Runs what open() was given; the lock of `state` is given away meanwhile.
  /// Throws: HostError; what a launch throws.
  void run(std::unique_lock<OwnedMutex>& state, const Around& around);

  /// Launches of the last cell, and whether one is to be waited for.
  std::size_t launched() const { return launched_; }
  bool must_wait() const { return must_wait_; }

 private:
  struct Table;
  struct Running {
    HostUnit unit;
    HostCell cell;
    std::map<int, std::vector<LinkedLaunch>> launches;
    const HostLibrary* library = nullptr;
    int index = 0;  // of the item that runs
  };

  // Calls end here.
  void launch(const gpuos_host::KernelName& kernel,
              const gpuos_host::CellLaunch* config,
              const gpuos_host::KernelArgument* arguments, std::size_t count);
  void run_statement(int index);
  void run_launches(const char* function);
  void take_made(const gpuos_host::Made& made);
  void read_variable(const char* name, void* to, std::size_t bytes,
                     bool wants_address);
  void launch_all(const std::vector<LinkedLaunch>& launches);
  void begin_launching();
  [[noreturn]] void throw_host_error() const;

  Workspace& workspace_;
  Device& device_;
  Launches& launches_;
  OwnedMutex& state_;
  const std::function<void()> settle_;
  HostMemory memory_;
  // For ever, once a cell has it: a thread of its may come late.
  std::unique_ptr<gpuos_host::Calls> calls_;
  bool has_cells_ = false;
  std::optional<Running> running_;
  std::size_t launched_ = 0;
  bool must_wait_ = false;
  bool is_over_ = false;
  HostObjects objects_;
};

}  // namespace gpuos::session
