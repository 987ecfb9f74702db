#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "session/device/device.h"
#include "session/host/cell_names.h"
#include "session/host/host_objects.h"
#include "session/host_memory.h"
#include "session/launches.h"
#include "session/owned_mutex.h"
#include "session/workspace.h"

namespace gpuos::session {

/// Calls its argument, which runs host code.
using Around = std::function<void(const std::function<void()>&)>;

/// Runs the host code of a session's cells, and serves its calls.
///
/// Threads: a cell's own threads may call back while it runs.
class HostRunner {
 public:
  /// Takes the lock `state`, which is held except while host code runs.
  /// `settle` waits for the work that was submitted before.
  HostRunner(Workspace& workspace, Device& device, Launches& launches,
             OwnedMutex& state, std::function<void()> settle);
  ~HostRunner();
  HostRunner(const HostRunner&) = delete;
  HostRunner& operator=(const HostRunner&) = delete;

  /// Opens a unit without running its code. `launches` has the launches of
  /// statements that the session runs itself, by their index in the cell.
  /// Throws: CompileError, Error.
  void open(HostUnit unit, HostCell cell,
            std::map<int, std::vector<LinkedLaunch>> launches);
  /// Runs the unit of open(). The function unlocks `state` meanwhile.
  /// Throws: HostError, and the errors of a launch.
  void run(std::unique_lock<OwnedMutex>& state, const Around& around);

  /// Returns the launches of the last cell. must_wait() returns whether the
  /// caller must wait for one.
  std::size_t launched() const { return launched_; }
  bool must_wait() const { return must_wait_; }

 private:
  struct Table;
  struct Running {
    HostUnit unit;
    HostCell cell;
    std::map<int, std::vector<LinkedLaunch>> launches;
    const HostLibrary* library = nullptr;
    int index = 0;  // index of the running item
  };

  // The calls of host code end here.
  void launch(const gpuos_host::KernelName* kernel,
              const gpuos_host::CellLaunch* config,
              const gpuos_host::KernelArgument* arguments, std::size_t count);
  void run_statement(int index);
  void run_launches(const char* function);
  void take_made(const gpuos_host::Made* made);
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
  // This lives for ever once a cell has it, because a thread of the cell may
  // use it late.
  std::unique_ptr<gpuos_host::Calls> calls_;
  bool has_cells_ = false;
  std::optional<Running> running_;
  std::size_t launched_ = 0;
  bool must_wait_ = false;
  bool is_over_ = false;
  HostObjects objects_;
};

}  // namespace gpuos::session
