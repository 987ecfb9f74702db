#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace gpuos {

/// Who stays on the device, and when. See docs/design.md, "Residency".
enum class Residency : std::uint8_t {
  Auto,      // bursts; workers stay while the host submits and waits in turns
  Resident,  // workers stay until they have been idle for `linger`
  Burst      // one launch for each flush
};

/// Which worker image the CUDA backend loads.
enum class WorkerImage : std::uint8_t {
  Auto,      // Embedded if it fits the device, else Ptx, else Nvrtc
  Embedded,  // the fat image that nvcc made when the library was built
  Ptx,       // the embedded PTX, linked by the driver
  Nvrtc      // compiled now from the embedded sources
};

/// How a Runtime is set up. docs/design.md gives the reason of each default,
/// docs/lab/defaults.md what was measured of them.
struct RuntimeOptions {
  /// "auto" (cuda if it works, else host), "cuda" or "host".
  std::string backend = "auto";
  /// CUDA device ordinal.
  int device = 0;
  Residency residency = Residency::Auto;

  /// Tasks that the queue holds; a power of two, 64 to 32768.
  std::uint32_t queue_capacity = 32768;
  /// Workers; 0: four blocks for each multiprocessor. On the host,
  /// GPUOS_WORKERS threads, or one for each processor that the process may use:
  /// the fewest of its affinity mask, its control group's quota and
  /// OMP_NUM_THREADS, divided by LOCAL_WORLD_SIZE, at least one.
  std::uint32_t workers = 0;
  /// Threads of one worker on the device; a multiple of 32, 32 to 256.
  std::uint32_t threads_per_worker = 256;

  /// Idle time after which resident workers leave.
  std::chrono::microseconds linger{100};
  /// Longest stay of one residency, busy or not.
  std::chrono::microseconds lease{20'000};
  /// A single task of a whole-source operator that runs longer than this makes
  /// the runtime dead.
  std::chrono::milliseconds watchdog{10'000};
  /// How long submit() waits for room in the queue before it throws Timeout.
  std::chrono::milliseconds submit_timeout{10'000};
  /// Burst mode: longest time that a submitted task waits for its launch.
  std::chrono::microseconds flush_after{200};

  /// Calls after which a program is compiled, in the background; large arrays
  /// count more. 0: never. Empty: 32 on a GPU, 1,000 on the host, whose
  /// compiler takes longer.
  std::optional<std::uint32_t> compile_programs_after{};

  /// Sums and products of reals have the same bits in every run: on a GPU the
  /// number of columns decides the order in which they are put together. On the
  /// host that is always so.
  bool deterministic = false;

  WorkerImage worker_image = WorkerImage::Auto;
};

}  // namespace gpuos
