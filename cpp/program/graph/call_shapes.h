#pragma once

#include <cstdint>

#include "program/graph/graph.h"

namespace gpuos::program {

/// The shape of a node for the call's shapes. Throws: InvalidArgument.
Shape shape_of(const Graph& graph, std::uint32_t node);

/// Returns the shape and makes the graph depend on it, so that it is right for
/// no other shapes. Throws: InvalidArgument for a graph of all calls, too.
Shape told_shape(Graph& graph, std::uint32_t node);

/// Checks the call's shapes at a node. Throws: InvalidArgument, which names the
/// operation, if they do not fit the node but fit its operands.
void check_shape(const Graph& graph, std::uint32_t node);

}  // namespace gpuos::program
