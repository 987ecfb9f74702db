#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "driver/owned.h"

namespace gpuos::cu {

/// The launches of a module, for when it is unloaded: whether they have ended,
/// and whether a graph has one.
///
/// Threads: any; the module's context is current where a member says so.
class LaunchRecord {
 public:
  /// Records an event after each launch from now on. Without it the launches
  /// in streams of callers are unknown, and the driver waits for them when it
  /// unloads: an event costs a launch more than the rest of the record.
  void follow() noexcept { is_followed_.store(true); }

  /// Returns whether a launch in `stream` goes into a graph. The context is
  /// current.
  static bool is_capturing(CUstream stream) noexcept;
  /// A launch in `stream` has succeeded. Current. A failure to record an event
  /// is not the launch's: its stream is then unknown.
  void note(CUstream stream, bool is_captured) noexcept;

  /// A graph may launch the module at any time.
  bool is_captured() const noexcept { return is_captured_.load(); }
  /// Returns whether all recorded launches have ended. Nothing may be launched
  /// any more, and the context is current.
  bool have_ended() noexcept;

 private:
  // It has the thread only if each thread has its own stream with this handle.
  using Place = std::pair<CUstream, std::thread::id>;

  bool has_legacy_ended() noexcept;

  std::atomic<bool> is_followed_{false};
  std::atomic<bool> is_captured_{false};
  std::atomic<bool> uses_legacy_{false};
  std::mutex mutex_;
  std::map<Place, Event> behind_;  // under mutex_; the last launch of each
  Event behind_legacy_;            // under mutex_
};

}  // namespace gpuos::cu
