#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "program/graph/graph.h"

namespace gpuos::program {

/// Adds a node that concatenates parts of one dtype and rank.
std::uint32_t add_join(Graph& graph, std::vector<std::uint32_t> parts,
                       std::uint32_t axis);

/// Indexes joined parts along an axis. The parts have their lengths of this
/// call. The result is a part, or some of them joined. Throws: InvalidArgument
/// for a graph of all calls.
std::uint32_t index_parts(Graph& graph, const std::vector<std::uint32_t>& parts,
                          std::uint32_t dim, const AxisIndex& axis);

/// A dimension among `dims`, one bit each, along which `id` was joined.
struct JoinedDim {
  std::uint32_t dim = 0;
  std::uint32_t joined = 0;  // the input that is as long as all parts
};
std::optional<JoinedDim> find_joined(Graph& graph, std::uint32_t id,
                                     std::uint8_t dims);

/// The parts of `id` along a dimension that was joined.
std::vector<std::uint32_t> parts_along(Graph& graph, std::uint32_t id,
                                       const JoinedDim& along);

/// Returns the graph with an output for each joined part.
/// Throws: InvalidArgument if the parts of two joins do not match.
Graph taken_apart(const Graph& graph);

}  // namespace gpuos::program
