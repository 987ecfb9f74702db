#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "device/builtin_list.h"
#include "device/host_names.h"
#include "device/launch.h"
#include "simulator.h"

namespace gpuos::sim {

/// Runs launches of the worker kernel one after the other, each on all of the
/// device: a burst waits for workers that stay. Bursts that may overlap it runs
/// in the wrong order.
class Device final : public Simulator {
 public:
  /// Returns the device, which is never destroyed: a task may still wait when
  /// the process ends.
  static Device& instance();

  /// Returns when the device has the launch. For resident workers it also waits
  /// until the launch time is over.
  void launch(const abi::InlineLaunch& launch);
  /// Waits until the device is idle, then for the load time.
  void load();

  Counts counts() const override;
  void reset_counts() override;
  std::vector<KernelLaunch> kernels() const override;
  void note_kernel(KernelLaunch launch);
  ModuleCounts modules() const override;
  int held() const override { return held_.load(); }
  void note_held(int more) { held_.fetch_add(more); }
  std::vector<std::string> faults() const override;
  void capture(const void* stream, bool begins);
  bool captures(const void* stream) const;
  bool captures_any() const;
  void note_spoilt_capture();
  void hold_whole_tasks(bool holds) override { holds_.store(holds); }
  void hold_events(bool holds) override { holds_events_.store(holds); }
  bool holds_events() const { return holds_events_.load(); }
  void mix(bool mixes) override { mixes_.store(mixes); }
  void set_launch_time(std::chrono::microseconds time) override {
    launch_time_.store(time);
  }
  void set_load_time(std::chrono::microseconds time) override {
    load_time_.store(time);
  }
  void synchronize() override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Queued {
    abi::InlineLaunch launch;
    Clock::time_point since;
    bool is_behind = false;  // a burst, and workers stay
  };

  Device();
  void loop();
  Queued take();
  /// Returns whether the next launch may overlap those from `first` on. Where
  /// results depend on the order it waits a little for such a one.
  bool awaits_apart(std::unique_lock<std::mutex>& lock, const Queued& first);
  /// Either one residency or bursts.
  void run(const std::vector<Queued>& together);
  void run(const Queued& burst);
  void stay(const abi::Launch& launch);
  void run_burst(const abi::InlineLaunch& launch);
  void run_task(const abi::Queue& queue, const abi::Payload& payload,
                const u64* args, u64 position);
  void apply(const u64* args);
  void check_waits(const abi::Queue& queue, const abi::Payload& payload,
                   u64 position);
  void run_chain(const abi::Queue& queue, const abi::Payload& payload,
                 u64 position);
  void mark_started(const abi::Queue& queue, u64 position, u32 record);
  void wait_if_held();
  void add(std::uint64_t Counts::* count, std::uint64_t by = 1);

  std::atomic<bool> holds_{false};
  std::atomic<bool> holds_events_{false};
  std::atomic<bool> mixes_{false};
  std::atomic<int> held_{0};
  std::vector<KernelLaunch> kernels_;  // under mutex_
  std::set<const void*> captured_;     // streams; under mutex_
  std::uint64_t spoilt_captures_ = 0;  // under mutex_
  std::atomic<std::chrono::microseconds> launch_time_{};
  std::atomic<std::chrono::microseconds> load_time_{};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Queued> queue_;
  std::uint64_t launched_ = 0;
  std::uint64_t finished_ = 0;
  std::uint32_t staying_ = 0;  // residencies that have not left
  Counts counts_;
  std::array<u64, 3> tile_args_{};  // of the task's first tile
  std::thread thread_;
};

}  // namespace gpuos::sim
