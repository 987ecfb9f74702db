#pragma once

#include <cstdint>
#include <span>

#include "gpuos/program.h"
#include "program/graph.h"

namespace gpuos::program {

/// What `axes`, one for each dimension, keeps of a node.
std::uint32_t index_node(Graph& graph, std::uint32_t id,
                         std::span<const AxisIndex> axes);

}  // namespace gpuos::program
