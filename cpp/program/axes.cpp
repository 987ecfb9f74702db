#include "program/axes.h"

#include <algorithm>

#include "base/concat.h"
#include "gpuos/error.h"

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
