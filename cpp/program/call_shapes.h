#pragma once

#include <cstdint>

#include "program/graph.h"

namespace gpuos::program {

/// The shape of a node for the call's shapes. Throws: InvalidArgument.
Shape shape_of(const Graph& graph, std::uint32_t node);

/// Throws: InvalidArgument, naming the operation, if the call's shapes do not
/// fit the node, and do fit what it is computed of.
void check_shape(const Graph& graph, std::uint32_t node);

}  // namespace gpuos::program
