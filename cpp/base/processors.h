#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace gpuos {

/// What a process finds out about the processors that it may use.
struct Surroundings {
  std::uint32_t allowed = 1;     // by its affinity mask
  std::filesystem::path root;    // of the system's files
  std::string workers;           // GPUOS_WORKERS; empty: not set
  std::string omp_num_threads;   // OMP_NUM_THREADS, the same
  std::string local_world_size;  // LOCAL_WORLD_SIZE, the same
};

/// Those of this process.
Surroundings surroundings();

struct Processors {
  std::uint32_t usable = 1;   // by this process, beside others like it
  std::uint32_t workers = 1;  // threads that run tasks
};

/// Usable are the processors of the affinity mask, of the quota of the control
/// group and of OMP_NUM_THREADS, whichever are the fewest, divided by
/// LOCAL_WORLD_SIZE, at least one. Workers are `workers`, else GPUOS_WORKERS,
/// else the same. 0: not given.
/// Throws: InvalidArgument if a variable is not a number of 1 or more.
Processors processors_for(std::uint32_t workers,
                          const Surroundings& surroundings);

/// Those that this process may use, for whoever only asks how many threads
/// make sense: a variable that is no number counts as one that is not set.
std::uint32_t usable_processors() noexcept;

}  // namespace gpuos
