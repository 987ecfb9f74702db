#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "queue/ring.h"

namespace gpuos::host {

/// The memory of one ring in ordinary memory.
class RingStorage {
 public:
  explicit RingStorage(std::uint32_t capacity)
      : descriptors_(new abi::Descriptor[capacity]()),
        arg_blocks_(new abi::ArgBlock[capacity]()),
        done_(new std::uint32_t[capacity]()),
        started_(new std::uint64_t[capacity]()) {}

  RingMemory memory() const noexcept {
    return {descriptors_.get(), arg_blocks_.get(), done_.get(), started_.get()};
  }

 private:
  std::unique_ptr<abi::Descriptor[]> descriptors_;
  std::unique_ptr<abi::ArgBlock[]> arg_blocks_;
  std::unique_ptr<std::uint32_t[]> done_;
  std::unique_ptr<std::uint64_t[]> started_;
};

}  // namespace gpuos::host
