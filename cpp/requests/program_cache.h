#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "gpuos/program.h"
#include "requests/fused_requests.h"

namespace gpuos::requests {

/// Programs by the structure of the program that they were built for.
class ProgramCache {
 public:
  /// The program of `fused`, empty if it needs several; valid until the next
  /// call.
  /// Throws: InvalidArgument for dtypes that the only recipe does not take.
  Program& find(FusedRequests& fused);

  /// How many were built.
  std::uint64_t built() const noexcept { return built_; }

 private:
  Program build(const FusedRequests& fused);

  /// Structures that ever change must not fill the memory.
  static constexpr std::size_t kMaxPrograms = 4096;

  struct View {
    std::span<const std::uint64_t> words;
    std::uint64_t hash;
  };
  struct Key {
    std::vector<std::uint64_t> words;
    std::uint64_t hash;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Key& key) const noexcept { return key.hash; }
    std::size_t operator()(const View& view) const noexcept {
      return view.hash;
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Key& a, const Key& b) const noexcept {
      return a.words == b.words;
    }
    bool operator()(const View& a, const Key& b) const noexcept;
  };

  using Map = std::unordered_map<Key, Program, Hash, Equal>;

  Map programs_;
  Map::value_type* last_ = nullptr;  // the last found one, or null
  std::uint64_t built_ = 0;
};

}  // namespace gpuos::requests
