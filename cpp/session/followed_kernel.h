#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "modules/loaded_kernel.h"
#include "session/owned_mutex.h"

namespace gpuos::session {

/// Finds a session's newest kernels for handles that follow it. It outlives the
/// session.
///
/// Threads: any.
class NewestKernels {
 public:
  using Found = std::shared_ptr<const cu::LoadedKernel>;
  using Find = std::function<Found(const std::string& name)>;

  explicit NewestKernels(Find find) : find_(std::move(find)) {}

  /// Tells handles that definitions have changed.
  void note_change() noexcept {
    // Pairs with changes(): a reader that sees the number finds the changed
    // definition.
    changes_.fetch_add(1, std::memory_order_release);
  }
  std::uint64_t changes() const noexcept {
    // Pairs with note_change().
    return changes_.load(std::memory_order_acquire);
  }
  /// Returns null after the session has ended.
  /// Throws: the session's error for a name that has no kernel.
  Found find(const std::string& name) const;
  /// Ends the session. Waits for other threads that look for a kernel. A call
  /// from inside such a search in its own thread, as by a finalizer, does not
  /// wait.
  void close();

 private:
  std::atomic<std::uint64_t> changes_{0};
  mutable OwnedMutex mutex_;  // before those of the session
  const Find find_;
  bool is_closed_ = false;  // under mutex_
};

/// Stands for a kernel of a session and runs the newest of its name at each
/// launch.
///
/// Threads: any.
class FollowedKernel final : public cu::KernelHandle {
 public:
  /// Throws: the errors of NewestKernels::find().
  FollowedKernel(std::string name, std::shared_ptr<const NewestKernels> newest);

  const std::string& name() const noexcept override { return name_; }
  /// Returns the newest kernel. Throws: the errors of NewestKernels::find(),
  /// and InvalidArgument for other parameters than the first had.
  std::shared_ptr<const cu::LoadedKernel> current() const override;

 private:
  const std::string name_;
  const std::shared_ptr<const NewestKernels> newest_;
  cu::ParameterList parameters_;
  mutable std::mutex mutex_;
  mutable std::uint64_t changes_;        // under mutex_, the value when it was
                                         // found
  mutable NewestKernels::Found kernel_;  // under mutex_
};

}  // namespace gpuos::session
