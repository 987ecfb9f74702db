#include "program/calls/scratch.h"

#include <algorithm>
#include <bit>

namespace gpuos::program {

Scratch::~Scratch() {
  for (Turns& turns : sizes_)
    for (Block& block : turns.blocks)
      if (block.memory != nullptr) backend_.deallocate(block.memory);
  for (void* memory : kept_) backend_.deallocate(memory);
}

Scratch::Lease Scratch::take(std::size_t bytes, bool is_idle) {
  if (bytes > kMostBytes) return {};
  const std::size_t size = std::bit_ceil(std::max(bytes, kLeastBytes));
  Turns& turns = sizes_[static_cast<std::size_t>(
      std::countr_zero(size) - std::countr_zero(kLeastBytes))];
  if (is_idle) turns.next = 0;
  for (std::size_t i = 0; i < kTurns; ++i) {
    Block& block = turns.blocks[turns.next];
    turns.next = (turns.next + 1) % kTurns;
    if (block.is_taken.load(std::memory_order_acquire)) continue;
    if (block.memory == nullptr) block.memory = allocate(size);
    block.is_taken.store(true, std::memory_order_relaxed);
    return Lease(&block);
  }
  return {};
}

std::uint64_t Scratch::keep(std::size_t bytes) {
  kept_.reserve(kept_.size() + 1);
  kept_.push_back(allocate(bytes));
  return reinterpret_cast<std::uint64_t>(kept_.back()) + kCounterBytes;
}

void* Scratch::allocate(std::size_t bytes) {
  void* const memory = backend_.allocate(kCounterBytes + bytes);
  try {
    static constexpr std::array<char, kCounterBytes> kZeros{};
    backend_.copy_to_device(memory, kZeros.data(), kCounterBytes);
  } catch (...) {
    backend_.deallocate(memory);
    throw;
  }
  return memory;
}

}  // namespace gpuos::program
