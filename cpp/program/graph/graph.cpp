#include "program/graph/graph.h"

#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"
#include "program/graph/call_shapes.h"

namespace gpuos::program {
// The greater of two zeros is the first one, so a maximum is not.
bool is_commutative(Op op) noexcept {
  switch (op) {
    case Op::Add:
    case Op::Multiply:
    case Op::Equal:
    case Op::NotEqual:
    case Op::BitwiseAnd:
    case Op::BitwiseOr:
    case Op::BitwiseXor:
      return true;
    default:
      return false;
  }
}

std::uint32_t Graph::add(const Node& node) {
  const auto [at, is_new] =
      known_.emplace(node, static_cast<std::uint32_t>(nodes.size()));
  if (is_new) nodes.push_back(node);
  return at->second;
}

std::uint32_t Graph::add_input(const ProgramArgument& input, InputSource source,
                               DimSet dims_of_input) {
  const auto index = static_cast<std::uint32_t>(inputs.size());
  inputs.push_back(input);
  sources.push_back(std::move(source));
  alike.push_back(index);
  dims.push_back(std::move(dims_of_input));
  return add({.op = Op::Input,
              .dtype = input.dtype,
              .rank = static_cast<std::uint8_t>(input.rank),
              .index = index});
}

bool Graph::has_alike_inputs() const noexcept {
  for (std::uint32_t i = 0; i < dims.size(); ++i)
    for (const Dim& dim : dims[i])
      if (dim.input != i) return true;
  return false;
}

Value Graph::value(std::uint32_t id) {
  if (call && call->is_strict) check_shape(*this, id);
  return {shared_from_this(), id};
}

DType weak_dtype(const gpuos::Scalar& number) noexcept {
  if (number.is_complex()) return DType::Complex128;
  return number.is_integer() ? DType::Int64 : DType::Float64;
}

std::uint32_t add_literal(Graph& graph, const gpuos::Scalar& number) {
  std::uint32_t index = 0;
  while (index < graph.scalars.size() &&
         !(graph.scalars[index].literal &&
           graph.scalars[index].literal->is_same(number)))
    ++index;
  if (index == graph.scalars.size())
    graph.scalars.push_back(
        {.kind = ScalarSource::Kind::Literal, .literal = number});
  return graph.add({.op = Op::Scalar,
                    .dtype = weak_dtype(number),
                    .is_weak = true,
                    .index = index});
}

std::uint32_t convert(Graph& graph, std::uint32_t value, DType dtype) {
  const Node node = graph.nodes[value];
  if (node.dtype == dtype && !node.is_weak) return value;
  Node converted = node;
  if (node.op != Op::Scalar || !node.is_weak) {
    converted = Node{.op = Op::Cast, .rank = node.rank};
    converted.operands[0] = value;
  }
  converted.dtype = dtype;
  converted.is_weak = false;
  return graph.add(converted);
}

}  // namespace gpuos::program

namespace gpuos {
namespace {

const program::Node& node_of(const Value& value) {
  if (value.graph() == nullptr)
    throw InvalidArgument(
        "Value: expected a value of a program that is being built, got an "
        "empty one");
  return value.graph()->nodes[value.id()];
}

}  // namespace

DType Value::dtype() const { return node_of(*this).dtype; }

int Value::rank() const { return node_of(*this).rank; }

bool Value::is_weak() const { return node_of(*this).is_weak; }

}  // namespace gpuos
