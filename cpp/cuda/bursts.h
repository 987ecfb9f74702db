#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>

#include "cuda/driver_gate.h"
#include "cuda/worker_kernel.h"
#include "driver/context.h"
#include "driver/owned.h"
#include "queue/backend.h"
#include "queue/descriptor.h"
#include "queue/ring.h"

namespace gpuos::cu {

/// Flushes that could not be launched. Their tasks count as done, so that every
/// wait ends. A wait for such a task throws the reason of the failed launch.
///
/// Threads: any.
class FlushFailures {
 public:
  /// Before the flush is marked done.
  void add(std::uint64_t begin, std::exception_ptr why);
  /// Throws why the flush that began at `begin` was not launched, each time.
  void check(std::uint64_t begin) {
    if (has_any_.load(std::memory_order_acquire)) find(begin);
  }
  /// Throws the oldest failure that was not reported.
  void check_all() {
    if (has_any_.load(std::memory_order_acquire)) find_untold();
  }

 private:
  struct Failure {
    std::uint64_t begin;
    std::exception_ptr why;
    bool is_told;
  };
  /// Older failures are forgotten.
  static constexpr std::size_t kRemembered = 4096;

  void find(std::uint64_t begin);
  void find_untold();

  std::atomic<bool> has_any_{false};
  std::mutex mutex_;
  std::deque<Failure> failures_;
};

/// Collects tasks of one stream and launches them together.
///
/// Threads: the submit lock, except count(), is_captured() and failures().
class Bursts {
 public:
  Bursts(const Context& context, DriverGate& gate, const WorkerKernel& kernel,
         const abi::Queue& queue, Ring& ring, const RuntimeOptions& options,
         std::uint32_t workers);

  /// The runtime's own stream.
  CUstream stream() const noexcept { return stream_.get(); }

  /// Takes places in the open flush of `stream`. A flush of another stream is
  /// launched first.
  std::optional<Place> reserve(CUstream stream, std::uint32_t tasks);
  /// Returns whether reserve() for `tasks` tasks, and a following
  /// launch_if_long(), need no driver call.
  bool can_queue_now(CUstream stream, std::uint32_t tasks) const noexcept;
  /// Notes that the next task of `stream`, and so its flush, depends on a
  /// launched one.
  void meet_launched(CUstream stream) noexcept {
    if (is_open_in(stream)) open_.meets_launched = true;
    meets_launched_ = true;  // it may go to a new one
  }
  /// Launches the open flush when it is long enough to pay for a launch.
  void launch_if_long();
  /// Launches the open flush, if there is one. If a launch fails, its flush is
  /// done and recorded in failures().
  /// Throws: CudaError if the context is lost, TaskError if the runtime dies.
  void launch();
  FlushFailures& failures() noexcept { return failures_; }

  bool is_open() const noexcept { return open_.tasks != 0; }
  bool is_open_in(CUstream stream) const noexcept {
    return is_open() && open_.stream == stream;
  }
  /// Returns whether the batch that began at `begin` waits for its launch.
  bool is_open_at(std::uint64_t begin) const noexcept {
    return is_open() && open_.begin == begin;
  }
  /// Returns the begin of the flush of `stream` if its tasks may still be
  /// changed.
  std::optional<std::uint64_t> collecting(CUstream stream) const noexcept {
    if (!is_open_in(stream) || open_.captures) return std::nullopt;
    return open_.begin;
  }
  /// Returns whether the flush that was launched last still runs.
  bool is_busy() const noexcept { return last_ && !ring_.is_done(*last_); }
  /// Returns the number of blocks that a chain of the open flush may take
  /// before it is launched. Each block saves a launch, but the chain begins
  /// later. The number is two while the device has one flush to run. With one
  /// block, a launch and its members can take the host as long as the members
  /// take the device. The device would then never have a backlog.
  std::uint32_t most_chain_blocks() const noexcept {
    if (is_behind()) return kMostChainBlocks;
    return is_busy() ? 2 : 1;
  }
  /// The tasks of the open flush. Each record of a chain counts.
  std::uint32_t open_tasks() const noexcept;
  std::chrono::steady_clock::time_point opened_at() const noexcept {
    return open_.since;
  }

  /// Orders all work that `later` gets from now on after all that `earlier`
  /// has.
  void put_in_order(CUstream earlier, CUstream later);
  static bool is_capturing(CUstream stream);

  std::uint64_t count() const noexcept { return count_.load(); }
  /// Any thread.
  bool is_captured(std::uint32_t slot) const noexcept {
    return captured_[slot].load();
  }
  void abandon() noexcept;

 private:
  struct Flush {
    CUstream stream = nullptr;
    std::uint64_t begin = 0;
    std::uint32_t tasks = 0;
    std::chrono::steady_clock::time_point since;
    bool captures = false;      // when it was opened
    bool is_long_call = false;  // and nothing else
    bool meets_launched = false;
  };

  /// Returns whether the device has two flushes to run, so that the open one
  /// would wait.
  bool is_behind() const noexcept {
    return before_last_ && !ring_.is_done(*before_last_);
  }
  /// Returns whether an open flush of `tasks` tasks should be launched at once.
  bool is_long(std::uint32_t tasks) const noexcept;
  void launch(const Flush& flush);
  void fail(const Flush& flush);

  void launch_from_ring(const Flush& flush);
  /// Returns whether the flush is all tiles of one task. Then the ring may have
  /// no descriptor but the first.
  bool is_row(const Flush& flush) const noexcept;
  /// Copies tasks [first, end) to the launch's parameters, as many as fit, and
  /// returns how many they were.
  std::uint32_t pack(const Flush& flush, std::uint32_t first,
                     std::uint32_t end);
  void launch_row(const Flush& flush);
  void launch_inline(const Flush& flush, std::uint32_t tasks);
  /// Notes that a graph has the slots of the first `count` descriptors in the
  /// parameters.
  void note_captured(std::uint32_t count);
  void launch_workers(const Flush& flush, std::uint32_t tasks);

  const Context& context_;
  DriverGate& gate_;
  const WorkerKernel& kernel_;
  Ring& ring_;
  std::uint32_t workers_;
  std::uint32_t threads_;
  Stream stream_;
  Event event_;
  Flush open_;
  bool meets_launched_ = false;  // the next flush does
  // The begins of the last two launched flushes.
  std::optional<std::uint64_t> last_;
  std::optional<std::uint64_t> before_last_;
  abi::InlineLaunch launch_{};
  FlushFailures failures_;
  std::atomic<std::uint64_t> count_{0};
  std::array<std::atomic<bool>, abi::kSlots> captured_{};
};

}  // namespace gpuos::cu
