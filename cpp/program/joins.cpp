#include "program/joins.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/program.h"
#include "program/axes.h"
#include "program/index_views.h"
#include "program/promotion.h"
#include "program/views.h"

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
  const auto count = static_cast<std::uint32_t>(found->parts.size());
  const auto dim = dim_along(graph, id, joined);
  if (!dim)
    throw InvalidArgument(
        "concatenate: expected results along the axis of what is joined");
  for (std::uint32_t i = 0; i < count; ++i) {
    ResultPiece part = piece;
    part.parts.push_back({*dim, joined, i});
    std::vector<AxisIndex> axes(graph.nodes[id].rank);
    axes[*dim] = {.kind = AxisIndex::Kind::Part, .start = i, .stop = joined};
    take_apart(graph, index_node(graph, id, axes), part);
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

void check_not_joined(Graph& graph, std::uint32_t id, std::uint8_t dims,
                      std::string_view what) {
  if (graph.joins.empty()) return;
  const std::vector<DimSet> all = dims_of(graph, id);
  for (std::size_t d = 0; d < all.size(); ++d)
    for (const Dim& dim : all[d])
      if ((dims >> d & 1) != 0 &&
          graph.sources[dim.input].kind == InputSource::Kind::Joined)
        throw InvalidArgument(
            concat(what, ": expected no axis along which values are joined, ",
                   "got axis ", d, "; take the parts instead"));
}

Graph taken_apart(const Graph& graph) {
  Graph apart = graph;
  apart.dimensions = nullptr;  // those of the other graph
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
    const auto both = program::promote(dtype, value.dtype());
    if (!both)
      throw InvalidArgument(concat("concatenate: expected dtypes that fit ",
                                   "complex64, got ", name_of(dtype), " and ",
                                   name_of(value.dtype())));
    dtype = *both;
  }
  std::vector<std::uint32_t> parts;
  for (const Value& value : values)
    parts.push_back(program::convert(graph, value.id(), dtype));
  if (parts.size() == 1) return graph.value(parts[0]);
  return graph.value(program::add_join(graph, std::move(parts),
                                       static_cast<std::uint32_t>(place)));
}

}  // namespace gpuos
