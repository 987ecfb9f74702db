#include <vector>

#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/program_reductions.h"
#include "program/axes.h"

namespace gpuos {
namespace {

/// `axis` for each of `axes`, all of the others.
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
