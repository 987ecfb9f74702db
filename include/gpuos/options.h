#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

// The options of a Runtime. docs/design.md gives the reason of each default,
// and docs/lab/defaults.md the measurements. To add one, write its line and the
// code that uses it. Then run scripts/option_list, which writes the stub and
// the page.
//
// X(type, name, name in Python with its unit, default, description)
#define GPUOS_OPTIONS(X)                                                      \
  X(std::string, backend, backend, "auto",                                    \
    "cuda, host, or auto: the value of GPUOS_BACKEND, else cuda if there is " \
    "a usable GPU, else host")                                                \
  X(int, device, device, 0, "number of the GPU")                              \
  X(Residency, residency, residency, Residency::Auto,                         \
    "resident: workers stay on the GPU until they have been idle for "        \
    "linger_us; burst: one launch for each flush; auto: bursts, and workers " \
    "stay while the host submits and waits in turns")                         \
  X(std::uint32_t, queue_capacity, queue_capacity, 32768,                     \
    "tasks that the queue holds; a power of two, 64 to 32768")                \
  X(std::uint32_t, workers, workers, 0,                                       \
    "0: four blocks for each multiprocessor; on the host GPUOS_WORKERS "      \
    "threads, else one for each processor that the process may use: the "     \
    "fewest of its affinity mask, its control group's quota and "             \
    "OMP_NUM_THREADS, divided by LOCAL_WORLD_SIZE")                           \
  X(std::uint32_t, threads_per_worker, threads_per_worker, 256,               \
    "threads of a worker on the GPU; a multiple of 32, 32 to 256")            \
  X(std::chrono::microseconds, linger, linger_us, 100,                        \
    "idle time after which workers leave")                                    \
  X(std::chrono::microseconds, lease, lease_us, 20'000,                       \
    "longest stay of workers, busy or not")                                   \
  X(std::chrono::milliseconds, watchdog, watchdog_s, 10'000,                  \
    "one task of a whole operator that runs longer makes the runtime dead")   \
  X(std::chrono::milliseconds, submit_timeout, submit_timeout_s, 10'000,      \
    "longest wait of a submission for room in the queue")                     \
  X(std::uint64_t, pending_bytes, pending_bytes, 536'870'912,                 \
    "freed memory that deferred operations and pending tasks still use: an "  \
    "allocation beyond it waits for the oldest of them")                      \
  X(std::chrono::microseconds, flush_after, flush_after_us, 200,              \
    "longest time that a task waits for its burst")                           \
  X(std::optional<std::uint32_t>, compile_programs_after,                     \
    compile_programs_after, std::nullopt,                                     \
    "calls after which a program is compiled in the background, fewer with "  \
    "large arrays; 0: never; None: 32 on a GPU, 1,000 on the host, whose "    \
    "compiler takes longer")                                                  \
  X(bool, deterministic, deterministic, false,                                \
    "sums and products of reals have the same bits in every run: on a GPU "   \
    "the number of columns decides the order of additions; the host backend " \
    "always does this")                                                       \
  X(std::uint32_t, versions, versions, 8,                                     \
    "versions of an operator that stay loaded, for rollback(); 1 to 256")     \
  X(WorkerImage, worker_image, worker_image, WorkerImage::Auto,               \
    "the image that a GPU loads: embedded, ptx, nvrtc, or auto: the first "   \
    "that fits")

namespace gpuos {

/// Decides when workers stay on the device. See docs/design.md, "Residency".
enum class Residency : std::uint8_t {
  Auto,      // bursts; workers stay while the host submits and waits in turns
  Resident,  // workers stay until they have been idle for `linger`
  Burst      // one launch for each flush
};

/// Names the worker image that the CUDA backend loads.
enum class WorkerImage : std::uint8_t {
  Auto,      // Embedded if it fits the device, else Ptx, else Nvrtc
  Embedded,  // the fat image that nvcc made
  Ptx,       // the embedded PTX, linked by the driver
  Nvrtc      // compiled now from the embedded sources
};

/// Contains the options of the list. A time is in the unit of its type.
struct RuntimeOptions {
#define GPUOS_OPTION(type, name, python, value, text) type name{value};
  GPUOS_OPTIONS(GPUOS_OPTION)
#undef GPUOS_OPTION
};

}  // namespace gpuos
