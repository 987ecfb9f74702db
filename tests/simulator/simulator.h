#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace gpuos::sim {

/// Counts of the device's work since the last reset.
struct Counts {
  std::uint64_t tasks = 0;    // tiles of a task count
  std::uint64_t chained = 0;  // of these: members of chains
  std::uint64_t burst_tasks = 0;
  std::uint64_t tiled = 0;  // of these: launched by one descriptor for all
  std::uint64_t bursts = 0;
  std::uint64_t bursts_independent = 0;  // of these: need not wait for others
  std::uint64_t residencies = 0;
  /// The number of bursts that were launched while workers stayed or were about
  /// to, and the longest wait of one of them.
  std::uint64_t bursts_behind = 0;
  std::chrono::microseconds longest_behind{0};
  /// Batches that a task waits for and that were not done, although places are
  /// run in order.
  std::uint64_t unmet_waits = 0;
  /// The number of tiles whose arguments differ from those of the first tile.
  std::uint64_t stray_tiles = 0;
  bool holds_task = false;  // a task waits now
  bool is_loading = false;  // a module
};

/// Counts of loaded modules since the process began.
struct ModuleCounts {
  std::uint64_t loads = 0;
  std::uint64_t unloads = 0;
  /// While events were held, of a module that was launched: the driver waits.
  std::uint64_t waiting_unloads = 0;
  std::uint64_t captured = 0;  // that are loaded and in a graph
};

/// A launch of a kernel that is none of the worker's. Nothing runs it.
struct KernelLaunch {
  std::string name{};  // mangled
  unsigned int grid = 0;
  unsigned int block = 0;
  std::vector<std::string> arguments{};  // their bytes
  std::uint64_t module = 0;              // the number of its load
  bool is_captured = false;
};

/// The interface of tests to the simulated device and its driver.
///
/// A task adds 1 to the first 32-bit word of its output, for any operator.
/// Threads: any.
class Simulator {
 public:
  static constexpr const char* kDeviceName = "gpuos simulator";

  virtual Counts counts() const = 0;
  virtual void reset_counts() = 0;
  /// Since the counts were reset.
  virtual std::vector<KernelLaunch> kernels() const = 0;
  virtual ModuleCounts modules() const = 0;
  /// Returns the number of allocations, streams and events that were not freed.
  virtual int held() const = 0;
  /// Returns calls that would crash a driver or give an error: unloading a
  /// module that is not loaded or is in a graph, launching an unloaded one.
  virtual std::vector<std::string> faults() const = 0;
  /// Tasks of whole operators do not end until this is set back.
  virtual void hold_whole_tasks(bool holds) = 0;
  /// Events do not come until this is set back.
  virtual void hold_events(bool holds) = 0;
  /// Makes tasks of an output and two inputs compute a = 31 a + b + 7 c of
  /// first words instead, so that the result depends on their order.
  virtual void mix(bool mixes) = 0;
  /// Sets the time that a launch of resident workers takes after the device has
  /// it.
  virtual void set_launch_time(std::chrono::microseconds time) = 0;
  /// Sets the time of a module load on an idle device.
  virtual void set_load_time(std::chrono::microseconds time) = 0;
  /// Wait as cuCtxSynchronize() does.
  virtual void synchronize() = 0;

 protected:
  ~Simulator() = default;
};

/// The library exports this. Look it up by name.
using GetSimulator = Simulator*();
inline constexpr const char* kGetSimulator = "gpuos_simulator";

}  // namespace gpuos::sim
