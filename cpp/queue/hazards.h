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

/// Finds the pending batches that a new task must follow.
///
/// Bounded: nothing is allocated after construction.
/// Threads: the submit lock.
class HazardTable {
 public:
  static constexpr std::size_t kMaxConflicts = abi::kMaxJoined;

  /// `capacity` accesses, a power of two.
  explicit HazardTable(std::size_t capacity = 4096);

  /// For add(): a task that waits for all that it meets.
  static constexpr std::uint64_t kAlone = ~std::uint64_t{0};
  /// Not one position, or not one whose descriptor says all of the task.
  static constexpr std::uint64_t kNoPosition = ~std::uint64_t{0};

  struct Conflicts {
    std::array<BatchRef, kMaxConflicts> batches;
    // Positions of the met tasks in their batches.
    std::array<std::uint64_t, kMaxConflicts> positions;
    std::size_t count = 0;
    bool overflow = false;  // there are more
    bool met_done = false;  // met a finished one: prune() will drop some
    std::span<const BatchRef> view() const { return {batches.data(), count}; }
  };

  /// Returns the newest batches that `accesses` must wait for. Older ones are
  /// omitted if a returned batch already waits for them. With `rings`, finished
  /// batches are omitted too.
  Conflicts find(std::span<const Access> accesses,
                 std::span<const Ring* const> rings = {}) const {
    Conflicts found;
    find(accesses, rings, found);
    return found;
  }
  /// Finds them and stores them in `found`, whose contents are replaced.
  void find(std::span<const Access> accesses,
            std::span<const Ring* const> rings, Conflicts& found) const;

  /// Returns whether `accesses` are known to meet no pending access. False may
  /// be wrong, because finished accesses count until prune(), and so do
  /// accesses that are only near. find() is exact.
  bool is_free(std::span<const Access> accesses) const noexcept {
    for (const Access& access : accesses) {
      if (may_conflict(access)) return false;
    }
    return true;
  }

  bool has_room(std::size_t accesses) const noexcept {
    return last_ - first_ + accesses <= capacity();
  }
  /// Returns whether the table is long enough to call prune(). Calling it for
  /// each task would make each task read a word that a worker is about to
  /// write.
  bool is_long() const noexcept { return last_ - first_ > capacity() / 4; }
  /// Requires free space.
  void add(std::span<const Access> accesses, const BatchRef& batch) {
    add(accesses, batch, kAlone, batch.begin);
  }
  /// Adds one of several batches that were submitted together and do not wait
  /// for each other. `group` is the position of the first one.
  void add(std::span<const Access> accesses, const BatchRef& batch,
           std::uint64_t group, std::uint64_t position = kNoPosition);
  /// Drops entries of batches that are done, oldest first.
  void prune(std::span<const Ring* const> rings);

  /// Entries, and blocks of them, that searches have looked at until now: of
  /// each access no more than there are in the table.
  std::uint64_t looks() const noexcept { return looks_; }

  bool is_empty() const noexcept { return first_ == last_; }
  /// Returns the oldest entry's batch. The table must not be empty.
  const BatchRef& oldest() const { return batch_of(first_).batch; }

 private:
  // Entries that follow each other are mostly of one batch.
  struct Submitted {
    BatchRef batch;
    std::uint64_t group = 0;

    friend bool operator==(const Submitted&, const Submitted&) = default;
  };

  // Pages that pending accesses touch, found by hash. If all pages of a task
  // are free, it meets no pending task and the table is not searched.
  static constexpr std::size_t kPageBits = 14;
  static constexpr std::uint32_t kPageBytes = 1 << kPageBits;
  static_assert(kPageBytes < 1 << 16, "Touched counts in 16 bits");
  static constexpr std::uint64_t kPagesNoted = 16;  // of a larger access: none
  // More than the accesses of a full table, so that arrays rarely meet in one.
  static constexpr std::size_t kBucketBits = 14;
  static constexpr std::size_t kBuckets = 1 << kBucketBits;
  static constexpr std::uint64_t kFew = 4;     // entries looked at one by one
  static constexpr std::uint64_t kBlock = 64;  // and compared at a time

