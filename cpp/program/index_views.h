#pragma once

#include <cstdint>
#include <span>

#include "gpuos/program.h"
#include "program/graph.h"

namespace gpuos::program {

/// Indexes a node by `axes`, one for each dimension.
std::uint32_t index_node(Graph& graph, std::uint32_t id,
                         std::span<const AxisIndex> axes);

}  // namespace gpuos::program
