#include <algorithm>
#include <array>

#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/program.h"
#include "program/graph/axes.h"
#include "program/graph/graph.h"
#include "program/graph/joins.h"
#include "program/graph/typing.h"

namespace gpuos {
namespace {

using program::Graph;
using program::Node;

Graph& graph_of(const Value& value) {
  if (value.graph() == nullptr)
    throw InvalidArgument(
        "ProgramBuilder: expected a value of this builder, got an empty one");
  return *value.graph();
}

// The result's dimensions are the operands', aligned at the last.
std::uint8_t broadcast_rank(std::span<const Node> operands) {
  std::uint8_t rank = 0;
  for (const Node& node : operands) rank = std::max(rank, node.rank);
  return rank;
}

// A bit for each of `axes`.
std::uint8_t mask_of(Op op, int rank,
                     const std::optional<std::vector<int>>& axes) {
  if (!axes) return static_cast<std::uint8_t>((1u << rank) - 1);
  std::uint8_t mask = 0;
  for (const int place : program::places_of(*axes, rank, info_of(op).name))
    mask = static_cast<std::uint8_t>(mask | 1u << place);
  return mask;
}

std::uint32_t add_scalar(Graph& graph, const program::ScalarSource& source,
                         DType dtype, bool is_weak) {
  graph.scalars.push_back(source);
  return graph.add(
      {.op = Op::Scalar,
       .dtype = dtype,
       .is_weak = is_weak,
       .index = static_cast<std::uint32_t>(graph.scalars.size() - 1)});
}

/// `alike` is the first input of the same shape. If empty, the input is its
/// own.
Value add_argument(Graph& graph, DType dtype, int rank,
                   std::optional<std::uint32_t> alike) {
  const auto index = static_cast<std::uint32_t>(graph.inputs.size());
  program::DimSet dims;
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(rank); ++d)
    dims.push_back({alike.value_or(index), d});
  const std::uint32_t node = graph.add_input(
      {dtype, rank}, {.from = graph.arguments++}, std::move(dims));
  graph.alike[index] = alike.value_or(index);
  return graph.value(node);
}

}  // namespace

ProgramBuilder::ProgramBuilder() : graph_(std::make_shared<Graph>()) {}

Value ProgramBuilder::input(DType dtype, int rank) {
  if (rank < 0 || rank > kMaxDims)
    throw InvalidArgument(
        concat("input: expected a rank of 0 to ", kMaxDims, ", got ", rank));
  return add_argument(*graph_, dtype, rank, {});
}

Value ProgramBuilder::input_like(const Value& other, DType dtype) {
  if (&graph_of(other) != graph_.get() ||
      graph_->nodes[other.id()].op != Op::Input)
    throw InvalidArgument("input_like: expected an input of this builder");
  const Node node = graph_->nodes[other.id()];
  if (graph_->sources[node.index].kind != program::InputSource::Kind::Argument)
    throw InvalidArgument(
        "input_like: expected an input of a call, got a view");
  return add_argument(*graph_, dtype, node.rank, graph_->alike[node.index]);
}

Value ProgramBuilder::scalar(DType dtype) {
  return graph_->value(add_scalar(
      *graph_, {.argument = graph_->scalar_arguments++}, dtype, false));
}

Value ProgramBuilder::number(const Scalar& like) {
  return graph_->value(add_scalar(*graph_,
                                  {.argument = graph_->scalar_arguments++},
                                  program::weak_dtype(like), true));
}

Value ProgramBuilder::literal(const Scalar& value) {
  return graph_->value(program::add_literal(*graph_, value));
}

Value ProgramBuilder::apply(Op op, std::span<const Value> operands) {
  const OpInfo& info = info_of(op);
  if (info.rule == OpRule::Leaf || info.rule == OpRule::Reduction ||
      operands.size() != info.operands)
    throw InvalidArgument(concat("apply: ", info.name, ": expected ",
                                 info.operands, " operands, got ",
                                 operands.size()));
  Graph& graph = graph_of(operands[0]);
  std::array<Node, 3> nodes;
  Node node{.op = op};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (&graph_of(operands[i]) != &graph)
      throw InvalidArgument(concat(
          info.name, ": expected operands of one program, got those of two"));
    nodes[i] = graph.nodes[operands[i].id()];
  }
  const std::span known(nodes.data(), operands.size());
  const program::Typing type = program::type_of(op, known);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool is_condition = info.rule == OpRule::Select && i == 0;
    node.operands[i] = program::convert(
        graph, operands[i].id(), is_condition ? DType::Bool : type.operands);
  }
  if (program::is_commutative(op) && node.operands[1] < node.operands[0])
    std::swap(node.operands[0], node.operands[1]);
  node.dtype = type.result;
  node.is_weak = type.is_weak;
  node.rank = broadcast_rank(known);
  return graph.value(graph.add(node));
}

