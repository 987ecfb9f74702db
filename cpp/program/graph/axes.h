#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace gpuos::program {

/// Returns the index of `axis` among `rank` axes. A negative `axis` counts from
/// the end.
/// Throws: InvalidArgument, naming `where`, if there is no such axis.
int place_of(int axis, int rank, std::string_view where);

/// Returns the places of several axes. Throws: InvalidArgument also if an axis
/// comes twice.
std::vector<int> places_of(std::span<const int> axes, int rank,
                           std::string_view where);

}  // namespace gpuos::program
