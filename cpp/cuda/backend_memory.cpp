// The memory functions of the CUDA backend.
#include "base/concat.h"
#include "base/no_memory.h"
#include "cuda/cuda_backend.h"
#include "gpuos/error.h"

namespace gpuos::cu {

void* CudaBackend::allocate(std::size_t bytes) {
  const ContextScope scope(context_);
  CUstream stream = device_->memory_stream.get();
  auto pass = gate_.pass();
  CUdeviceptr data = 0;
  const CUresult status = driver().cuMemAllocAsync(&data, bytes, stream);
  pass.unlock();
  if (status == CUDA_ERROR_OUT_OF_MEMORY) {
    std::size_t free = 0;
    std::size_t total = 0;
    driver().cuMemGetInfo(&free, &total);
    throw NoMemory(concat("allocate: expected ", bytes,
                          " bytes of device memory, ", free, " of ", total,
                          " are free"));
  }
  check_cuda(status, "cuMemAllocAsync(&data, bytes, stream)");
  GPUOS_CUDA_CHECK(driver().cuStreamSynchronize(stream));
  return reinterpret_cast<void*>(data);
}

void CudaBackend::deallocate(void* data) noexcept {
  if (health_.is_dead()) return;
  try {
    const auto pass = gate_.pass();
    const ContextScope scope(context_);
    driver().cuMemFreeAsync(reinterpret_cast<CUdeviceptr>(data),
                            device_->memory_stream.get());
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
    // The driver is gone, and the memory with it, or the runtime is dead.
  }
}

void CudaBackend::copy_to_device(void* to, const void* from,
                                 std::size_t bytes) {
  const ContextScope scope(context_);
  CUstream stream = device_->memory_stream.get();
  auto pass = gate_.pass();
  GPUOS_CUDA_CHECK(driver().cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(to),
                                              from, bytes, stream));
  pass.unlock();
  GPUOS_CUDA_CHECK(driver().cuStreamSynchronize(stream));
}

void CudaBackend::copy_to_host(void* to, const void* from, std::size_t bytes) {
  const ContextScope scope(context_);
  CUstream stream = device_->memory_stream.get();
  auto pass = gate_.pass();
  GPUOS_CUDA_CHECK(driver().cuMemcpyDtoHAsync(
      to, reinterpret_cast<CUdeviceptr>(from), bytes, stream));
  pass.unlock();
  GPUOS_CUDA_CHECK(driver().cuStreamSynchronize(stream));
}

const Access* CudaBackend::find_unreachable(std::span<const Access> accesses) {
  for (const Access& access : accesses) {
    if (!addresses_.is_device_memory(access.low)) return &access;
  }
  return nullptr;
}

}  // namespace gpuos::cu
