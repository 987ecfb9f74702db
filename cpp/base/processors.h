#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace gpuos {

/// The facts about the processors that a process may use.
struct Surroundings {
  std::uint32_t allowed = 1;     // by its affinity mask
  std::filesystem::path root;    // of the system's files
  std::string workers;           // GPUOS_WORKERS; empty: not set
  std::string omp_num_threads;   // OMP_NUM_THREADS, the same
  std::string local_world_size;  // LOCAL_WORLD_SIZE, the same
};

/// Returns the facts about this process.
Surroundings surroundings();

struct Processors {
  std::uint32_t usable = 1;   // by this process, apart from similar ones
  std::uint32_t workers = 1;  // threads that run tasks
};

/// Usable are the processors of the affinity mask, of the quota of the control
/// group and of OMP_NUM_THREADS, whichever are the fewest, divided by
/// LOCAL_WORLD_SIZE, at least one. Workers are `workers`, else GPUOS_WORKERS,
/// else the same. 0: not given.
/// Throws: InvalidArgument if a variable is not a number of 1 or more.
Processors processors_for(std::uint32_t workers,
                          const Surroundings& surroundings);

/// Returns the number of processors that this process may use, to choose a
/// number of threads. A variable that is no number is ignored.
std::uint32_t usable_processors() noexcept;

}  // namespace gpuos
