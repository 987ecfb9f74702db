#include "queue/hazards.h"

#include <algorithm>

#include "values/bounds.h"

namespace gpuos {

HazardTable::HazardTable(std::size_t capacity)
    : lows_(capacity),
      highs_(capacity),
      written_highs_(capacity),
      positions_(capacity),
      numbers_(capacity),
      batches_(capacity),
      mask_(capacity - 1),
      first_(capacity),
      last_(capacity),
      pages_(kBuckets),
      same_(kRanges << kRangeBits) {}

void HazardTable::add_pages(const Access& access, bool is_mixed) noexcept {
  if (is_large(access)) {
    large_ = newest();
    if (access.writes) large_writes_ = large_;
    return;
  }
  any_page(access,
           [&](std::size_t bucket, std::uint32_t from, std::uint32_t to) {
             Page& page = pages_[bucket];
             if (is_mixed || is_pending(page.mixed)) page.mixed = newest();
             touch(page.all, from, to);
             if (access.writes) touch(page.writes, from, to);
             return false;
           });
}

HazardTable::Range HazardTable::near(const Access& access,
                                     bool with_reads) const noexcept {
  if (is_large(access)) return {first_, last_};
  Range range{last_, first_};
  any_page(access, [&](std::size_t bucket, std::uint32_t from,
                       std::uint32_t to) {
    const Page& page = pages_[bucket];
    const Touched& touched = with_reads ? page.all : page.writes;
    if (touched.low < to && from < touched.high && is_pending(touched.newest))
      range.include(is_pending(touched.oldest) ? whole(touched.oldest) : first_,
                    whole(touched.newest));
    return false;
  });
  const std::uint32_t large = with_reads ? large_ : large_writes_;
  if (is_pending(large)) range.include(first_, whole(large));
  return range;
}

bool HazardTable::meets_any(const Access& access) const noexcept {
  const auto low = static_cast<std::int64_t>(access.low);
  const auto high = static_cast<std::int64_t>(access.high);
  const std::uint64_t block = std::min<std::uint64_t>(kBlock, capacity());
  const Range range = near(access, true);
  for (std::uint64_t end = range.end; end > range.first;) {
    const std::uint64_t begin =
        std::max(range.first, (end - 1) / block * block);
    ++looks_;
    if (any_overlaps(lows_.data() + (begin & mask_),
                     highs_.data() + (begin & mask_), end - begin, low, high))
      return true;
    end = begin;
  }
  return false;
}

bool HazardTable::is_read_again(const Access& access,
                                const Same& same) const noexcept {
  return !access.writes && same.newest != same.newest_write &&
         numbers_[same.newest & mask_] == newest_batch_ && is_same(access);
}

bool HazardTable::find_same(const Access& access,
                            std::span<const Ring* const> rings,
                            Conflicts& found) const {
  const Same& same = same_[same_of(access)];
  if (!same.is_of(access) || !is_pending(same.newest) || !is_same(access))
    return false;
  // Reads that are newer than the write would have to be waited for, too.
  if (access.writes && same.newest != same.newest_write) return false;
  if (!is_pending(same.newest_write)) return true;
  const std::uint64_t entry = whole(same.newest_write);
  const Submitted& submitted = batch_of(entry);
  // A batch that does not wait for all that it meets, or is done, does not
  // cover older ones.
  if (submitted.group != kAlone ||
      (!rings.empty() &&
       rings[submitted.batch.ring]->is_done(submitted.batch.begin)))
    return false;
  ++looks_;
  const Submitted* cover = nullptr;
  note_conflict(access, entry, rings, found, cover);
  return true;
}

void HazardTable::search(const Access& access,
                         std::span<const Ring* const> rings,
                         Conflicts& found) const {
  const auto& highs = access.writes ? highs_ : written_highs_;
  const std::uint64_t block = std::min<std::uint64_t>(kBlock, capacity());
  const Submitted* cover = nullptr;
  // It waits for everything older that we meet, except for its own group.
  const auto is_covered = [&](std::uint64_t entry) {
    if (cover == nullptr || cover->group == kAlone) return cover != nullptr;
    const Submitted& batch = batch_of(entry);
    return batch.group != cover->group || batch.batch.ring != cover->batch.ring;
  };
  const Range range = near(access);
  for (std::uint64_t end = range.end; end > range.first;) {
    if (is_covered(end - 1)) return;
    ++looks_;
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
      if (is_covered(end - 1)) return;
      ++looks_;
      if (!note_conflict(access, end - 1, rings, found, cover)) return;
    }
  }
}

