#include "program/graph/call_shapes.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"
#include "program/graph/index_axis.h"
#include "program/graph/plan.h"
#include "program/graph/sizes.h"

namespace gpuos::program {
namespace {

/// In larger graphs a node would take too long.
constexpr std::size_t kMostChecked = 4096;

bool do_broadcast(const Shape& a, const Shape& b) {
  for (std::size_t d = 1; d <= std::min(a.size(), b.size()); ++d) {
    const std::int64_t one = a[a.size() - d];
    const std::int64_t other = b[b.size() - d];
    if (one != other && one != 1 && other != 1) return false;
  }
  return true;
}

/// Returns the operand of a cast, or the node itself if it is no cast. A cast
/// belongs to the operation that uses it.
std::uint32_t without_cast(const Graph& graph, std::uint32_t node) {
  const Node& cast = graph.nodes[node];
  return cast.op == Op::Cast ? cast.operands[0] : node;
}

void check_operands(const Graph& graph, const Node& node) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < operand_count(node); ++i)
    shapes.push_back(shape_of(graph, without_cast(graph, node.operands[i])));
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (!do_broadcast(shapes[k], shapes[i]))
        throw InvalidArgument(concat(
            info_of(node.op).name, ": expected shapes that broadcast, got ",
            shape_text(shapes[k]), " and ", shape_text(shapes[i])));
}

void check_has_elements(const Graph& graph, const Node& node) {
  if (node.may_be_empty || node.op == Op::Sum || node.op == Op::Prod) return;
  const Shape shape = shape_of(graph, node.operands[0]);
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (node.reduces(d) && shape[d] == 0)
      throw InvalidArgument(concat(info_of(node.op).name,
                                   ": expected at least 1 element, got 0"));
}

/// Returns the nodes that a node is computed of, and itself.
std::vector<std::uint32_t> ancestors_of(const Graph& graph,
                                        std::uint32_t last) {
  std::vector<bool> is_used(last + 1);
  is_used[last] = true;
  std::vector<std::uint32_t> found;
  for (std::uint32_t id = last + 1; id-- > 0;) {
    if (!is_used[id]) continue;
    found.push_back(id);
    const Node& node = graph.nodes[id];
    for (std::size_t i = 0; i < operand_count(node); ++i)
      is_used[node.operands[i]] = true;
  }
  return found;
}

bool reads_arrays(const Node& node) {
  return node.op == Op::Input || node.op == Op::Extent || node.op == Op::Join;
}

}  // namespace

Shape shape_of(const Graph& graph, std::uint32_t node) {
  const Dimensions dims(graph);
  Plan plan;
  add_arguments(plan, graph);
  // Only its own: others may be what does not fit.
  std::vector<SetId>& made = plan.result_dims.emplace_back();
  for (const SetId set : dims.of(node)) {
    made.push_back(static_cast<SetId>(plan.sets.size()));
    plan.sets.push_back(dims.sets()[set]);
  }
  // Inputs to come are known already.
  const std::span<const Shape> known = graph.call->inputs;
  const std::size_t count = plan.arguments.size();
  return result_shapes(plan, known.first(std::min(count, known.size())))[0];
}

Shape told_shape(Graph& graph, std::uint32_t node) {
  if (!graph.call)
    throw InvalidArgument(
        "shape: expected a builder that has shapes, got one without; call "
        "set_shapes() first");
  graph.asked.shapes = true;
  return shape_of(graph, node);
}

void check_shape(const Graph& graph, std::uint32_t id) {
  if (graph.nodes.size() > kMostChecked) return;
  const Node& node = graph.nodes[id];
  if (node.op != Op::BroadcastTo) check_operands(graph, node);
  if (is_reduction(node)) check_has_elements(graph, node);
  shape_of(graph, id);
}

}  // namespace gpuos::program

namespace gpuos {

void ProgramBuilder::set_shapes(std::vector<Shape> inputs, bool is_strict) {
  graph_->call = program::CallShapes{std::move(inputs), is_strict};
}

Shape ProgramBuilder::shape_of(const Value& value) {
  return program::told_shape(*value.graph(), value.id());
}

bool ProgramBuilder::has_told_shapes() const { return graph_->asked.shapes; }

bool ProgramBuilder::ask_scalars(const Value& value) {
  program::Graph& graph = *value.graph();
  std::set<std::uint32_t> scalars;
  for (const std::uint32_t id : program::ancestors_of(graph, value.id())) {
    const program::Node& node = graph.nodes[id];
    if (program::reads_arrays(node)) return false;
    if (node.op != Op::Scalar) continue;
    const program::ScalarSource& source = graph.scalars[node.index];
    if (source.kind == program::ScalarSource::Kind::Argument)
      scalars.insert(source.argument);
  }
  if (scalars.empty()) return false;
  scalars.insert(graph.asked.scalars.begin(), graph.asked.scalars.end());
  graph.asked.scalars.assign(scalars.begin(), scalars.end());
  return true;
}

std::vector<std::uint32_t> ProgramBuilder::asked_scalars() const {
  return graph_->asked.scalars;
}

}  // namespace gpuos
