#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpuos/program.h"
#include "program/graph/graph.h"
#include "program/graph/input_source.h"

namespace gpuos::program {

// Views of computed values consist of the same nodes with other inputs.

/// Throws: InvalidArgument for an empty value.
Graph& graph_of(const Value& value, const char* name);

/// The dimensions of a value.
std::vector<DimSet> dims_of(Graph& graph, std::uint32_t id);

/// Returns the input that comes from there if it is known, otherwise a new one.
std::uint32_t find_or_add(Graph& graph, const ProgramArgument& input,
                          const InputSource& source, const DimSet& dims);

/// Adds a value of this shape whose elements are never read. `whole` has the
/// dimensions that are broadcast to it, aligned at the last one.
std::uint32_t add_shape(Graph& graph, std::span<const std::int64_t> shape,
                        std::vector<DimSet> whole);

/// Operands that decide the shape. BroadcastTo reads nothing of its second one.
std::size_t shaping_operands(const Node& node);

/// The node, with operands in the order in which equal ones have them.
std::uint32_t add_ordered(Graph& graph, Node node);

/// Indexes a node by `axes`, one for each dimension.
std::uint32_t index_node(Graph& graph, std::uint32_t id,
                         std::span<const AxisIndex> axes);

}  // namespace gpuos::program
