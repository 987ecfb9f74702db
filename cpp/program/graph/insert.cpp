#include <algorithm>
#include <vector>

#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/program.h"
#include "program/graph/graph.h"

namespace gpuos {
namespace {

using program::Graph;
using program::Node;
using program::ScalarSource;

void check_inputs(const Graph& from, std::span<const Value> inputs) {
  if (!from.joins.empty() || from.arguments != from.inputs.size())
    throw InvalidArgument(
        "insert: expected a value that is made without slices, other views of "
        "inputs and concatenate()");
  const auto is_like = [](const ProgramArgument& wanted, const Value& given) {
    return wanted == ProgramArgument{given.dtype(), given.rank()};
  };
  if (!std::ranges::equal(from.inputs, inputs, is_like))
    throw InvalidArgument(concat("insert: expected ", from.inputs.size(),
                                 " values of the dtypes and ranks that the "
                                 "other builder's inputs have, got ",
                                 inputs.size()));
}

/// Returns the place of each scalar of `from` among those of `to`.
std::vector<std::uint32_t> add_scalars(Graph& to, const Graph& from) {
  std::vector<std::uint32_t> places;
  for (ScalarSource source : from.scalars) {
    if (source.kind == ScalarSource::Kind::Literal) {
      places.push_back(
          to.nodes[program::add_literal(to, *source.literal)].index);
      continue;
    }
    source.argument += to.scalar_arguments;
    to.scalars.push_back(source);
    places.push_back(static_cast<std::uint32_t>(to.scalars.size() - 1));
  }
  to.scalar_arguments += from.scalar_arguments;
  return places;
}

}  // namespace

Value ProgramBuilder::insert(const Value& made, std::span<const Value> inputs) {
  if (made.graph() == nullptr || made.graph() == graph_)
    throw InvalidArgument("insert: expected a value of another builder");
  const Graph& from = *made.graph();
  check_inputs(from, inputs);
  for (const Value& input : inputs) {
    if (input.graph() != graph_)
      throw InvalidArgument("insert: expected inputs of this builder");
  }
  const std::vector<std::uint32_t> scalars = add_scalars(*graph_, from);
  std::vector<std::uint32_t> ids;  // of this graph, for each node of the other
  for (std::uint32_t id = 0; id <= made.id(); ++id) {
    Node node = from.nodes[id];
    if (node.op == Op::Input) {
      ids.push_back(inputs[node.index].id());
      continue;
    }
    if (node.op == Op::Scalar) node.index = scalars[node.index];
    const std::size_t likes = node.op == Op::BroadcastTo ? 1 : 0;
    for (std::size_t i = 0; i < info_of(node.op).operands + likes; ++i)
      node.operands[i] = ids[node.operands[i]];
    if (program::is_commutative(node.op) && node.operands[1] < node.operands[0])
      std::swap(node.operands[0], node.operands[1]);
    ids.push_back(graph_->add(node));
  }
  return graph_->value(ids.back());
}

}  // namespace gpuos
