#include "program/graph/index_axis.h"

#include <algorithm>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos::program {
namespace {

[[noreturn]] void refuse_place(std::int64_t place, std::int64_t size) {
  if (size == 0)
    throw InvalidArgument(concat("index: expected an axis with elements for ",
                                 "place ", place, ", got one without"));
  throw InvalidArgument(concat(
      "index: expected a place of ", -size, " to ", size - 1, " in an axis of ",
      size, size == 1 ? " element" : " elements", ", got ", place));
}

/// Returns the bound counted from the first element. Omitted bounds are beyond
/// both limits.
std::int64_t bound_of(std::int64_t bound, std::int64_t size, std::int64_t least,
                      std::int64_t most) {
  return std::clamp(bound < 0 ? bound + size : bound, least, most);
}

IndexedAxis slice_of(const AxisIndex& axis, std::int64_t size) {
  const bool is_back = axis.step < 0;
  const std::int64_t least = is_back ? -1 : 0;
  const std::int64_t most = is_back ? size - 1 : size;
  const std::int64_t first = bound_of(axis.start, size, least, most);
  const std::int64_t end = bound_of(axis.stop, size, least, most);
  const std::int64_t span = is_back ? first - end : end - first;
  if (span <= 0) return {.first = 0, .size = 0};
  // The lowest step has no opposite.
  const std::uint64_t step =
      is_back ? std::uint64_t{0} - static_cast<std::uint64_t>(axis.step)
              : static_cast<std::uint64_t>(axis.step);
  const std::uint64_t count = (static_cast<std::uint64_t>(span) - 1) / step + 1;
  // One element needs no step, and a long step could not be counted.
  return {first, static_cast<std::int64_t>(count), count > 1 ? axis.step : 1};
}

/// Rolls an axis by `start` places, so that the last ones come to the front.
IndexedAxis turned(const AxisIndex& axis, std::int64_t size) {
  if (size == 0) return {};
  const std::int64_t over = axis.start % size;
  const std::int64_t front = over < 0 ? over + size : over;
  if (axis.stop == 0) return {size - front, front};
  return {0, size - front};
}

}  // namespace

IndexedAxis indexed_axis(const AxisIndex& axis, std::int64_t size) {
  switch (axis.kind) {
    case AxisIndex::Kind::Slice:
      return slice_of(axis, size);
    case AxisIndex::Kind::Place:
      if (axis.start < -size || axis.start >= size)
        refuse_place(axis.start, size);
      return {axis.start < 0 ? axis.start + size : axis.start, 1};
    case AxisIndex::Kind::Only:
      if (size != 1)
        throw InvalidArgument(
            concat("squeeze: expected an axis of 1 element, got ", size));
      return {0, 1};
    case AxisIndex::Kind::Section:
      if (size % axis.stop != 0)
        throw InvalidArgument(concat("split: expected an axis whose length is ",
                                     "a multiple of ", axis.stop, ", got ",
                                     size));
      return {size / axis.stop * axis.start, size / axis.stop};
    case AxisIndex::Kind::Turned:
      return turned(axis, size);
    default:
      return {0, size};
  }
}

AxisIndex checked(const AxisIndex& axis) {
  if (axis.kind == AxisIndex::Kind::Section &&
      (axis.stop < 1 || axis.start < 0 || axis.start >= axis.stop))
    throw InvalidArgument(
        concat("split: expected 1 section or more, got ", axis.stop));
  if (axis.kind != AxisIndex::Kind::Slice) return axis;
  if (axis.step == 0)
    throw InvalidArgument("index: expected a slice whose step is not 0");
  const bool is_whole = (axis.start == 0 || axis.start == AxisIndex::kFirst) &&
                        axis.stop == AxisIndex::kLast && axis.step == 1;
  return is_whole ? AxisIndex{} : axis;
}

AxisIndex same_size(const AxisIndex& axis) {
  if (axis.kind == AxisIndex::Kind::Section)
    return {.kind = axis.kind, .start = 0, .stop = axis.stop};
  if (axis.kind != AxisIndex::Kind::Slice) return axis;
  const bool is_reverse = axis.step == -1 && axis.start == AxisIndex::kLast &&
                          axis.stop == AxisIndex::kFirst;
  if (is_reverse) return {};
  // Limits both ends, so that they can be counted.
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  const bool has_end =
      axis.stop == AxisIndex::kLast || (axis.stop < 0 && axis.stop > -kMost);
  if (axis.step != 1 || axis.start < 0 || axis.start > kMost || !has_end)
    return axis;
  const std::int64_t behind = axis.stop == AxisIndex::kLast ? 0 : -axis.stop;
  return {.kind = axis.kind, .start = axis.start + behind};
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t d = 0; d < shape.size(); ++d)
    text += (d == 0 ? "" : ", ") + std::to_string(shape[d]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace gpuos::program
