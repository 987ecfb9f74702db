#include "queue/hazards.h"

#include <algorithm>

#include "bounds.h"

namespace gpuos {

HazardTable::HazardTable(std::size_t capacity)
    : entries_(capacity),
      lows_(capacity),
      highs_(capacity),
      written_highs_(capacity),
      mask_(capacity - 1),
      pages_(kBuckets) {}

bool HazardTable::is_large(const Access& access) noexcept {
  return ((access.high - 1) >> kPageBits) - (access.low >> kPageBits) >=
         kPagesCounted;
}

std::size_t HazardTable::bucket_of(std::uint64_t page) noexcept {
  return (page ^ (page >> 13)) & (kBuckets - 1);
}

void HazardTable::count_pages(const Access& access, int by) noexcept {
  if (is_large(access)) {
    large_ += static_cast<std::size_t>(by);
    if (access.writes) large_writes_ += static_cast<std::size_t>(by);
    return;
  }
  const std::uint64_t last = (access.high - 1) >> kPageBits;
  for (std::uint64_t page = access.low >> kPageBits; page <= last; ++page) {
    PageCount& count = pages_[bucket_of(page)];
    count.all = static_cast<std::uint16_t>(count.all + by);
    if (access.writes)
      count.writes = static_cast<std::uint16_t>(count.writes + by);
  }
}

bool HazardTable::may_conflict(const Access& access) const noexcept {
  if ((access.writes ? large_ : large_writes_) != 0) return true;
  if (is_large(access)) return true;
  const std::uint64_t last = (access.high - 1) >> kPageBits;
  for (std::uint64_t page = access.low >> kPageBits; page <= last; ++page) {
    const PageCount& count = pages_[bucket_of(page)];
    if ((access.writes ? count.all : count.writes) != 0) return true;
  }
  return false;
}

bool HazardTable::meets_any(const Access& access) const noexcept {
  const auto& highs = access.writes ? highs_ : written_highs_;
  const std::uint64_t first = first_ & mask_;
  const std::uint64_t count = last_ - first_;
  const std::uint64_t before_wrap = std::min(count, mask_ + 1 - first);
  const auto low = static_cast<std::int64_t>(access.low);
  const auto high = static_cast<std::int64_t>(access.high);
  return any_overlaps(lows_.data() + first, highs.data() + first, before_wrap,
                      low, high) ||
         any_overlaps(lows_.data(), highs.data(), count - before_wrap, low,
                      high);
}

void HazardTable::search(const Access& access,
                         std::span<const Ring* const> rings,
                         Conflicts& found) const {
  const Entry* cover = nullptr;
  for (std::uint64_t i = last_; i != first_; --i) {
    const Entry& entry = entries_[(i - 1) & mask_];
    // It waits for everything older that we meet, except for its own group.
    if (cover != nullptr &&
        (entry.group != cover->group || entry.batch.ring != cover->batch.ring))
      return;
    const bool meets =
        entry.access.low < access.high && access.low < entry.access.high;
    if (!meets || !(access.writes || entry.access.writes)) continue;
    // What is done cannot be forgotten while something older is pending.
    const bool is_done =
        !rings.empty() && rings[entry.batch.ring]->is_done(entry.batch.begin);
    const auto end = found.batches.begin() + found.count;
    if (!is_done && std::find(found.batches.begin(), end, entry.batch) == end) {
      if (found.count == kMaxConflicts) {
        found.overflow = true;
        return;
      }
      found.batches[found.count++] = entry.batch;
    }
    const bool covers = entry.access.writes && entry.access.low <= access.low &&
                        access.high <= entry.access.high;
    if (covers) cover = &entry;
  }
}

HazardTable::Conflicts HazardTable::find(
    std::span<const Access> accesses,
    std::span<const Ring* const> rings) const {
  Conflicts found;
  if (is_empty()) return found;
  for (const Access& access : accesses) {
    if (may_conflict(access) && meets_any(access)) search(access, rings, found);
  }
  return found;
}

void HazardTable::add(std::span<const Access> accesses, const BatchRef& batch,
                      std::uint64_t group) {
  for (const Access& access : accesses) {
    const std::uint64_t i = last_++ & mask_;
    entries_[i] = {access, batch, group};
    lows_[i] = static_cast<std::int64_t>(access.low);
    highs_[i] = static_cast<std::int64_t>(access.high);
    written_highs_[i] = access.writes ? highs_[i] : 0;
    count_pages(access, 1);
  }
}

void HazardTable::prune(std::span<const Ring* const> rings) {
  while (first_ != last_) {
    const Entry& entry = entries_[first_ & mask_];
    if (!rings[entry.batch.ring]->is_done(entry.batch.begin)) return;
    count_pages(entry.access, -1);
    ++first_;
  }
}

}  // namespace gpuos
