#include "program/graph/joins.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/program.h"
#include "program/graph/axes.h"
#include "program/graph/call_shapes.h"
#include "program/graph/index_axis.h"
#include "program/graph/typing.h"
#include "program/graph/views.h"

namespace gpuos::program {
namespace {

/// The first node of joined values that `id` is computed of.
class Search {
 public:
  explicit Search(const Graph& graph)
      : graph_(graph), seen_(graph.nodes.size()) {}

  const Join* find(std::uint32_t id) {
    if (seen_[id]) return nullptr;
    seen_[id] = true;
    const Node& node = graph_.nodes[id];
    if (node.op == Op::Join) return &graph_.joins[node.index];
    for (std::size_t k = 0; k < shaping_operands(node); ++k)
      if (const Join* found = find(node.operands[k])) return found;
    return nullptr;
  }

 private:
  const Graph& graph_;
  std::vector<bool> seen_;
};

std::optional<std::uint32_t> dim_along(Graph& graph, std::uint32_t id,
                                       std::uint32_t joined) {
  const std::vector<DimSet> dims = dims_of(graph, id);
  for (std::uint32_t d = 0; d < dims.size(); ++d)
    if (std::ranges::find(dims[d], Dim{joined, 0}) != dims[d].end()) return d;
  return {};
}

void take_apart(Graph& graph, std::uint32_t id, const ResultPiece& piece) {
  const Join* const found = Search(graph).find(id);
  if (found == nullptr) {
    graph.outputs.push_back(id);
    graph.pieces.push_back(piece);
    return;
  }
  const std::uint32_t joined = found->input;
  const auto dim = dim_along(graph, id, joined);
  if (!dim)
    throw InvalidArgument(
        "concatenate: expected results that have the joined axis");
  std::uint32_t number = 0;
  for (const std::uint32_t one : parts_along(graph, id, {*dim, joined})) {
    ResultPiece part = piece;
    part.parts.push_back({*dim, joined, number++});
    take_apart(graph, one, part);
  }
}

}  // namespace

std::uint32_t add_join(Graph& graph, std::vector<std::uint32_t> parts,
                       std::uint32_t axis) {
  InputSource source{.kind = InputSource::Kind::Joined,
                     .from = axis,
                     .shape = {static_cast<std::int64_t>(parts.size())}};
  for (const std::uint32_t part : parts)
    for (DimSet& dims : dims_of(graph, part))
      source.whole.push_back(std::move(dims));
  const auto number = static_cast<std::uint32_t>(graph.inputs.size());
  const std::uint32_t length =
      find_or_add(graph, {DType::Bool, 1}, source, {{number, 0}});
  Node node{.op = Op::Join,
            .dtype = graph.nodes[parts[0]].dtype,
            .rank = graph.nodes[parts[0]].rank,
            .index = static_cast<std::uint32_t>(graph.joins.size())};
  graph.joins.push_back({graph.nodes[length].index, axis, std::move(parts)});
  return graph.add(node);
}

std::uint32_t index_parts(Graph& graph, const std::vector<std::uint32_t>& parts,
                          std::uint32_t dim, const AxisIndex& axis) {
  std::vector<std::int64_t> begins{0};
  for (const std::uint32_t part : parts)
    begins.push_back(begins.back() + told_shape(graph, part)[dim]);
  const auto of_part = [&](std::size_t i, const AxisIndex& index) {
    std::vector<AxisIndex> axes(graph.nodes[parts[i]].rank);
    axes[dim] = index;
    return index_node(graph, parts[i], axes);
  };
  const IndexedAxis taken = indexed_axis(axis, begins.back());
  if (!axis.keeps_axis()) {
    std::size_t i = 0;
    while (begins[i + 1] <= taken.first) ++i;
    return of_part(
        i, {.kind = AxisIndex::Kind::Place, .start = taken.first - begins[i]});
  }
  // Visits each run of positions inside one part.
  std::vector<std::uint32_t> made;
  std::int64_t place = taken.first;
  for (std::int64_t left = taken.size; left > 0;) {
    const auto after = std::ranges::upper_bound(begins, place);
    const auto i = static_cast<std::size_t>(after - begins.begin()) - 1;
    const std::int64_t room =
        taken.step > 0 ? begins[i + 1] - 1 - place : place - begins[i];
    const std::int64_t count = std::min(left, room / std::abs(taken.step) + 1);
    const std::int64_t stop = place - begins[i] + count * taken.step;
    made.push_back(
        of_part(i, checked({.kind = AxisIndex::Kind::Slice,
                            .start = place - begins[i],
                            .stop = stop < 0 ? AxisIndex::kFirst : stop,
                            .step = taken.step})));
    place += count * taken.step;
    left -= count;
  }
  if (made.empty())
    return of_part(0, {.kind = AxisIndex::Kind::Slice, .start = 0, .stop = 0});
  return made.size() == 1 ? made[0] : add_join(graph, std::move(made), dim);
}

std::optional<JoinedDim> find_joined(Graph& graph, std::uint32_t id,
                                     std::uint8_t dims) {
  if (graph.joins.empty()) return {};
  const std::vector<DimSet> all = dims_of(graph, id);
  for (std::uint32_t d = 0; d < all.size(); ++d)
    for (const Dim& dim : all[d])
      if ((dims >> d & 1) != 0 &&
          graph.sources[dim.input].kind == InputSource::Kind::Joined)
        return JoinedDim{d, dim.input};
  return {};
}

std::vector<std::uint32_t> parts_along(Graph& graph, std::uint32_t id,
                                       const JoinedDim& along) {
  const std::int64_t count = graph.sources[along.joined].shape[0];
  std::vector<std::uint32_t> parts;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<AxisIndex> axes(graph.nodes[id].rank);
    axes[along.dim] = {
        .kind = AxisIndex::Kind::Part, .start = i, .stop = along.joined};
    parts.push_back(index_node(graph, id, axes));
  }
  return parts;
}

Graph taken_apart(const Graph& graph) {
  Graph apart = graph;
  apart.dimensions = nullptr;  // they belong to the other graph
  apart.outputs.clear();
  for (std::uint32_t i = 0; i < graph.outputs.size(); ++i)
    take_apart(apart, graph.outputs[i], {.result = i, .parts = {}});
  return apart;
}

}  // namespace gpuos::program

namespace gpuos {

Value ProgramBuilder::concatenate(std::span<const Value> values, int axis) {
  if (values.empty())
    throw InvalidArgument("concatenate: expected at least 1 value, got 0");
  program::Graph& graph = program::graph_of(values[0], "concatenate");
  const int rank = values[0].rank();
  const int place = program::place_of(axis, rank, "concatenate");
  DType dtype = values[0].dtype();
  for (const Value& value : values) {
    if (value.graph().get() != &graph)
      throw InvalidArgument("concatenate: expected values of one program");
    if (value.rank() != rank)
      throw InvalidArgument(concat("concatenate: expected values of ", rank,
                                   " axes, got one of ", value.rank()));
    dtype = program::promote(dtype, value.dtype());
  }
  std::vector<std::uint32_t> parts;
  for (const Value& value : values)
    parts.push_back(program::convert(graph, value.id(), dtype));
  if (parts.size() == 1) return graph.value(parts[0]);
  return graph.value(program::add_join(graph, std::move(parts),
                                       static_cast<std::uint32_t>(place)));
}

}  // namespace gpuos