bool HazardTable::note_conflict(const Access& access, std::uint64_t entry,
                                std::span<const Ring* const> rings,
                                Conflicts& found,
                                const Submitted*& cover) const {
  const std::uint64_t at = entry & mask_;
  const auto low = static_cast<std::uint64_t>(lows_[at]);
  const auto high = static_cast<std::uint64_t>(highs_[at]);
  const bool writes = written_highs_[at] != 0;
  const bool meets = low < access.high && access.low < high;
  if (!meets || !(access.writes || writes)) return true;
  const Submitted& submitted = batch_of(entry);
  const BatchRef& batch = submitted.batch;
  // A batch that is done cannot be forgotten while an older one is pending. It
  // may not have run, if its launch failed. So it says nothing about earlier
  // batches.
  if (!rings.empty() && rings[batch.ring]->is_done(batch.begin)) {
    found.met_done = true;
    return true;
  }
  const auto end = found.batches.begin() + found.count;
  const auto same = std::find(found.batches.begin(), end, batch);
  const auto i = static_cast<std::size_t>(same - found.batches.begin());
  if (same != end) {
    if (found.positions[i] != positions_[at]) found.positions[i] = kNoPosition;
  } else if (found.count == kMaxConflicts) {
    found.overflow = true;
    return false;
  } else {
    found.batches[i] = batch;
    found.positions[i] = positions_[at];
    ++found.count;
  }
  if (writes && low <= access.low && access.high <= high) cover = &submitted;
  return true;
}

void HazardTable::find(std::span<const Access> accesses,
                       std::span<const Ring* const> rings,
                       Conflicts& found) const {
  found.count = 0;
  found.overflow = found.met_done = false;
  if (is_empty()) return;
  for (const Access& access : accesses)
    if (!find_same(access, rings, found)) search(access, rings, found);
}

void HazardTable::add(std::span<const Access> accesses, const BatchRef& batch,
                      std::uint64_t group, std::uint64_t position) {
  if (accesses.empty()) return;  // or its batch would take another's place
  const Submitted submitted{batch, group};
  if (!(batches_[newest_batch_ & mask_] == submitted))
    batches_[++newest_batch_ & mask_] = submitted;
  for (const Access& access : accesses) {
    Same& same = same_[same_of(access)];
    const bool is_known = same.is_of(access) && is_pending(same.newest);
    if (is_known && is_read_again(access, same)) {
      std::uint64_t& where = positions_[same.newest & mask_];
      if (where != position) where = kNoPosition;
      continue;
    }
    // Compares entries of its own range too, because another entry has replaced
    // them in `same_`.
    const bool is_mixed = !is_known && !is_large(access) && meets_any(access);
    const std::uint64_t at = last_++ & mask_;
    lows_[at] = static_cast<std::int64_t>(access.low);
    highs_[at] = static_cast<std::int64_t>(access.high);
    written_highs_[at] = access.writes ? highs_[at] : 0;
    positions_[at] = position;
    numbers_[at] = newest_batch_;
    add_pages(access, is_mixed);
    if (!is_known) same = {access.low, access.high, 0, 0};
    same.newest = newest();
    if (access.writes) same.newest_write = newest();
  }
}

void HazardTable::prune(std::span<const Ring* const> rings) {
  while (first_ != last_) {
    const BatchRef& batch = oldest();
    if (!rings[batch.ring]->is_done(batch.begin)) return;
    const std::uint32_t number = numbers_[first_ & mask_];
    while (first_ != last_ && numbers_[first_ & mask_] == number) ++first_;
  }
  // Restarts at the begin of the arrays, whose latest used part is in the
  // processor's caches.
  first_ = last_ = (last_ + mask_) & ~mask_;
}

}  // namespace gpuos
