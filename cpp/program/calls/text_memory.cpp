#include "program/calls/text_memory.h"

#include <algorithm>

#include "device/interpreter/text.h"

namespace gpuos::program {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 16;
constexpr std::size_t kLine = 128;
/// A worker reads a longer text more than once.
constexpr std::size_t kMostShared =
    kTextBytes / kResolvedBytes * sizeof(Instruction);

std::size_t whole_lines(std::size_t bytes) {
  return (bytes + kLine - 1) / kLine * kLine;
}

}  // namespace

Text TextMemory::add(std::span<const std::uint64_t> words) {
  const std::size_t bytes = whole_lines(words.size_bytes());
  if (bytes > kMostShared || bytes > shared_.size_bytes()) return copy(words);
  std::ranges::copy(words, shared_.begin());
  const auto address = reinterpret_cast<std::uint64_t>(shared_.data());
  shared_ = shared_.subspan(bytes / sizeof(shared_[0]));
  return {.address = address, .shared_bytes = words.size_bytes()};
}

Text TextMemory::copy_of(const Text& text) {
  Text copied = copy({reinterpret_cast<const std::uint64_t*>(text.address),
                      text.shared_bytes / sizeof(std::uint64_t)});
  copied.is_used = text.is_used;
  return copied;
}

Text TextMemory::copy(std::span<const std::uint64_t> words) {
  const std::size_t bytes = whole_lines(words.size_bytes());
  if (bytes > left_) {
    const std::size_t size = std::max(bytes, kChunkBytes);
    chunk_ = std::shared_ptr<void>(backend_.allocate(size), free_later_);
    next_ = reinterpret_cast<std::uint64_t>(chunk_.get());
    left_ = size;
  }
  const std::uint64_t address = next_;
  backend_.copy_to_device(reinterpret_cast<void*>(address), words.data(),
                          words.size_bytes());
  next_ += bytes;
  left_ -= bytes;
  return {.address = address, .chunk = chunk_};
}

}  // namespace gpuos::program
