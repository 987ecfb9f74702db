#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "requests/arrays.h"

namespace gpuos::requests {

inline constexpr std::uint32_t kNone = 0xffffffff;
inline constexpr std::uint32_t kMany = 0xfffffffe;

/// An allocation, and what the requests seen so far did to it.
struct Owner {
  const void* key = nullptr;
  std::uint32_t uses = 0;         // operands and outputs of all requests
  bool is_fresh = false;          // a fresh output is what met it first
  bool is_written = false;        // not only as a fresh output
  bool is_refused = false;        // a request that writes it was not run
  bool is_one_array = true;       // all that `toucher` touched is `array`
  std::int8_t is_needed = -1;     // not asked yet
  std::uint32_t toucher = kNone;  // the group, kMany if there are several
  std::uint32_t writer = kNone;   // the last group that wrote
  std::uint32_t value = kNone;    // the last request that wrote
  // Levels of groups count from 1. 0 means none so far.
  std::uint32_t written_level = 0;  // the last that wrote
  std::uint32_t touched_level = 0;  // the highest that read or wrote
  Array array{};                    // the first touched array
};

/// Owners by their pointer. Its memory is used again by the next run.
class OwnerTable {
 public:
  void clear() noexcept {
    owners_.clear();
    if (++run_ == 0) buckets_.clear();  // every run that is marked has ended
  }

  /// The number of `key`, a new one if it has none.
  std::uint32_t find(const void* key) {
    if (2 * owners_.size() >= buckets_.size()) grow();
    std::size_t i = bucket_of(key);
    while (buckets_[i].run == run_) {
      const std::uint32_t owner = buckets_[i].owner;
      if (owners_[owner].key == key) return owner;
      i = (i + 1) & (buckets_.size() - 1);
    }
    const auto owner = static_cast<std::uint32_t>(owners_.size());
    buckets_[i] = {run_, owner};
    owners_.emplace_back().key = key;
    return owner;
  }

  /// Prefetches the data of find().
  void prefetch(const void* key) const noexcept {
    if (!buckets_.empty()) __builtin_prefetch(&buckets_[bucket_of(key)]);
  }

  Owner& operator[](std::uint32_t owner) { return owners_[owner]; }
  std::vector<Owner>& all() noexcept { return owners_; }

 private:
  struct Bucket {
    std::uint32_t run = 0;  // the place is taken in this run
    std::uint32_t owner = 0;
  };

  std::size_t bucket_of(const void* key) const noexcept {
    // Uses the high bits, which are well mixed: addresses have even distances.
    return static_cast<std::size_t>(
        reinterpret_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15 >> shift_);
  }

  void grow() {
    buckets_.assign(buckets_.empty() ? 64 : 2 * buckets_.size(), {});
    shift_ = std::countl_zero(buckets_.size()) + 1;
    run_ = 1;
    for (std::uint32_t owner = 0; owner < owners_.size(); ++owner) {
      std::size_t i = bucket_of(owners_[owner].key);
      while (buckets_[i].run == run_) i = (i + 1) & (buckets_.size() - 1);
      buckets_[i] = {run_, owner};
    }
  }

  std::vector<Bucket> buckets_;
  std::vector<Owner> owners_;
  std::uint32_t run_ = 0;
  int shift_ = 0;  // of a hash, so that a place is left
};

}  // namespace gpuos::requests
