#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "driver/driver_types.h"
#include "modules/launch_record.h"

namespace gpuos::cu {

/// A runtime whose workers may stay on a device.
class Parkable {
 public:
  virtual ~Parkable() = default;
  virtual int ordinal() const noexcept = 0;
  /// Runs `job` on the control thread while no worker stays.
  /// Throws: what `job` throws; TaskError if the runtime is dead.
  virtual void run_parked(std::function<void()> job) = 0;
  /// There are modules to unload.
  virtual void notify_dropped() noexcept = 0;
};

/// A module without an owner.
struct DroppedModule {
  int ordinal = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  std::unique_ptr<LaunchRecord> launches{};
  /// Objects that its code uses. They are released when it is unloaded.
  std::vector<std::shared_ptr<const void>> keeps{};
};

/// Parks the workers of all runtimes of the process. Loading a module waits for
/// all that runs on the device, so no worker may stay meanwhile.
///
/// Threads: any.
class Parking {
 public:
  static Parking& instance();

  /// A task that does not end keeps the device: whatever the driver does only
  /// when that is idle, it would never do.
  void note_stuck(int ordinal);
  bool is_stuck(int ordinal) const;

  void enter(Parkable* runtime);
  /// Waits for a job that runs.
  void leave(Parkable* runtime);

  /// Runs `job` while no runtime has workers on the device; on the caller's
  /// thread if there is none. `job` may outlive the call if a runtime dies: it
  /// must own what it uses.
  /// Throws: what `job` throws; TaskError if a runtime is dead, because its
  /// workers may never leave.
  void run_parked(int ordinal, std::function<void()> job);

  /// Unload when its launches have ended and no worker stays; never, if a graph
  /// has one of them. Without a runtime: now, or at the next load or drop.
  void drop(DroppedModule module) noexcept;
  std::size_t dropped_count(int ordinal) const noexcept;
  /// Unloads modules whose launches have ended. No worker may stay.
  void unload_dropped(int ordinal) noexcept;

 private:
  std::vector<Parkable*> runtimes_on(int ordinal) const;

  std::mutex jobs_mutex_;  // one job at a time; before mutex_
  mutable std::mutex mutex_;
  std::vector<Parkable*> runtimes_;      // under mutex_
  std::vector<DroppedModule> dropped_;   // under mutex_
  std::vector<DroppedModule> captured_;  // under mutex_; never unloaded
  std::set<int> stuck_;                  // under mutex_
};

}  // namespace gpuos::cu
