#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuos {

/// Every environment variable that gpuos reads.
struct Config {
  std::string backend;     // GPUOS_BACKEND: what "auto" means
  std::string nvrtc_arch;  // GPUOS_NVRTC_ARCH: "sm_90", "compute_90" or "90"
  // GPUOS_CUDA_LIBRARY_PATH: folders to find NVRTC in before all others
  std::string cuda_library_path;
  std::string log;      // GPUOS_LOG: a file that receives compiler logs
  std::string checked;  // GPUOS_CHECKED: 1: operators are, unless they say
  std::string workers;  // GPUOS_WORKERS: threads of the host backend
  // OMP_NUM_THREADS, LOCAL_WORLD_SIZE: what others leave to this process
  std::string omp_num_threads;
  std::string local_world_size;

  // GPUOS_CACHE_DIR: where compiled code is kept; "off" or empty: nowhere
  std::optional<std::string> cache_dir;
  std::string cache_readonly_dir;  // GPUOS_CACHE_READONLY_DIR
  std::string cache_max_mb;        // GPUOS_CACHE_MAX_MB: in MiB, or empty
  std::string xdg_cache_home;      // XDG_CACHE_HOME
  std::string home;                // HOME
};

/// The environment as it was at the first call.
/// Threads: any.
const Config& config();

/// Appends `text` to the file that GPUOS_LOG names. Without one it does
/// nothing. A file that cannot be written, or a FIFO without a reader, is not
/// reported.
/// Threads: any.
void append_log(std::string_view text) noexcept;

/// The folders that gpuos::add_library_dir() has announced so far.
std::vector<std::string> library_dirs();

/// The variables of the environment, each as "NAME=value".
using Environment = std::vector<std::string>;

/// Reads the environment, for all readers until the next call. It is not
/// ordered with a setenv() of another thread. Only functions that the caller
/// calls may therefore call it, and never a thread of ours.
void note_environment();

/// Returns the environment that was noted last, and notes it the first time.
/// Threads: any.
std::shared_ptr<const Environment> environment();

/// Returns the value of a variable in `environment`. It is empty if there is
/// none.
std::string_view variable_of(const Environment& environment,
                             std::string_view name);

}  // namespace gpuos
