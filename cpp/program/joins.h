#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "program/graph.h"

namespace gpuos::program {

/// A node of parts behind each other, of one dtype and rank.
std::uint32_t add_join(Graph& graph, std::vector<std::uint32_t> parts,
                       std::uint32_t axis);

/// Throws: InvalidArgument, naming `what`, if values were joined along one of
/// the dimensions of `id` that have a bit in `dims`.
void check_not_joined(Graph& graph, std::uint32_t id, std::uint8_t dims,
                      std::string_view what);

/// The graph with outputs for each part of what is joined.
/// Throws: InvalidArgument if parts of one do not go with those of another.
Graph taken_apart(const Graph& graph);

}  // namespace gpuos::program
