#include "program/text_memory.h"

#include <algorithm>

namespace gpuos::program {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 18;
constexpr std::size_t kLine = 128;

}  // namespace

TextMemory::~TextMemory() {
  for (void* chunk : chunks_) backend_.deallocate(chunk);
}

std::uint64_t TextMemory::add(std::span<const std::uint64_t> words) {
  const std::size_t bytes = (words.size_bytes() + kLine - 1) / kLine * kLine;
  if (bytes > left_) {
    const std::size_t size = std::max(bytes, kChunkBytes);
    chunks_.reserve(chunks_.size() + 1);
    chunks_.push_back(backend_.allocate(size));
    next_ = reinterpret_cast<std::uint64_t>(chunks_.back());
    left_ = size;
  }
  const std::uint64_t address = next_;
  backend_.copy_to_device(reinterpret_cast<void*>(address), words.data(),
                          words.size_bytes());
  next_ += bytes;
  left_ -= bytes;
  return address;
}

}  // namespace gpuos::program
