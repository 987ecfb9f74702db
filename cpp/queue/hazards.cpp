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
      first_(capacity),
      last_(capacity),
      pages_(kBuckets) {}

void HazardTable::add_pages(const Access& access) noexcept {
  if (is_large(access)) {
    large_ = newest();
    if (access.writes) large_writes_ = large_;
    return;
  }
  any_page(access,
           [&](std::size_t bucket, std::uint32_t from, std::uint32_t to) {
             Page& page = pages_[bucket];
             touch(page.all, from, to);
             if (access.writes) touch(page.writes, from, to);
             return false;
           });
}

HazardTable::Range HazardTable::near(const Access& access) const noexcept {
  if (is_large(access)) return {first_, last_};
  Range range{last_, first_};
  any_page(access, [&](std::size_t bucket, std::uint32_t from,
                       std::uint32_t to) {
    const Page& page = pages_[bucket];
    const Touched& touched = access.writes ? page.all : page.writes;
    if (touched.low < to && from < touched.high && is_pending(touched.newest))
      range.include(is_pending(touched.oldest) ? whole(touched.oldest) : first_,
                    whole(touched.newest));
    return false;
  });
  const std::uint32_t large = access.writes ? large_ : large_writes_;
  if (is_pending(large)) range.include(first_, whole(large));
  return range;
}

void HazardTable::search(const Access& access,
                         std::span<const Ring* const> rings,
                         Conflicts& found) const {
  const auto& highs = access.writes ? highs_ : written_highs_;
  const std::uint64_t block = std::min<std::uint64_t>(kBlock, mask_ + 1);
  const Entry* cover = nullptr;
  // It waits for everything older that we meet, except for its own group.
  const auto is_behind_cover = [&](const Entry& entry) {
    return cover != nullptr &&
           (cover->group == kAlone || entry.group != cover->group ||
            entry.batch.ring != cover->batch.ring);
  };
  const Range range = near(access);
  for (std::uint64_t end = range.end; end > range.first;) {
    if (is_behind_cover(entries_[(end - 1) & mask_])) return;
    std::uint64_t begin = std::max(range.first, (end - 1) / block * block);
    // The newest are likely to be met, and few take less one by one.
    if (end == range.end)
      begin = std::max(begin, end - std::min(end, kFew));
    else if (!any_overlaps(lows_.data() + (begin & mask_),
                           highs.data() + (begin & mask_), end - begin,
                           static_cast<std::int64_t>(access.low),
                           static_cast<std::int64_t>(access.high))) {
      end = begin;
      continue;
    }
    for (; end != begin; --end) {
      const Entry& entry = entries_[(end - 1) & mask_];
      if (is_behind_cover(entry)) return;
      if (!note_conflict(access, entry, rings, found, cover)) return;
    }
  }
}

bool HazardTable::note_conflict(const Access& access, const Entry& entry,
                                std::span<const Ring* const> rings,
                                Conflicts& found, const Entry*& cover) {
  const bool meets =
      entry.access.low < access.high && access.low < entry.access.high;
  if (!meets || !(access.writes || entry.access.writes)) return true;
  // What is done cannot be forgotten while something older is pending.
  // It need not have run, if its launch failed, so it says nothing about those
  // before it.
  if (!rings.empty() && rings[entry.batch.ring]->is_done(entry.batch.begin)) {
    found.met_done = true;
    return true;
  }
  const auto end = found.batches.begin() + found.count;
  const auto same = std::find(found.batches.begin(), end, entry.batch);
  const auto i = static_cast<std::size_t>(same - found.batches.begin());
  if (same != end) {
    if (found.positions[i] != entry.position) found.positions[i] = kNoPosition;
  } else if (found.count == kMaxConflicts) {
    found.overflow = true;
    return false;
  } else {
    found.batches[i] = entry.batch;
    found.positions[i] = entry.position;
    ++found.count;
  }
  if (entry.access.writes && entry.access.low <= access.low &&
      access.high <= entry.access.high)
    cover = &entry;
  return true;
}

HazardTable::Conflicts HazardTable::find(
    std::span<const Access> accesses,
    std::span<const Ring* const> rings) const {
  Conflicts found;
  if (is_empty()) return found;
  for (const Access& access : accesses) search(access, rings, found);
  return found;
}

void HazardTable::add(std::span<const Access> accesses, const BatchRef& batch,
                      std::uint64_t group, std::uint64_t position) {
  for (const Access& access : accesses) {
    const std::uint64_t i = last_++ & mask_;
    entries_[i] = {access, batch, group, position};
    const auto high = static_cast<std::int64_t>(access.high);
    lows_[i] = static_cast<std::int64_t>(access.low);
    highs_[i] = high;
    written_highs_[i] = access.writes ? high : 0;
    add_pages(access);
  }
}

void HazardTable::prune(std::span<const Ring* const> rings) {
  while (first_ != last_) {
    const BatchRef batch = oldest();
    if (!rings[batch.ring]->is_done(batch.begin)) return;
    while (first_ != last_ && oldest() == batch) ++first_;
  }
  // Where the arrays begin, because what was used last is in the processor's
  // caches.
  first_ = last_ = (last_ + mask_) & ~mask_;
}

}  // namespace gpuos
