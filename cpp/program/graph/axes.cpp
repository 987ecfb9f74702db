#include "program/graph/axes.h"

#include <algorithm>
#include <vector>

#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/program_reductions.h"

namespace gpuos::program {

int place_of(int axis, int rank, std::string_view where) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  if (rank == 0)
    throw InvalidArgument(concat(
        where, ": expected no axis of a value without axes, got ", axis));
  throw InvalidArgument(concat(where, ": expected axes of ", -rank, " to ",
                               rank - 1, ", got ", axis));
}

std::vector<int> places_of(std::span<const int> axes, int rank,
                           std::string_view where) {
  std::vector<int> places;
  for (const int axis : axes) {
    const int place = place_of(axis, rank, where);
    if (std::ranges::find(places, place) != places.end())
      throw InvalidArgument(
          concat(where, ": expected each axis once, got ", axis, " twice"));
    places.push_back(place);
  }
  return places;
}

}  // namespace gpuos::program

namespace gpuos {
namespace {

/// Returns `x` with the index `axis` along `places`, and whole along the
/// others.
Value index_along(const Value& x, const std::vector<int>& places,
                  const AxisIndex& axis) {
  std::vector<AxisIndex> all(static_cast<std::size_t>(x.rank()));
  for (const int place : places) all[static_cast<std::size_t>(place)] = axis;
  return ProgramBuilder::index(x, all);
}

}  // namespace

Value squeeze(const Value& x, const std::vector<int>& axes) {
  return index_along(x, program::places_of(axes, x.rank(), "squeeze"),
                     {.kind = AxisIndex::Kind::Only});
}

Value flip(const Value& x, const Axes& axes) {
  const AxisIndex reverse{.kind = AxisIndex::Kind::Slice,
                          .start = AxisIndex::kLast,
                          .stop = AxisIndex::kFirst,
                          .step = -1};
  if (axes)
    return index_along(x, program::places_of(*axes, x.rank(), "flip"), reverse);
  const auto rank = static_cast<std::size_t>(x.rank());
  return ProgramBuilder::index(x, std::vector(rank, reverse));
}

// Far more than a program has views.
constexpr int kMostSections = 4096;

std::vector<Value> split(const Value& x, int sections, int axis) {
  if (sections < 1 || sections > kMostSections)
    throw InvalidArgument(concat("split: expected 1 to ", kMostSections,
                                 " sections, got ", sections));
  const int place = program::place_of(axis, x.rank(), "split");
  std::vector<Value> parts;
  for (int i = 0; i < sections; ++i)
    parts.push_back(index_along(
        x, {place},
        {.kind = AxisIndex::Kind::Section, .start = i, .stop = sections}));
  return parts;
}

Value roll(const Value& x, std::int64_t shift, int axis) {
  const int place = program::place_of(axis, x.rank(), "roll");
  std::vector<Value> parts;
  for (const std::int64_t part : {0, 1})
    parts.push_back(index_along(
        x, {place},
        {.kind = AxisIndex::Kind::Turned, .start = shift, .stop = part}));
  return ProgramBuilder::concatenate(parts, place);
}

}  // namespace gpuos
