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
  return (page ^ (page >> 12)) & (kBuckets - 1);
}

template <typename F>
bool HazardTable::any_page(const Access& access, F f) {
  const std::uint64_t last = (access.high - 1) >> kPageBits;
  for (std::uint64_t page = access.low >> kPageBits; page <= last; ++page) {
    const std::uint64_t start = page << kPageBits;
    const auto from =
        static_cast<std::uint16_t>(std::max(access.low, start) - start);
    const auto to = static_cast<std::uint16_t>(
        std::min(access.high - start, std::uint64_t{kPageBytes}));
    if (f(bucket_of(page), from, to)) return true;
  }
  return false;
}

void HazardTable::add_pages(const Access& access) noexcept {
  if (is_large(access)) {
    ++large_;
    if (access.writes) ++large_writes_;
    return;
  }
  any_page(access,
           [&](std::size_t bucket, std::uint16_t from, std::uint16_t to) {
             pages_[bucket].all.add(from, to);
             if (access.writes) pages_[bucket].writes.add(from, to);
             return false;
           });
}

void HazardTable::remove_pages(const Access& access) noexcept {
  if (is_large(access)) {
    --large_;
    if (access.writes) --large_writes_;
    return;
  }
  any_page(access, [&](std::size_t bucket, std::uint16_t, std::uint16_t) {
    pages_[bucket].all.remove();
    if (access.writes) pages_[bucket].writes.remove();
    return false;
  });
}

bool HazardTable::may_conflict(const Access& access) const noexcept {
  if ((access.writes ? large_ : large_writes_) != 0) return true;
  if (is_large(access)) return true;
  return any_page(
      access, [&](std::size_t bucket, std::uint16_t from, std::uint16_t to) {
        const Page& page = pages_[bucket];
        return (access.writes ? page.all : page.writes).meets(from, to);
      });
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
    // One that is done need not have run, if its launch failed; then it says
    // nothing about those before it.
    const bool covers = !is_done && entry.access.writes &&
                        entry.access.low <= access.low &&
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
    add_pages(access);
  }
}

void HazardTable::prune(std::span<const Ring* const> rings) {
  while (first_ != last_) {
    const Entry& entry = entries_[first_ & mask_];
    if (!rings[entry.batch.ring]->is_done(entry.batch.begin)) return;
    remove_pages(entry.access);
    ++first_;
  }
}

}  // namespace gpuos
