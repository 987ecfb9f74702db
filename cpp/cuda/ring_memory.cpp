#include "cuda/ring_memory.h"

#include <bit>
#include <cstring>

#include "driver/check.h"
#include "driver/owned.h"

namespace gpuos::cu {

PinnedBuffer::PinnedBuffer(std::size_t bytes) {
  GPUOS_CUDA_CHECK(driver().cuMemHostAlloc(
      &data_, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  std::memset(data_, 0, bytes);
}

PinnedBuffer::~PinnedBuffer() {
  if (data_ != nullptr) driver().cuMemFreeHost(data_);
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) {
  GPUOS_CUDA_CHECK(driver().cuMemAlloc(&address_, bytes));
  // In no other stream, and awaited: workers run in streams that wait for none,
  // and the default one may be busy.
  const Stream stream = make_stream();
  GPUOS_CUDA_CHECK(driver().cuMemsetD8Async(address_, 0, bytes, stream.get()));
  GPUOS_CUDA_CHECK(driver().cuStreamSynchronize(stream.get()));
}

DeviceBuffer::~DeviceBuffer() {
  if (address_ != 0) driver().cuMemFree(address_);
}

MappedRing::MappedRing(std::uint32_t capacity)
    : capacity_(capacity),
      descriptors_(capacity * sizeof(abi::Descriptor)),
      arg_blocks_(capacity * sizeof(abi::ArgBlock)),
      done_(capacity * sizeof(u32)),
      started_(capacity * sizeof(u64)),
      counts_(capacity * sizeof(u32)),
      flags_(capacity * sizeof(u32)) {}

RingMemory MappedRing::host() const noexcept {
  return {descriptors_.as<abi::Descriptor>(), arg_blocks_.as<abi::ArgBlock>(),
          done_.as<std::uint32_t>(), started_.as<std::uint64_t>()};
}

abi::Queue MappedRing::device() const noexcept {
  return {descriptors_.as<abi::Descriptor>(),
          arg_blocks_.as<abi::ArgBlock>(),
          done_.as<u32>(),
          started_.as<u64>(),
          counts_.as<u32>(),
          flags_.as<u32>(),
          capacity_,
          static_cast<u32>(std::countr_zero(capacity_))};
}

void MappedRing::abandon() noexcept {
  descriptors_.abandon();
  arg_blocks_.abandon();
  done_.abandon();
  started_.abandon();
  counts_.abandon();
  flags_.abandon();
}

}  // namespace gpuos::cu
