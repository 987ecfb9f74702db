#include "program/views.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"
#include "program/dimensions.h"

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

}  // namespace gpuos::program
