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

void AliasAnalysis::run(const RequestArrays& arrays, bool owners_are_disjoint) {
  has_overlaps_ = false;
  owners_.clear();
  are_independent_ = written_.are_independent(arrays.requests());
  if (owners_are_disjoint && are_independent_) return;
  find_owners(arrays);
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
  has_parts_ = false;
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
        add_part(arrays, arrays.operand(r, i, before++), of_[r].operands[i]);
    add_part(arrays, arrays.output(r), of_[r].out);
  }
  // Writes to `owner` below do not change this order of the others.
  std::ranges::sort(parts_, [](const Part& a, const Part& b) {
    return *a.owner != *b.owner ? *a.owner < *b.owner : a.low < b.low;
  });
  for (auto first = parts_.begin(); first != parts_.end();) {
    const std::uint32_t owner = *first->owner;
    const auto end = std::find_if(first, parts_.end(), [&](const Part& part) {
      return *part.owner != owner;
    });
    divide({first, end}, ~std::uint64_t{0});
    first = end;
  }
}

void AliasAnalysis::add_part(const RequestArrays& arrays,
                             const ArrayElements& array, std::uint32_t& owner) {
  const Owner& all = owners_[owner];
  if (!all.has_others || !all.is_written || all.is_fresh) return;
  const ByteRange range = arrays.range_of(array);
  const bool is_flat = array.view == Request::kFlat;
  parts_.push_back({.owner = &owner,
                    .view = is_flat ? nullptr : &arrays.view(array.view),
                    .low = range.low,
                    .high = range.high,
                    .dtype = array.dtype});
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

// Gives parts that meet no other an owner of their own. The parts are of one
// owner, and sorted.
void AliasAnalysis::divide(std::span<Part> parts, std::uint64_t limit) {
  const std::uint32_t owner = *parts.front().owner;
  std::uint64_t end = parts.front().high;
  std::size_t first = 0;
  const auto close = [&](std::size_t next) {
    const std::span<Part> together = parts.subspan(first, next - first);
    if (first != 0) {
      const std::uint32_t part = owners_.add_part(owner);
      for (const Part& each : together) *each.owner = part;
    }
    first = next;
    if (together.size() == 1) return;
    const std::uint64_t pitch = fold(together, limit);
    if (pitch != 0) divide(together, pitch);
  };
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].low >= end) close(i);
    end = std::max(end, parts[i].high);
  }
  close(parts.size());
}

// Describes columns of one matrix by their bytes in its rows, and returns the
// bytes between rows. Returns 0 if they are not columns.
std::uint64_t AliasAnalysis::fold(std::span<Part> parts, std::uint64_t limit) {
  const std::uint64_t base = parts.front().low;
  std::uint64_t pitch = 0;
  for (const Part& part : parts)
    pitch = std::max(pitch, part.pitch_below(limit));
  if (pitch == 0) return 0;
  const bool are_columns = std::ranges::all_of(parts, [&](const Part& part) {
    return (part.low - base) % pitch + part.row_of(pitch) <= pitch;
  });
  if (!are_columns) return 0;
  for (Part& part : parts) {
    const std::uint64_t row = part.row_of(pitch);
    part.low = (part.low - base) % pitch;
    part.high = part.low + row;
  }
  std::ranges::sort(parts, {}, &Part::low);
  return pitch;
}

}  // namespace gpuos::requests