namespace {

// Reduces each joined part, and then the results of the parts.
Value reduce_parts(Op op, const Value& value, const program::JoinedDim& along,
                   const std::optional<std::vector<int>>& axes, bool keepdims) {
  const auto both = [&] {
    switch (op) {
      case Op::Sum:
        return Op::Add;
      case Op::Prod:
        return Op::Multiply;
      case Op::Max:
        return Op::Maximum;
      case Op::Min:
        return Op::Minimum;
      default:
        throw InvalidArgument(
            concat(info_of(op).name, ": expected no axis along which values ",
                   "are joined, got axis ", along.dim,
                   "; give what is joined to the function as an argument"));
    }
  }();
  return program::in_single(value, [&](const Value& x) {
    Graph& graph = graph_of(x);
    std::optional<Value> made;
    for (const std::uint32_t part :
         program::parts_along(graph, x.id(), along)) {
      // Some are empty: a roll by all places has one such part.
      const Value one =
          ProgramBuilder::reduce(op, graph.value(part), axes, keepdims, true);
      made = made ? ProgramBuilder::apply(both, std::array{*made, one}) : one;
    }
    return *made;
  });
}

}  // namespace

Value ProgramBuilder::reduce(Op op, const Value& value,
                             std::optional<std::vector<int>> axes,
                             bool keepdims, bool may_be_empty) {
  Graph& graph = graph_of(value);
  const Node operand = graph.nodes[value.id()];
  if (info_of(op).rule != OpRule::Reduction)
    throw InvalidArgument(
        concat("reduce: expected a reduction, got ", info_of(op).name));
  const std::uint8_t mask = mask_of(op, operand.rank, axes);
  const bool is_place = op == Op::Argmax || op == Op::Argmin;
  if (is_place && axes && axes->size() != 1)
    throw InvalidArgument(concat(
        info_of(op).name, ": expected one axis or none, got ", axes->size()));
  if (const auto along = program::find_joined(graph, value.id(), mask))
    return reduce_parts(op, value, *along, axes, keepdims);
  const program::Typing type = program::reduction_type_of(op, operand.dtype);
  Node node{.op = op,
            .dtype = type.result,
            .keepdims = keepdims,
            .may_be_empty = may_be_empty};
  node.axes = mask;
  node.operands[0] = program::convert(graph, value.id(), type.operands);
  int kept = 0;
  for (int d = 0; d < operand.rank; ++d) kept += (mask >> d & 1) == 0;
  node.rank = keepdims ? operand.rank : static_cast<std::uint8_t>(kept);
  return graph.value(graph.add(node));
}

Value ProgramBuilder::cast(const Value& value, DType dtype) {
  Graph& graph = graph_of(value);
  if (is_complex(value.dtype()) && !is_complex(dtype))
    throw WrongType(concat("astype: expected a complex dtype for ",
                           name_of(value.dtype()), ", got ", name_of(dtype),
                           "; take real or absolute"));
  return graph.value(program::convert(graph, value.id(), dtype));
}

Value ProgramBuilder::view(const Value& value, std::span<const int> dims) {
  Graph& graph = graph_of(value);
  const Node operand = graph.nodes[value.id()];
  if (dims.size() > kMaxDims)
    throw InvalidArgument(concat("view: expected at most ", kMaxDims,
                                 " dimensions, got ", dims.size()));
  Node node{.op = Op::View,
            .dtype = operand.dtype,
            .is_weak = operand.is_weak,
            .rank = static_cast<std::uint8_t>(dims.size())};
  node.operands[0] = value.id();
  unsigned seen = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    node.dims[d] = program::kNewDim;
    if (dims[d] == -1) continue;
    if (dims[d] < 0 || dims[d] >= operand.rank || (seen >> dims[d] & 1) != 0)
      throw InvalidArgument(concat("view: expected each dimension of 0 to ",
                                   operand.rank - 1, " once, got ", dims[d]));
    seen |= 1u << dims[d];
    node.dims[d] = static_cast<std::uint8_t>(dims[d]);
  }
  if (seen != (1u << operand.rank) - 1)
    throw InvalidArgument(concat("view: expected all ", operand.rank,
                                 " dimensions of the operand"));
  return graph.value(graph.add(node));
}

Value ProgramBuilder::broadcast_to(const Value& value, const Value& like) {
  Graph& graph = graph_of(value);
  if (&graph_of(like) != &graph)
    throw InvalidArgument("broadcast_to: expected values of one program");
  const Node operand = graph.nodes[value.id()];
  return graph.value(
      graph.add({.op = Op::BroadcastTo,
                 .dtype = operand.dtype,
                 .is_weak = operand.is_weak,
                 .rank = std::max(operand.rank, graph.nodes[like.id()].rank),
                 .operands = {value.id(), like.id()}}));
}

Value ProgramBuilder::extent(const Value& value,
                             std::optional<std::vector<int>> axes) {
  Graph& graph = graph_of(value);
  Node node{.op = Op::Extent, .dtype = DType::Float64, .is_weak = true};
  node.axes = mask_of(Op::Extent, value.rank(), axes);
  node.operands[0] = value.id();
  return graph.value(graph.add(node));
}

void ProgramBuilder::output(const Value& value) {
  if (&graph_of(value) != graph_.get())
    throw InvalidArgument(
        "output: expected a value of this program, got one of another");
  graph_->outputs.push_back(
      program::convert(*graph_, value.id(), value.dtype()));
}

}  // namespace gpuos
