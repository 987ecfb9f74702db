#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/control_thread.h"
#include "host/idle_workers.h"
#include "host/shared.h"
#include "queue/backend.h"

namespace gpuos::host {

/// Runs tasks on threads of this process.
class HostBackend final : public Backend {
 public:
  HostBackend(const RuntimeOptions& options, QuickMutex& submit_mutex,
              std::uint64_t first_position = 0);
  ~HostBackend() override;
  HostBackend(const HostBackend&) = delete;
  HostBackend& operator=(const HostBackend&) = delete;

  Route route(const Stream& stream) override;
  Order order(const Route& route, std::span<const BatchRef> earlier) override;
  std::optional<Place> reserve(const Route& route,
                               std::uint32_t tasks) override;
  void publish(const Route& route, const Place& place,
               std::uint32_t tasks) override;
  // Workers record their own tasks.
  void watch(const Route&, const Place&, std::uint32_t tasks,
             const std::string&) override {
    shared_->expect_traced(tasks);
    watchdog_->notify();
  }
  void flush(const Stream*) override { chains_.close_all(); }
  void ensure_running(const BatchRef& batch) override {
    chains_.close_until(batch.begin);
  }
  std::uint64_t tile_elems(std::uint64_t elems,
                           std::size_t elem_bytes) const noexcept override;

  void pause(const BatchRef& batch, std::uint64_t end, std::uint64_t turn,
             Deadline deadline) override;
  void check_alive() override {
    if (is_dead()) throw_dead();
  }
  void check(const BatchRef& batch) override;
  void check_all() override;

  void load(std::span<const OperatorBuild> builds) override;
  void unload(std::span<const std::uint32_t> slots) noexcept override;

  std::span<abi::Fault> faults() noexcept override {
    return {shared_->faults.get(), shared_->fault_count()};
  }

  void* allocate(std::size_t bytes) override;
  void deallocate(void* data) noexcept override;
  void copy_to_device(void* to, const void* from, std::size_t bytes) override;
  void copy_to_host(void* to, const void* from, std::size_t bytes) override;

  void fill_stats(Stats& stats) const override;
  void limit_tasks(std::chrono::milliseconds limit) noexcept override {
    if (limit < limit_.load()) limit_.store(limit);
  }
  bool drop_pending() override;
  bool has_dropped() const noexcept override {
    // Pairs with the release in drop_pending().
    return has_dropped_.load(std::memory_order_acquire);
  }
  void stop() override;

 private:
  void publish_until(std::uint64_t end, bool is_little);
  /// Makes the control thread close old chains and wake a worker for old tasks
  /// that no thread awaits.
  void look_after_queue();
  std::optional<std::chrono::microseconds> tick();
  bool is_dead() const noexcept {
    return is_dead_.load(std::memory_order_acquire);
  }
  /// Returns whether the batch was done in time.
  bool poll(const BatchRef& batch, Deadline until);
  /// Looks after tasks of whole operators from now on.
  void start_watchdog();
  /// Declares the backend dead if a task runs for longer than the watchdog
  /// allows. False: no such task is pending.
  bool look_for_overrun();
  [[noreturn]] void throw_dead();
  void stop_threads();

  const RuntimeOptions options_;
  SpinPolicy spin_policy_;
  std::shared_ptr<Shared> shared_;
  QuickMutex& submit_mutex_;
  Ring* ring_;
  OpenChains chains_;
  ChainBlocks chain_blocks_;
  WorkerThreads threads_;
  std::atomic<std::uint64_t> injections_{0};
  std::atomic<std::uint64_t> unloads_{0};
  std::atomic<double> last_compile_ms_{0};

  std::atomic<std::chrono::milliseconds> limit_{options_.watchdog};
  std::atomic<bool> is_dead_{false};
  std::atomic<bool> has_dropped_{false};
  std::mutex death_mutex_;
  std::string culprit_;  // the operator that made the backend dead
  bool is_death_told_ = false;
  // From the first chain, or tasks without a worker, on.
  std::unique_ptr<ControlThread> control_;
  std::atomic<std::uint32_t> quiet_ticks_{0};
  // From the first whole operator on, which cannot be submitted earlier.
  std::mutex watchdog_mutex_;
  bool is_stopped_ = false;                   // under watchdog_mutex_
  std::unique_ptr<WatchdogThread> watchdog_;  // begins and ends under it
  std::uint64_t seen_ = 0;                    // published at the last tick
  // The delay until the next look. It grows each time that there is nothing to
  // do.
  std::chrono::microseconds pause_{options_.flush_after};
};

}  // namespace gpuos::host

namespace gpuos {

/// Throws: BackendUnavailable.
std::unique_ptr<Backend> make_host_backend(const RuntimeOptions& options,
                                           QuickMutex& submit_mutex);

}  // namespace gpuos