  // The part of a page that pending accesses touch, and the range of their
  // entries. It grows until the newest of them is done. Buffers that follow
  // each other in one page do not meet in it. Entries leave in order, so
  // nothing has to be counted.
  struct Touched {
    std::uint32_t newest = 0;  // number of an entry
    std::uint32_t oldest = 0;
    std::uint16_t low = 0;
    std::uint16_t high = 0;
  };
  // Two of them in a cache line, none in two.
  struct alignas(32) Page {
    Touched all;
    Touched writes;
    // The newest entry that may meet one of another range in this page.
    std::uint32_t mixed = 0;
  };

  // The entries of one range, found by hash. Buffers that are used again and
  // again meet themselves and nothing else: where none of its pages is mixed,
  // the newest of them are all that an access of this range can meet.
  // A few of one hash have room, or an array would lose its place as often as
  // another one is used.
  static constexpr std::size_t kRangeBits = 10;
  static constexpr std::size_t kRanges = 4;  // of a hash
  struct alignas(32) Same {  // two of them in a cache line, none in two
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::uint32_t newest = 0;
    std::uint32_t newest_write = 0;

    bool is_of(const Access& access) const noexcept {
      return low == access.low && high == access.high;
    }
  };

  static bool is_large(const Access& access) noexcept {
    return ((access.high - 1) >> kPageBits) - (access.low >> kPageBits) >=
           kPagesNoted;
  }
  // Adjacent pages have adjacent buckets. The factor separates arrays whose
  // distance is a multiple of all buckets' pages.
  static std::size_t bucket_of(std::uint64_t page) noexcept {
    constexpr std::uint64_t kShift = 10125;  // of all: the golden ratio
    return (page + kShift * (page >> kBucketBits)) & (kBuckets - 1);
  }
  /// Calls `f` for each page of `access` with the offsets in it, until it
  /// returns true. Returns whether it did.
  template <typename F>
  static bool any_page(const Access& access, F f) {
    const std::uint64_t first = access.low >> kPageBits;
    const std::uint64_t last = (access.high - 1) >> kPageBits;
    const auto from = static_cast<std::uint32_t>(access.low % kPageBytes);
    const auto to =
        static_cast<std::uint32_t>((access.high - 1) % kPageBytes + 1);
    if (first == last) [[likely]]
      return f(bucket_of(first), from, to);
    if (f(bucket_of(first), from, kPageBytes)) return true;
    for (std::uint64_t page = first + 1; page < last; ++page) {
      if (f(bucket_of(page), std::uint32_t{0}, kPageBytes)) return true;
    }
    return f(bucket_of(last), std::uint32_t{0}, to);
  }

  /// Numbers of entries, [first, end).
  struct Range {
    std::uint64_t first;
    std::uint64_t end;

    void include(std::uint64_t oldest, std::uint64_t newest) noexcept {
      first = std::min(first, oldest);
      end = std::max(end, newest + 1);
    }
  };

