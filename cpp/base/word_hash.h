#pragma once

#include <cstdint>
#include <span>

namespace gpuos {

/// Returns the hash of one more word after those with the hash `hash`.
inline std::uint64_t mix_word(std::uint64_t hash, std::uint64_t word) noexcept {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

inline std::uint64_t hash_of(std::span<const std::uint64_t> words) noexcept {
  std::uint64_t hash = words.size();
  for (const std::uint64_t word : words) hash = mix_word(hash, word);
  return hash;
}

}  // namespace gpuos
