// The statistics of the CUDA backend.
#include "cuda/cuda_backend.h"

namespace gpuos::cu {

void CudaBackend::fill_stats(Stats& stats) const {
  const WorkerKernel& kernel = device_->kernel;
  stats.device = context_.name();
  stats.worker_image = kernel.image_kind();
  stats.is_dead = health_.is_dead();
  stats.is_resident = is_resident_.load();
  stats.workers = device_->workers;
  stats.registers_per_thread = kernel.budget().registers;
  stats.stack_bytes_per_thread = kernel.budget().stack_bytes;
  stats.bursts = device_->bursts.count();
  stats.residencies = device_->residency.count();
  stats.parks = parks_.load();
  stats.injections = device_->modules.loads();
  stats.unloads = device_->modules.unloads();
  stats.last_pause_us = last_pause_us_.load();
  stats.last_load_us = last_load_us_.load();
  stats.last_compile_ms = last_compile_ms_.load();
  switch (options_.residency) {
    case Residency::Resident:
      stats.residency = "resident";
      stats.residency_reason = "asked for: workers stay until they are idle";
      break;
    case Residency::Burst:
      stats.residency = "burst";
      stats.residency_reason = "asked for: one launch for each flush";
      break;
    case Residency::Auto:
      stats.residency = "auto";
      stats.residency_reason =
          stays_.load()
              ? "workers stay: the host submits few tasks and waits for them"
              : "bursts: the host does not wait for few tasks in turns";
      break;
  }
}

}  // namespace gpuos::cu