  std::uint32_t newest() const noexcept {
    return static_cast<std::uint32_t>(last_ - 1);
  }
  /// Returns the full number of a table entry from its low 32 bits.
  std::uint64_t whole(std::uint32_t number) const noexcept {
    return last_ - (static_cast<std::uint32_t>(last_) - number);
  }
  /// Returns whether the entry with these low 32 bits is in the table. For
  /// entries that left the table it is wrong only for one in a million of those
  /// of 2^32 entries ago. Then the table has the entry of whole().
  bool is_pending(std::uint32_t number) const noexcept {
    return number - static_cast<std::uint32_t>(first_) <
           static_cast<std::uint32_t>(last_ - first_);
  }
  bool may_conflict(const Access& access) const noexcept {
    if (is_large(access) || is_pending(access.writes ? large_ : large_writes_))
      return true;
    return any_page(
        access, [&](std::size_t bucket, std::uint32_t from, std::uint32_t to) {
          const Page& page = pages_[bucket];
          const Touched& touched = access.writes ? page.all : page.writes;
          return touched.low < to && from < touched.high &&
                 is_pending(touched.newest);
        });
  }
  /// Returns the entries that `access` may meet. Without this limit the search
  /// would be most of the cost of a submission.
  Range near(const Access& access) const noexcept {
    return near(access, access.writes);
  }
  Range near(const Access& access, bool with_reads) const noexcept;
  void touch(Touched& touched, std::uint32_t from, std::uint32_t to) noexcept {
    const auto low = static_cast<std::uint16_t>(from);
    const auto high = static_cast<std::uint16_t>(to);
    if (is_pending(touched.newest)) {
      touched.low = std::min(touched.low, low);
      touched.high = std::max(touched.high, high);
      // Keeps the distance below 2^32 entries.
      if (!is_pending(touched.oldest))
        touched.oldest = static_cast<std::uint32_t>(first_);
      touched.newest = newest();
    } else {
      touched = {newest(), newest(), low, high};
    }
  }
  /// Returns the slot of its range, or the oldest slot of its hash.
  std::size_t same_of(const Access& access) const noexcept {
    // The golden ratio gathers arrays of some distances in a few places. This
    // one of Steele and Vigna ("Computationally easy, spectrally good
    // multipliers", arXiv:2001.05304) leaves 256 arrays of each distance up to
    // 64 KiB their places, see the test.
    constexpr std::uint64_t kFactor = 0xd1342543de82ef95;
    const std::size_t first =
        (access.low * kFactor >> (64 - kRangeBits)) * kRanges;
    std::size_t oldest = first;
    for (std::size_t i = first; i < first + kRanges; ++i) {
      if (same_[i].is_of(access)) return i;
      if (newest() - same_[i].newest > newest() - same_[oldest].newest)
        oldest = i;
    }
    return oldest;
  }
  void add_pages(const Access& access, bool is_mixed) noexcept;
  /// Returns whether a pending access overlaps this one and either writes.
  bool meets_any(const Access& access) const noexcept;
  /// Returns whether only pending accesses of the same range can meet this one.
  /// One of them must be pending.
  bool is_same(const Access& access) const noexcept {
    return !is_large(access) && !is_pending(large_) &&
           !any_page(access,
                     [&](std::size_t bucket, std::uint32_t, std::uint32_t) {
                       return is_pending(pages_[bucket].mixed);
                     });
  }
  /// Returns whether the newest access of this range is a read of the newest
  /// batch, as `access` is: one entry is enough for both.
  bool is_read_again(const Access& access, const Same& same) const noexcept;
  /// Notes the conflict of `access` if only one entry of its own range must be
  /// checked.
  bool find_same(const Access& access, std::span<const Ring* const> rings,
                 Conflicts& found) const;
  void search(const Access& access, std::span<const Ring* const> rings,
              Conflicts& found) const;
  /// Visits one entry of a search. `cover` becomes its batch if it ends the
  /// search. Returns false if there are too many conflicts.
  bool note_conflict(const Access& access, std::uint64_t entry,
                     std::span<const Ring* const> rings, Conflicts& found,
                     const Submitted*& cover) const;

  std::uint64_t capacity() const noexcept { return mask_ + 1; }
  const Submitted& batch_of(std::uint64_t entry) const noexcept {
    return batches_[numbers_[entry & mask_] & mask_];
  }

  // The ranges of all entries. They are in arrays, so a few instructions
  // compare many ranges.
  std::vector<std::int64_t> lows_;
  std::vector<std::int64_t> highs_;
  std::vector<std::int64_t> written_highs_;  // 0 for an access that reads
  std::vector<std::uint64_t> positions_;
  std::vector<std::uint32_t> numbers_;  // of its batch
  // No more of them than entries.
  std::vector<Submitted> batches_;
  std::uint32_t newest_batch_ = 0;
  std::uint64_t mask_;
  // Numbers of entries. They only grow, and no page was touched by number 0.
  std::uint64_t first_;
  std::uint64_t last_;
  std::vector<Page> pages_;
  std::vector<Same> same_;
  mutable std::uint64_t looks_ = 0;
  std::uint32_t large_ = 0;  // the newest entry of a large access
  std::uint32_t large_writes_ = 0;
};

}  // namespace gpuos
