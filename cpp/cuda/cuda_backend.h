#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/control_thread.h"
#include "cuda/address_cache.h"
#include "cuda/bursts.h"
#include "cuda/driver_gate.h"
#include "cuda/operator_modules.h"
#include "cuda/resident_workers.h"
#include "cuda/ring_memory.h"
#include "cuda/watchdog.h"
#include "cuda/worker_kernel.h"
#include "driver/context.h"
#include "modules/parking.h"
#include "queue/backend.h"

namespace gpuos::cu {

inline constexpr std::uint32_t kResidentRing = kChainRing;
inline constexpr std::uint32_t kBurstRing = 1;
/// The size of Traits::shared_words, for a thousand texts of programs.
inline constexpr std::size_t kSharedBytes = std::size_t{1} << 20;

/// Everything that lives on the device.
struct DeviceSide {
  DeviceSide(const Context& context, DriverGate& gate,
             const RuntimeOptions& options);
  /// The device may still use all of it: never free it.
  void abandon() noexcept;

  WorkerKernel kernel;
  std::uint32_t workers;
  MappedRing resident_storage;
  MappedRing burst_storage;
  PinnedBuffer chain_memory;
  PinnedBuffer shared_memory;
  std::unique_ptr<PinnedBuffer> faults;  // from the first checked operator on
  Ring resident_ring;
  Ring burst_ring;
  ResidentWorkers residency;
  Bursts bursts;
  OperatorModules modules;
  Stream memory_stream;
  Stream probe_stream;
};

class CudaBackend final : public Backend, private Parkable {
 public:
  CudaBackend(const RuntimeOptions& options, QuickMutex& submit_mutex);
  ~CudaBackend() override;

  Route route(const gpuos::Stream& stream) override;
  const Access* find_unreachable(std::span<const Access> accesses) override;
  bool can_queue_now(const Route& route, std::uint32_t tasks,
                     std::span<const Access> accesses, bool meets) override;
  Order order(const Route& route, std::span<const BatchRef> earlier) override;
  std::optional<Place> reserve(const Route& route,
                               std::uint32_t tasks) override;
  void publish(const Route& route, const Place& place,
               std::uint32_t tasks) override;
  void watch(const Route& route, const Place& place, std::uint32_t tasks,
             const std::string& operator_name) override;
  bool is_busy(const Route& route) const override {
    return route.ring == kBurstRing && device_->bursts.is_busy();
  }
  std::uint32_t most_chain_blocks(const Route& route) const override {
    return route.ring == kBurstRing ? device_->bursts.most_chain_blocks() : 1;
  }
  void flush(const gpuos::Stream* only) override;
  void ensure_running(const BatchRef& batch) override;
  std::uint64_t tile_elems(std::uint64_t elems,
                           std::size_t elem_bytes) const noexcept override;

  void pause(const BatchRef& batch, std::uint64_t end, std::uint64_t turn,
             Deadline deadline) override;
  void check_alive() override { health_.check(); }
  void check(const BatchRef& batch) override;
  void check_all() override {
    health_.check();
    device_->bursts.failures().check_all();
  }

  void load(std::span<const OperatorBuild> builds) override;
  bool captures(const gpuos::Stream& stream) override;
  bool is_captured(std::uint32_t slot) const noexcept override {
    return device_->bursts.is_captured(slot);
  }
  void unload(std::span<const std::uint32_t> slots) noexcept override;

  std::span<abi::Fault> faults() noexcept override;

  void* allocate(std::size_t bytes) override;
  void deallocate(void* data) noexcept override;
  void copy_to_device(void* to, const void* from, std::size_t bytes) override;
  void copy_to_host(void* to, const void* from, std::size_t bytes) override;

  void fill_stats(Stats& stats) const override;
  void limit_tasks(std::chrono::milliseconds limit) noexcept override {
    watchdog_.limit_tasks(limit);
  }
  void stop() override;
  bool is_left_running() const noexcept override { return is_left_running_; }

 private:
  using Clock = std::chrono::steady_clock;

  Route burst_route(const gpuos::Stream& stream) const noexcept;
  CUstream handle_of(const gpuos::Stream& stream) const noexcept;
  /// A launch that finds the context lost: the backend is dead.
  template <typename F>
  auto guarded(F f) -> decltype(f());
  /// Any thread.
  void die_of(const std::exception& error);

  // Any thread.
  int ordinal() const noexcept override { return context_.ordinal(); }
  void run_parked(std::function<void()> job) override;
  void notify_dropped() noexcept override { control_->notify(); }

  // The watchdog's thread.
  bool look_for_stuck();

  // The control thread.
  std::optional<std::chrono::microseconds> tick();
  void fail(const std::exception& error) noexcept;
  void look_after_residency();
  /// No workers stay. The submit lock is held. `is_fed`: the host submitted to
  /// them since the last look.
  bool wants_workers(bool is_fed);
  /// Auto: a residency that the policy asked for is due, or has ended.
  bool is_stay_worthwhile(bool goes_on);
  void look_after_age();
  void look_after_faults();
  void launch_residency();
  void park();
  /// Workers that stayed are back after `job`.
  void while_parked(const std::function<void()>& job);
  void inject(std::span<const OperatorImage> images, bool is_checked);
  std::size_t fault_count() const noexcept;
  std::size_t dropped_count() const;
  void unload_dropped();

  const RuntimeOptions options_;
  QuickMutex& submit_mutex_;
  Context context_;
  Health health_;
  DriverGate gate_;
  std::unique_ptr<DeviceSide> device_;
  std::array<Ring*, 2> rings_;
  OpenChains chains_;
  ChainBlocks chain_blocks_;
  AddressCache addresses_;
  StayPolicy policy_;
  Watchdog watchdog_;

  std::atomic<bool> is_resident_{false};  // written by the control thread
  std::atomic<bool> stays_{false};        // auto: the policy wants workers
  std::atomic<bool> is_wanted_{false};    // a task came and no worker stayed
  std::uint64_t head_at_tick_ = 0;        // control thread
  bool has_stayed_ = false;               // auto: since stays_; control thread
  std::uint64_t head_at_launch_ = 0;      // auto; control thread
  bool is_parked_for_good_ = false;       // control thread
  Clock::time_point awake_until_{};       // control thread
  Clock::time_point next_fault_check_{};  // control thread
  std::atomic<std::uint64_t> parks_{0};
  std::atomic<double> last_pause_us_{0};
  std::atomic<double> last_load_us_{0};
  std::atomic<double> last_compile_ms_{0};
  std::thread warm_up_;
  bool is_stopped_ = false;
  bool is_left_running_ = false;
  std::unique_ptr<ControlThread> control_;
  std::unique_ptr<WatchdogThread> watchdog_thread_;
};

}  // namespace gpuos::cu

namespace gpuos {

/// Throws: BackendUnavailable, CudaError.
std::unique_ptr<Backend> make_cuda_backend(const RuntimeOptions& options,
                                           QuickMutex& submit_mutex);

}  // namespace gpuos
