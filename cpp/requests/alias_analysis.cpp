#include "requests/alias_analysis.h"

#include <algorithm>

namespace gpuos::requests {
namespace {

/// Requests between the prefetch of an owner's slot and its use, because the
/// slots of many owners are far apart.
constexpr std::size_t kAhead = 4;

}  // namespace

bool RequestArrays::is_same(const ArrayElements& a,
                            const ArrayElements& b) const noexcept {
  if (a.address != b.address || a.dtype != b.dtype || a.elems != b.elems)
    return false;
  if (a.view == b.view) return true;
  if (a.view == Request::kFlat || b.view == Request::kFlat) return false;
  const TensorView& x = views_[a.view];
  const TensorView& y = views_[b.view];
  if (x.dims != y.dims) return false;
  for (std::size_t d = 0; d < x.dims; ++d)
    if (x.shape[d] != y.shape[d] ||
        (x.shape[d] > 1 && x.strides[d] != y.strides[d]))
      return false;
  return true;
}

ByteRange RequestArrays::range_of(const ArrayElements& array) const noexcept {
  if (array.view == Request::kFlat)
    return {array.address, array.address + array.elems * size_of(array.dtype)};
  TensorView view = views_[array.view];
  view.data = reinterpret_cast<void*>(array.address);
  view.dtype = array.dtype;
  return view.byte_range();
}

void WriteSet::clear(std::size_t owners) {
  // At most a fourth of the places is used, so most searches take one look.
  places_.assign(std::max<std::size_t>(std::bit_ceil(4 * owners), 64), nullptr);
  shift_ = std::countl_zero(places_.size()) + 1;
}

bool WriteSet::add_outputs(std::span<const Request> requests) {
  clear(requests.size());
  for (std::size_t r = 0; r < requests.size(); ++r) {
    prefetch_later(requests, r);
    const Request& request = requests[r];
    if (is_reducing(request) || request.out_owner == nullptr) return false;
    const void*& place = place_of(request.out_owner);
    if (place != nullptr) return false;
    place = request.out_owner;
  }
  return true;
}

bool WriteSet::is_read_elsewhere(const Request& request) noexcept {
  for (std::size_t i = 0; i < request.operands; ++i) {
    const void* owner = request.owners[i];
    if (!is_number(request, i) && owner != request.out_owner &&
        place_of(owner) != nullptr)
      return true;
  }
  return false;
}

bool WriteSet::are_independent(std::span<const Request> requests) {
  return add_outputs(requests) &&
         std::ranges::none_of(requests, [this](const Request& request) {
           return is_read_elsewhere(request);
         });
}

void AliasAnalysis::begin(const RequestArrays& arrays,
                          bool owners_are_disjoint) {
  has_overlaps_ = false;
  has_parts_ = false;
  owners_.clear();
  are_independent_ = written_.are_independent(arrays.requests());
  if (!owners_are_disjoint || !are_independent_) find_owners(arrays);
}

void AliasAnalysis::finish(const RequestArrays& arrays,
                           bool owners_are_disjoint) {
  if (!owners_are_disjoint) find_overlaps(arrays);
  if (has_parts_ && !has_overlaps_) divide_owners(arrays);
}

void AliasAnalysis::find_overlaps(const RequestArrays& arrays) {
  // Memory that is only read may overlap, and fresh memory overlaps nothing.
  const bool is_any_written = std::ranges::any_of(
      owners_.all(),
      [](const Owner& owner) { return owner.is_written && !owner.is_fresh; });
  if (!is_any_written) return;
  find_ranges(arrays);
  std::ranges::sort(ranges_, {}, &Range::low);
  std::uint64_t end = 0;
  std::uint64_t written_end = 0;
  for (const Range& range : ranges_) {
    if (range.low < (range.is_written ? end : written_end))
      has_overlaps_ = true;
    end = std::max(end, range.high);
    if (range.is_written) written_end = std::max(written_end, range.high);
  }
}

void AliasAnalysis::prefetch(const RequestArrays& arrays,
                             std::size_t next) const noexcept {
  const std::span<const Request> requests = arrays.requests();
  prefetch_later(requests, next);
  if (next + kAhead >= requests.size()) return;
  const Request& request = requests[next + kAhead];
  owners_.prefetch(request.out_owner);
  owners_.prefetch(request.owners[0]);
  owners_.prefetch(request.owners[1]);
}

void AliasAnalysis::find_owners(const RequestArrays& arrays) {
  of_.resize(arrays.requests().size());
  const auto touch = [&](Owner& owner, std::uint64_t address) {
    if (owner.uses++ == 0) {
      owner.address = address;
    } else if (owner.address != address) {
      owner.has_others = has_parts_ = true;
    }
  };
  for (std::size_t r = 0; r < of_.size(); ++r) {
    const Request& request = arrays.requests()[r];
    prefetch(arrays, r);
    of_[r].out = owners_.find(request.out_owner);
    for (std::size_t i = 0; i < request.operands; ++i) {
      if (is_number(request, i)) continue;
      const std::uint32_t index = owners_.find(request.owners[i]);
      of_[r].operands[i] = index;
      touch(owners_[index], request.values[i]);
    }
    Owner& out = owners_[of_[r].out];
    const bool is_first = out.uses == 0;
    touch(out, reinterpret_cast<std::uint64_t>(request.out));
    if (is_first && request.is_fresh)
      out.is_fresh = true;
    else
      out.is_written = true;
  }
}

void AliasAnalysis::find_ranges(const RequestArrays& arrays) {
  ranges_.assign(owners_.all().size(), {});
  for (std::uint32_t r = 0; r < of_.size(); ++r) {
    const Request& request = arrays.request(r);
    std::uint32_t before = 0;
    for (std::size_t i = 0; i < request.operands; ++i) {
      if (is_number(request, i)) continue;
      const ArrayElements array = arrays.operand(r, i, before++);
      if (!owners_[of_[r].operands[i]].is_fresh)
        widen(of_[r].operands[i], arrays.range_of(array));
    }
    if (!owners_[of_[r].out].is_fresh)
      widen(of_[r].out, arrays.range_of(arrays.output(r)));
  }
  for (std::uint32_t owner = 0; owner < ranges_.size(); ++owner)
    ranges_[owner].is_written = owners_[owner].is_written;
  std::erase_if(ranges_,
                [](const Range& range) { return range.low >= range.high; });
}

void AliasAnalysis::widen(std::uint32_t owner, const ByteRange& range) {
  if (range.low == range.high) return;
  ranges_[owner].low = std::min(ranges_[owner].low, range.low);
  ranges_[owner].high = std::max(ranges_[owner].high, range.high);
}

void AliasAnalysis::divide_owners(const RequestArrays& arrays) {
  parts_.clear();
  for (std::uint32_t r = 0; r < of_.size(); ++r) {
    const Request& request = arrays.request(r);
    if (request.elems == 0) continue;
    std::uint32_t before = 0;
    for (std::size_t i = 0; i < request.operands; ++i)
      if (!is_number(request, i))
        add_part(arrays, arrays.operand(r, i, before++), of_[r].operands[i],
                 false);
    add_part(arrays, arrays.output(r), of_[r].out, true);
  }
  std::ranges::sort(parts_, [](const Part& a, const Part& b) {
    return *a.owner != *b.owner ? *a.owner < *b.owner
                                : a.is_written > b.is_written;
  });
  for (auto first = parts_.begin(); first != parts_.end();) {
    const std::uint32_t owner = *first->owner;
    const auto end = std::find_if(first, parts_.end(), [&](const Part& part) {
      return *part.owner != owner;
    });
    divide_owner({first, end});
    first = end;
  }
}

void AliasAnalysis::add_part(const RequestArrays& arrays,
                             const ArrayElements& array, std::uint32_t& owner,
                             bool is_written) {
  if (!owners_[owner].has_others) return;
  const ByteRange range = arrays.range_of(array);
  const bool is_flat = array.view == Request::kFlat;
  parts_.push_back({.owner = &owner,
                    .view = is_flat ? nullptr : &arrays.view(array.view),
                    .low = range.low,
                    .high = range.high,
                    .dtype = array.dtype,
                    .is_written = is_written});
}

// The written arrays decide the parts. They come first.
void AliasAnalysis::divide_owner(std::span<Part> parts) {
  const auto begin_of_read = std::ranges::find(parts, false, &Part::is_written);
  const auto written = static_cast<std::size_t>(begin_of_read - parts.begin());
  std::vector<Part*> read;
  for (Part& part : parts.subspan(written)) read.push_back(&part);
  const std::uint32_t count =
      divide(parts.first(written), read, ~std::uint64_t{0}, 0);
  if (count < 2) return;
  const std::uint32_t first = owners_.add_parts(*parts.front().owner, count);
  for (const Part& part : parts) {
    if (part.first >= part.end) continue;  // nothing writes there
    const std::uint32_t of_array = part.end - part.first;
    *part.owner = of_array == 1
                      ? first + part.first
                      : owners_.add_array(first + part.first, of_array);
  }
}

std::uint64_t AliasAnalysis::Part::pitch_below(
    std::uint64_t limit) const noexcept {
  std::uint64_t most = 0;
  if (view == nullptr) return most;
  for (std::size_t d = 0; d < view->dims; ++d) {
    if (view->shape[d] <= 1 || view->strides[d] <= 0) continue;
    const std::uint64_t pitch =
        static_cast<std::uint64_t>(view->strides[d]) * size_of(dtype);
    if (pitch < limit) most = std::max(most, pitch);
  }
  return most;
}

std::uint64_t AliasAnalysis::Part::row_of(std::uint64_t pitch) const noexcept {
  std::uint64_t bytes = high - low;
  if (view == nullptr) return bytes;
  for (std::size_t d = 0; d < view->dims; ++d)
    if (view->shape[d] > 1 && view->strides[d] > 0 &&
        static_cast<std::uint64_t>(view->strides[d]) * size_of(dtype) == pitch)
      bytes -= pitch * static_cast<std::uint64_t>(view->shape[d] - 1);
  return bytes;
}

// Divides arrays that are written into parts that do not meet, and notes which
// of them the others read. There were `count` parts before. Returns the number
// of parts after it.
std::uint32_t AliasAnalysis::divide(std::span<Part> written,
                                    std::span<Part* const> read,
                                    std::uint64_t limit, std::uint32_t count) {
  std::ranges::sort(written, {}, &Part::low);
  std::vector<Part*> later(read.begin(), read.end());
  std::ranges::sort(later, std::ranges::greater(), &Part::low);
  std::vector<Part*> open;  // they end after what was written so far
  for (std::size_t begin = 0, next = 0; begin < written.size(); begin = next) {
    std::uint64_t end = written[begin].high;
    for (next = begin + 1; next < written.size() && written[next].low < end;
         ++next)
      end = std::max(end, written[next].high);
    const std::span<Part> together = written.subspan(begin, next - begin);
    const std::uint64_t low = together.front().low;
    for (; !later.empty() && later.back()->low < end; later.pop_back())
      open.push_back(later.back());
    std::vector<Part*> inside;
    std::vector<Part*> across;
    for (Part* part : open)
      if (part->high > low)
        (part->low >= low && part->high <= end ? inside : across)
            .push_back(part);
    std::erase_if(open, [&](const Part* part) { return part->high <= end; });
    const std::uint32_t first = count;
    const std::uint64_t pitch =
        together.size() == 1 ? 0 : fold(together, inside, across, limit);
    if (pitch != 0) {
      count = divide(together, inside, pitch, count);
    } else {
      for (Part& part : together) {
        part.first = count;
        part.end = count + 1;
      }
      across.insert(across.end(), inside.begin(), inside.end());
      ++count;
    }
    for (Part* part : across) {
      part->first = std::min(part->first, first);
      part->end = std::max(part->end, count);
    }
  }
  return count;
}

// Describes columns of one matrix by their bytes in its rows, and returns the
// bytes between rows. Arrays that are only read and are no columns become
// `across`. Returns 0 if those that are written are no columns.
std::uint64_t AliasAnalysis::fold(std::span<Part> written,
                                  std::vector<Part*>& read,
                                  std::vector<Part*>& across,
                                  std::uint64_t limit) {
  const std::uint64_t base = written.front().low;
  std::uint64_t pitch = 0;
  for (const Part& part : written)
    pitch = std::max(pitch, part.pitch_below(limit));
  const auto is_column = [&](const Part& part) {
    return (part.low - base) % pitch + part.row_of(pitch) <= pitch;
  };
  if (pitch == 0 || !std::ranges::all_of(written, is_column)) return 0;
  const auto narrow = [&](Part& part) {
    const std::uint64_t row = part.row_of(pitch);
    part.low = (part.low - base) % pitch;
    part.high = part.low + row;
  };
  std::erase_if(read, [&](Part* part) {
    if (!is_column(*part)) across.push_back(part);
    return !is_column(*part);
  });
  for (Part& part : written) narrow(part);
  for (Part* part : read) narrow(*part);
  return pitch;
}

}  // namespace gpuos::requests
