#include "memory/blocks.h"

namespace gpuos::bridge {

constinit thread_local FreeBlocks storage_blocks;
constinit thread_local FreeBlocks tensor_blocks;

namespace {

struct EndOfThread {
  ~EndOfThread() {
    free_blocks();
    storage_blocks.close();
    tensor_blocks.close();
  }
  void begin() noexcept { is_begun = true; }

  bool is_begun = false;
};

thread_local EndOfThread end_of_thread;

}  // namespace

bool FreeBlocks::make_room() noexcept {
  if (room_ != 0 || is_closed_) return false;
  end_of_thread.begin();
  blocks_ = new (std::nothrow) void*[kMost];
  room_ = blocks_ == nullptr ? 0 : kMost;
  return room_ != 0;
}

void FreeBlocks::close() noexcept {
  delete[] blocks_;
  blocks_ = nullptr;
  room_ = 0;
  is_closed_ = true;
}

void free_blocks() noexcept {
  while (void* block = storage_blocks.take(0)) ::operator delete(block);
  while (void* block = tensor_blocks.take(0)) ResultTensor::free_block(block);
}

}  // namespace gpuos::bridge
