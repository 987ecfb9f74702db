#pragma once

#include <cstdint>
#include <string>

// The statistics of a runtime. To add one, add its line and set its value in
// RuntimeCore::stats() or Backend::fill_stats(). Python gets it from this list.
// X(type, name, description)
#define GPUOS_STATS(X)                                                         \
  X(std::string, backend, "host or cuda")                                      \
  X(std::string, device, "name of the GPU or processor")                       \
  X(std::string, residency, "auto, resident or burst")                         \
  X(std::string, residency_reason, "why the workers stay or do not, in words") \
  X(std::string, worker_image, "embedded, ptx, nvrtc or host")                 \
  X(bool, is_resident, "workers stay at this moment")                          \
  X(bool, is_dead, "every wait and submission throws TaskError")               \
  X(std::uint32_t, workers, "blocks of threads on a GPU, threads on the host") \
  X(std::uint32_t, threads_per_worker, "lanes of one")                         \
  X(std::uint32_t, registers_per_thread, "what a whole operator may use")      \
  X(std::uint32_t, stack_bytes_per_thread, "the same")                         \
  X(std::uint64_t, tasks_submitted, "tiles of large tasks count")              \
  X(std::uint64_t, tasks_completed, "as of the last look at the queue")        \
  X(std::uint64_t, batches_submitted, "pieces in which tasks were queued")     \
  X(std::uint64_t, tasks_ordered, "had to wait for an earlier task")           \
  X(std::uint64_t, tasks_chained, "of these: one worker runs them in a row")   \
  X(std::uint64_t, chains, "such rows")                                        \
  X(std::uint64_t, bursts, "launches of workers for one flush")                \
  X(std::uint64_t, residencies, "launches of workers that stay")               \
  X(std::uint64_t, parks, "times that they left for a load")                   \
  X(std::uint64_t, injections, "loads of operators since the start")           \
  X(std::uint64_t, unloads, "loads that were taken back")                      \
  X(std::uint64_t, upgrades, "tiered operators that run optimised code now")   \
  X(std::uint64_t, programs, "different ones that were called")                \
  X(std::uint64_t, program_calls, "calls of them")                             \
  X(std::uint64_t, programs_compiled, "passes of programs that run compiled")  \
  X(std::uint64_t, programs_failed, "passes that stay interpreted")            \
  X(std::uint64_t, programs_waiting, "passes that are to be compiled, now")    \
  X(std::uint64_t, allocations, "pieces of memory that were asked for")        \
  X(double, last_pause_us, "how long the queue stood still for a load")        \
  X(double, last_load_us, "how much of that was the driver's, for the module") \
  X(double, last_compile_ms, "how long the last compilation took")

namespace gpuos {

/// Is a snapshot of one runtime.
struct Stats {
#define GPUOS_STAT(type, name, text) type name{};
  GPUOS_STATS(GPUOS_STAT)
#undef GPUOS_STAT
};

}  // namespace gpuos
