#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "queue/ring.h"

namespace gpuos {

/// Bytes [low, high) that a task reads or writes.
struct Access {
  std::uint64_t low;
  std::uint64_t high;
  bool writes;
};

/// A batch that is pending somewhere.
struct BatchRef {
  std::uint32_t ring = 0;
  std::uint64_t begin = 0;
  void* stream = nullptr;  // of a burst

  friend bool operator==(const BatchRef&, const BatchRef&) = default;
};

/// Which pending batches a new task must come after.
///
/// Bounded: nothing is allocated after construction.
/// Threads: the submit lock.
class HazardTable {
 public:
  static constexpr std::size_t kMaxConflicts = abi::kMaxJoined;

  /// `capacity` accesses; a power of two.
  explicit HazardTable(std::size_t capacity = 4096);

  struct Conflicts {
    std::array<BatchRef, kMaxConflicts> batches;
    std::size_t count = 0;
    bool overflow = false;  // there are more
    std::span<const BatchRef> view() const { return {batches.data(), count}; }
  };

  /// The newest batches that `accesses` must wait for. Older ones are left out
  /// when a batch that is named already waits for them.
  /// With `rings`, those that are done are left out too.
  Conflicts find(std::span<const Access> accesses,
                 std::span<const Ring* const> rings = {}) const;

  bool has_room(std::size_t accesses) const noexcept {
    return last_ - first_ + accesses <= entries_.size();
  }
  /// There must be room.
  void add(std::span<const Access> accesses, const BatchRef& batch) {
    add(accesses, batch, batch.begin);
  }
  /// The same for one of several batches that were submitted in one piece and
  /// do not wait for each other; `group` is where the first of them begins.
  void add(std::span<const Access> accesses, const BatchRef& batch,
           std::uint64_t group);

  /// Drops entries of batches that are done, oldest first.
  void prune(std::span<const Ring* const> rings);

  bool is_empty() const noexcept { return first_ == last_; }
  /// The oldest entry's batch; the table must not be empty.
  const BatchRef& oldest() const { return entries_[first_ & mask_].batch; }

 private:
  struct Entry {
    Access access;
    BatchRef batch;
    std::uint64_t group = 0;
  };

  // Pages that pending accesses touch, counted by hash: a task whose pages are
  // all free meets nobody, and the table is not searched.
  static constexpr std::size_t kPageBits = 12;
  static constexpr std::uint16_t kPageBytes = 1 << kPageBits;
  static constexpr std::uint64_t kPagesCounted =
      16;  // of a larger access: none
  static constexpr std::size_t kBuckets = 1 << 12;

  static bool is_large(const Access& access) noexcept;
  static std::size_t bucket_of(std::uint64_t page) noexcept;
  void add_pages(const Access& access) noexcept;
  void remove_pages(const Access& access) noexcept;
  bool may_conflict(const Access& access) const noexcept;
  bool meets_any(const Access& access) const noexcept;
  void search(const Access& access, std::span<const Ring* const> rings,
              Conflicts& found) const;

  std::vector<Entry> entries_;
  // The same bounds in arrays that a few instructions compare many of.
  std::vector<std::int64_t> lows_;
  std::vector<std::int64_t> highs_;
  std::vector<std::int64_t> written_highs_;  // 0 for an access that reads
  std::uint64_t mask_;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  // The part of a page that pending accesses touch, and how many they are. It
  // grows until the last of them is done; buffers that follow each other in
  // one page do not meet in it.
  struct Touched {
    std::uint16_t count = 0;
    std::uint16_t low = kPageBytes;
    std::uint16_t high = 0;

    bool meets(std::uint16_t from, std::uint16_t to) const noexcept {
      return count != 0 && low < to && from < high;
    }
    void add(std::uint16_t from, std::uint16_t to) noexcept {
      ++count;
      low = std::min(low, from);
      high = std::max(high, to);
    }
    void remove() noexcept {
      if (--count == 0) *this = Touched{};
    }
  };
  struct Page {
    Touched all;
    Touched writes;
  };
  /// Calls `f` for each page of `access` with the offsets in it, until it
  /// returns true; returns whether it did.
  template <typename F>
  static bool any_page(const Access& access, F f);

  std::vector<Page> pages_;
  std::size_t large_ = 0;
  std::size_t large_writes_ = 0;
};

}  // namespace gpuos
