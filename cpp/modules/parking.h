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
  /// Throws: the exceptions of `job`; TaskError if the runtime is dead.
  virtual void run_parked(std::function<void()> job) = 0;
  /// Tells the runtime that there are modules to unload.
  virtual void notify_dropped() noexcept = 0;
};

/// A module without users.
struct DroppedModule {
  int ordinal = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  std::unique_ptr<LaunchRecord> launches{};
  /// Objects that its code uses. They are released when it is unloaded.
  std::vector<std::shared_ptr<const void>> keeps{};
};

/// All runtimes of the process. Loading a module waits for all work on the
/// device, so it must not run while resident workers stay.
///
/// Threads: any.
class Parking {
 public:
  static Parking& instance();

  /// Records that a task on the device does not end. The driver would then
  /// never finish operations that need an idle device.
  void note_stuck(int ordinal);
  bool is_stuck(int ordinal) const;

  void enter(Parkable* runtime);
  /// Waits for a job that runs.
  void leave(Parkable* runtime);

  /// Runs `job` while no runtime has workers on the device; on the caller's
  /// thread if there is none. `job` may outlive the call if a runtime dies: it
  /// must own what it uses.
  /// Throws: the exceptions of `job`; TaskError if a runtime is dead, because
  /// its workers may never leave.
  void run_parked(int ordinal, std::function<void()> job);

  /// Unloads the image when its launches have ended and no worker stays. An
  /// image stays if a graph has one of its kernels. Without a runtime this
  /// happens now, or at the next load or drop.
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
