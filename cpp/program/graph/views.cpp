#include "program/graph/views.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/program.h"
#include "program/graph/dimensions.h"
#include "program/graph/graph.h"
#include "program/graph/index_axis.h"

namespace gpuos::program {

Graph& graph_of(const Value& value, const char* name) {
  if (value.graph() == nullptr)
    throw InvalidArgument(
        concat(name, ": expected a value of a program, got an empty one"));
  return *value.graph();
}

std::vector<DimSet> dims_of(Graph& graph, std::uint32_t id) {
  if (graph.dimensions == nullptr)
    graph.dimensions = std::make_shared<Dimensions>(graph);
  graph.dimensions->add_new(graph);
  std::vector<DimSet> sets;
  for (const SetId set : graph.dimensions->of(id))
    sets.push_back(graph.dimensions->sets()[set]);
  return sets;
}

std::uint32_t find_or_add(Graph& graph, const ProgramArgument& input,
                          const InputSource& source, const DimSet& dims) {
  const auto at = std::ranges::find(graph.sources, source);
  if (at == graph.sources.end()) return graph.add_input(input, source, dims);
  return graph.add(
      {.op = Op::Input,
       .dtype = input.dtype,
       .rank = static_cast<std::uint8_t>(input.rank),
       .index = static_cast<std::uint32_t>(at - graph.sources.begin())});
}

std::uint32_t add_shape(Graph& graph, std::span<const std::int64_t> shape,
                        std::vector<DimSet> whole) {
  const auto number = static_cast<std::uint32_t>(graph.inputs.size());
  DimSet own;
  for (std::uint32_t d = 0; d < shape.size(); ++d) own.push_back({number, d});
  return find_or_add(graph, {DType::Bool, static_cast<int>(shape.size())},
                     {.kind = InputSource::Kind::Shape,
                      .whole = std::move(whole),
                      .shape = {shape.begin(), shape.end()}},
                     own);
}

std::size_t shaping_operands(const Node& node) {
  return operand_count(node) + (node.op == Op::BroadcastTo ? 1 : 0);
}

std::uint32_t add_ordered(Graph& graph, Node node) {
  if (is_commutative(node.op) && node.operands[1] < node.operands[0])
    std::swap(node.operands[0], node.operands[1]);
  return graph.add(node);
}

namespace {

// Gives values of one graph another shape. Moves changes of shape from computed
// values to the inputs.
class Reshaping {
 public:
  Reshaping(Graph& graph, std::span<const std::int64_t> shape,
            std::vector<DimSet> whole)
      : graph_(graph),
        shape_(shape.begin(), shape.end()),
        whole_(std::move(whole)) {}

  /// Dimension d of the value is dimension `dims[d]` of this node, or none.
  std::uint32_t of(std::uint32_t id, const DimMap& dims) {
    const std::pair key(id, dims);
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
    const std::uint32_t made = make(id, dims);
    known_.emplace(key, made);
    return made;
  }

 private:
  std::uint32_t make(std::uint32_t id, const DimMap& dims) {
    Node node = graph_.nodes[id];
    if (node.rank == 0) return id;  // broadcast to any shape
    if (node.op == Op::Input) return of_input(node, dims);
    if (node.op == Op::Join)
      throw InvalidArgument(
          "reshape: expected no joined value, got a result of concatenate; "
          "reshape the results of the call, or the parts");
    if (is_reduction(node))
      throw InvalidArgument(
          concat("reshape: expected no value of a reduction, got one of ",
                 info_of(node.op).name,
                 "; reshape the results of the call, or what is reduced"));
    if (node.op == Op::View) {
      DimMap inside{};
      for (std::size_t d = 0; d < whole_.size(); ++d)
        inside[d] = dims[d] == kNewDim ? kNewDim : node.dims[dims[d]];
      return of(node.operands[0], inside);
    }
    for (std::size_t k = 0; k < shaping_operands(node); ++k) {
      const std::uint32_t operand = node.operands[k];
      const int shift = node.rank - graph_.nodes[operand].rank;
      DimMap inside{};
      for (std::size_t d = 0; d < whole_.size(); ++d)
        inside[d] = dims[d] == kNewDim || dims[d] < shift
                        ? kNewDim
                        : static_cast<std::uint8_t>(dims[d] - shift);
      node.operands[k] = of(operand, inside);
    }
    node.rank = 0;
    for (std::size_t k = 0; k < shaping_operands(node); ++k)
      node.rank = std::max(node.rank, graph_.nodes[node.operands[k]].rank);
    return add_ordered(graph_, node);
  }

  std::uint32_t of_input(const Node& node, const DimMap& dims) {
    const auto number = static_cast<std::uint32_t>(graph_.inputs.size());
    DimSet own;
    for (std::uint32_t d = 0; d < shape_.size(); ++d)
      own.push_back({number, d});
    return find_or_add(graph_, {node.dtype, static_cast<int>(shape_.size())},
                       {.kind = InputSource::Kind::Reshape,
                        .from = node.index,
                        .dims = dims,
                        .whole = whole_,
                        .shape = shape_},
                       own);
  }

  Graph& graph_;
  const Shape shape_;
  const std::vector<DimSet> whole_;
  std::map<std::pair<std::uint32_t, DimMap>, std::uint32_t> known_;
};

void check_new_shape(std::span<const std::int64_t> shape, const char* name,
                     bool may_have_open) {
  if (shape.size() > kMaxDims)
    throw InvalidArgument(concat(name, ": expected at most ", kMaxDims,
                                 " dimensions, got ", shape.size()));
  bool has_open = false;
  for (const std::int64_t extent : shape) {
    if (extent >= 0) continue;
    if (extent != -1 || !may_have_open || std::exchange(has_open, true))
      throw InvalidArgument(
          concat(name, ": expected sizes of 0 or more",
                 may_have_open ? " and at most one of -1" : "", ", got ",
                 shape_text(shape)));
  }
}

}  // namespace
}  // namespace gpuos::program

namespace gpuos {

using program::DimSet;
using program::Graph;

Value ProgramBuilder::reshape(const Value& value,
                              std::span<const std::int64_t> shape) {
  Graph& graph = program::graph_of(value, "reshape");
  program::check_new_shape(shape, "reshape", true);
  std::vector<DimSet> whole = program::dims_of(graph, value.id());
  program::DimMap dims{};
  std::iota(dims.begin(), dims.begin() + value.rank(), std::uint8_t{0});
  Value made = graph.value(
      program::Reshaping(graph, shape, std::move(whole)).of(value.id(), dims));
  if (made.rank() == static_cast<int>(shape.size())) return made;
  // One number, which is the same under any shape of one element.
  for (const std::int64_t extent : shape)
    if (extent != 1 && extent != -1)
      throw InvalidArgument(concat("reshape: expected a shape of 1 element, ",
                                   "got ", program::shape_text(shape)));
  return view(made, std::vector(shape.size(), -1));
}

Value ProgramBuilder::broadcast_to(const Value& value,
                                   std::span<const std::int64_t> shape) {
  Graph& graph = program::graph_of(value, "broadcast_to");
  program::check_new_shape(shape, "broadcast_to", false);
  if (shape.size() < static_cast<std::size_t>(value.rank()))
    throw InvalidArgument(concat("broadcast_to: expected at least ",
                                 value.rank(), " dimensions, got ",
                                 program::shape_text(shape)));
  const std::uint32_t like =
      program::add_shape(graph, shape, program::dims_of(graph, value.id()));
  return broadcast_to(value, graph.value(like));
}

}  // namespace gpuos
