#include "program/passes/pass_builder.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <vector>

#include "gpuos/error.h"
#include "program/calls/task.h"

namespace gpuos::program {
namespace {

AxisMap no_axes() {
  AxisMap map;
  map.fill(kNoDim);
  return map;
}

/// The dimension that goes along each axis, of the axis of each dimension.
AxisMap dims_by_axis(const AxisMap& map, std::size_t rank) {
  AxisMap dims = no_axes();
  for (std::size_t d = 0; d < rank; ++d)
    if (map[d] != kNoDim)
      dims[static_cast<std::size_t>(map[d])] = static_cast<std::int8_t>(d);
  return dims;
}

/// Returns whether the reduction goes along a dimension that may be longer than
/// 1.
bool is_walked(const Node& reduction, std::span<const SetId> operand,
               std::size_t dim) {
  return reduction.reduces(dim) && operand[dim] != 0;
}

std::size_t operand_count(const Step& step) {
  if (step.kind == Step::Kind::Compute) return info_of(step.op).operands;
  const bool is_leaf =
      step.kind == Step::Kind::Load || step.kind == Step::Kind::Scalar;
  return is_leaf ? 0 : 1;
}

bool is_literal(const ScalarWord& word, const Graph& graph) {
  return !word.is_extent &&
         graph.scalars[word.source].kind == ScalarSource::Kind::Literal;
}

/// The accesses and numbers that a step needs.
struct Needs {
  std::set<std::uint32_t> arguments;
  std::set<std::uint32_t> literals;

  bool are_few() const {
    return arguments.size() < kMaxPassArguments &&
           literals.size() < kMaxConstants / 2;
  }
  std::size_t count() const { return arguments.size() + literals.size(); }
};

Needs needs_of(const Pass& pass, const Graph& graph, const Step& step,
               const std::vector<Needs>& before) {
  Needs needs;
  if (step.kind == Step::Kind::Load) {
    needs.arguments.insert(step.index);
  } else if (step.kind == Step::Kind::Scalar) {
    const auto number =
        static_cast<std::uint32_t>(pass.accesses.size()) + step.index;
    auto& words = is_literal(pass.scalars[step.index], graph) ? needs.literals
                                                              : needs.arguments;
    words.insert(number);
    if (step.dtype == DType::Complex128) words.insert(number + 1);
  }
  for (std::size_t k = 0; k < operand_count(step); ++k) {
    const Needs& operand = before[step.operands[k]];
    needs.arguments.insert(operand.arguments.begin(), operand.arguments.end());
    needs.literals.insert(operand.literals.begin(), operand.literals.end());
  }
  return needs;
}

}  // namespace

PassBuilder::PassBuilder(const Graph& graph, Dimensions& dims,
                         const Stored& stored)
    : graph_(graph), dims_(dims), stored_(stored) {}

void PassBuilder::set_axes(std::span<const Root> roots) {
  // A dimension that is 1 in every call is no axis.
  const auto& dims = dims_.of(roots[0].node);
  AxisMap walked = no_axes();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0) continue;
    walked[d] = static_cast<std::int8_t>(axes_.size());
    axes_.push_back(dims[d]);
  }
  is_outer_.assign(axes_.size(), false);
  is_chosen_.assign(graph_.nodes.size(), false);
  for (const Root& root : roots) choose_outer(root.node, walked);
  // Outer ones come first.
  std::vector<std::int8_t> number(axes_.size());
  for (const bool is_outer : {true, false}) {
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      if (is_outer_[axis] != is_outer) continue;
      auto& group = is_outer ? pass_.outer : pass_.inner;
      number[axis] = static_cast<std::int8_t>(
          is_outer ? group.size() : pass_.outer.size() + group.size());
      group.push_back(axes_[axis]);
    }
  }
  root_map_ = no_axes();
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (walked[d] != kNoDim)
      root_map_[d] = number[static_cast<std::size_t>(walked[d])];
  // The reduction keeps all axes of the roots.
  if (pass_.inner.empty()) pass_.inner = reduced_;
}

// The first reduction decides: the dimensions that it keeps are the rows'.
void PassBuilder::choose_outer(std::uint32_t id, const AxisMap& map) {
  if (has_axes_ || is_chosen_[id] || stored_.contains(id)) return;
  is_chosen_[id] = true;
  const Node& node = graph_.nodes[id];
  if (!is_reduction(node)) {
    for (std::size_t k = 0; k < operand_count(node); ++k)
      choose_outer(node.operands[k], operand_map(node, k, map));
    return;
  }
  has_axes_ = true;
  for (std::size_t d = 0; d < node.rank; ++d)
    if (map[d] != kNoDim) is_outer_[static_cast<std::size_t>(map[d])] = true;
  reduced_ = walked_by(node);
}

std::vector<SetId> PassBuilder::walked_by(const Node& reduction) const {
  std::vector<SetId> dims;
  const auto& operand = dims_.of(reduction.operands[0]);
  for (std::size_t d = 0; d < operand.size(); ++d)
    if (is_walked(reduction, operand, d)) dims.push_back(operand[d]);
  return dims;
}

AxisMap PassBuilder::operand_map(const Node& node, std::size_t k,
                                 const AxisMap& map) const {
  AxisMap result = no_axes();
  const auto& operand = dims_.of(node.operands[k]);
  if (node.op == Op::View) {
    for (std::size_t d = 0; d < node.rank; ++d)
      if (node.dims[d] != kNewDim) result[node.dims[d]] = map[d];
  } else {
    const std::size_t shift = node.rank - operand.size();
    for (std::size_t d = 0; d < operand.size(); ++d) result[d] = map[shift + d];
  }
  // A dimension that is 1 in every call fits any axis.
  for (std::size_t d = 0; d < operand.size(); ++d)
    if (operand[d] == 0) result[d] = kNoDim;
  return result;
}

bool PassBuilder::fits(const Node& reduction, const AxisMap& map) const {
  const auto outer = static_cast<std::int8_t>(pass_.outer.size());
  for (std::size_t d = 0; d < reduction.rank; ++d)
    if (map[d] >= outer) return false;
  return walked_by(reduction).size() == pass_.inner.size();
}

AxisMap PassBuilder::reduction_map(const Node& reduction,
                                   const AxisMap& map) const {
  AxisMap result = no_axes();
  const auto& operand = dims_.of(reduction.operands[0]);
  auto inner = static_cast<std::int8_t>(pass_.outer.size());
  std::size_t kept = 0;
  for (std::size_t d = 0; d < operand.size(); ++d) {
    const bool reduced = reduction.reduces(d);
    if (is_walked(reduction, operand, d))
      result[d] = inner++;
    else if (operand[d] != 0)
      result[d] = map[kept];
    if (!reduced || reduction.keepdims) ++kept;
  }
  return result;
}

void PassBuilder::look_for_foreign(std::uint32_t id, const AxisMap& map,
                                   std::vector<std::uint32_t>& foreign) {
  if (stored_.contains(id) || !looked_.insert({id, map}).second) return;
  const Node& node = graph_.nodes[id];
  if (!is_reduction(node)) {
    for (std::size_t k = 0; k < operand_count(node); ++k)
      look_for_foreign(node.operands[k], operand_map(node, k, map), foreign);
  } else if (fits(node, map)) {
    look_for_foreign(node.operands[0], reduction_map(node, map), foreign);
  } else {
    foreign.push_back(id);
  }
}

std::vector<std::uint32_t> PassBuilder::find_foreign(
    std::span<const Root> roots) {
  set_axes(roots);
  std::vector<std::uint32_t> foreign;
  if (!has_axes_) return foreign;  // no reduction at all
  for (const Root& root : roots)
    look_for_foreign(root.node, root_map_, foreign);
  return foreign;
}

bool PassBuilder::is_inner(const AxisMap& map, std::size_t rank) const {
  const auto outer = static_cast<std::int8_t>(pass_.outer.size());
  return std::any_of(map.begin(), map.begin() + static_cast<long>(rank),
                     [&](std::int8_t axis) { return axis >= outer; });
}

std::uint32_t PassBuilder::add_access(const BufferAccess& access) {
  const auto at =
      std::find(pass_.accesses.begin(), pass_.accesses.end(), access);
  const auto index = static_cast<std::uint32_t>(at - pass_.accesses.begin());
  if (at == pass_.accesses.end()) pass_.accesses.push_back(access);
  return index;
}

std::uint32_t PassBuilder::add_step(const Step& step) {
  pass_.steps.push_back(step);
  return static_cast<std::uint32_t>(pass_.steps.size() - 1);
}

PassBuilder::Value PassBuilder::evaluate(std::uint32_t id, const AxisMap& map) {
  if (const auto at = values_.find({id, map}); at != values_.end())
    return at->second;
  const Value value = evaluate_new(id, map);
  values_.emplace(Key{id, map}, value);
  if (of_step_.size() <= value.step) of_step_.resize(value.step + 1);
  of_step_[value.step] = value;
  return value;
}

PassBuilder::Value PassBuilder::evaluate_new(std::uint32_t id,
                                             const AxisMap& map) {
  const Node& node = graph_.nodes[id];
  if (const auto at = stored_.find(id); at != stored_.end())
    return load(at->second, id, map);
  switch (node.op) {
    case Op::Input:
      return load({Buffer::Kind::Input, node.index}, id, map);
    case Op::Scalar:
      return scalar({.dtype = node.dtype, .source = node.index});
    case Op::Extent: {
      ScalarWord word{.dtype = node.dtype, .is_extent = true};
      const auto& dims = dims_.of(node.operands[0]);
      for (std::size_t d = 0; d < dims.size(); ++d)
        if (node.reduces(d)) word.extent.push_back(dims[d]);
      return scalar(word);
    }
    case Op::View:
    case Op::BroadcastTo:
      return evaluate(node.operands[0], operand_map(node, 0, map));
    default:
      return is_reduction(node) ? reduce(node, map) : compute(node, map);
  }
}

PassBuilder::Value PassBuilder::load(const Buffer& buffer, std::uint32_t id,
                                     const AxisMap& map) {
  const Node& node = graph_.nodes[id];
  const BufferAccess access{.buffer = buffer,
                            .dtype = node.dtype,
                            .dims = dims_by_axis(map, node.rank)};
  const std::uint32_t step = add_step({.kind = Step::Kind::Load,
                                       .dtype = node.dtype,
                                       .from = node.dtype,
                                       .index = add_access(access)});
  return {step, 0, is_inner(map, node.rank)};
}

PassBuilder::Value PassBuilder::scalar(const ScalarWord& word) {
  const auto at = std::find(pass_.scalars.begin(), pass_.scalars.end(), word);
  const auto index = static_cast<std::uint32_t>(at - pass_.scalars.begin());
  if (at == pass_.scalars.end()) {
    pass_.scalars.push_back(word);
    if (word.dtype == DType::Complex128) {
      pass_.scalars.push_back(word);
      pass_.scalars.back().is_imaginary = true;
    }
  }
  return {add_step({.kind = Step::Kind::Scalar,
                    .dtype = word.dtype,
                    .from = word.dtype,
                    .index = index}),
          0, false};
}

PassBuilder::Value PassBuilder::reduce(const Node& node, const AxisMap& map) {
  if (!fits(node, map))
    throw Error("plan: expected reductions that fit their pass");
  const AxisMap inside = reduction_map(node, map);
  const std::vector<SetId> reduced = walked_by(node);
  for (std::size_t k = 0; k < reduced.size(); ++k)
    if (reduced[k] != pass_.inner[k])
      pass_.equal.push_back({reduced[k], pass_.inner[k]});
  const Value operand = evaluate(node.operands[0], inside);
  pass_.has_reduction = true;
  const std::uint32_t step =
      add_step({.kind = Step::Kind::Reduce,
                .op = node.op,
                .may_be_empty = node.may_be_empty,
                .dtype = node.dtype,
                .from = graph_.nodes[node.operands[0]].dtype,
                .operands = {operand.step}});
  return {step, operand.ready + 1, false};
}

PassBuilder::Value PassBuilder::compute(const Node& node, const AxisMap& map) {
  Step step{.kind = Step::Kind::Compute, .op = node.op, .dtype = node.dtype};
  Value value;
  const std::size_t count = operand_count(node);
  for (std::size_t k = 0; k < count; ++k) {
    const Value operand = evaluate(node.operands[k], operand_map(node, k, map));
    step.operands[k] = operand.step;
    value.ready = std::max(value.ready, operand.ready);
    value.is_inner = value.is_inner || operand.is_inner;
  }
  step.from = graph_.nodes[node.operands[count - 1]].dtype;
  value.step = add_step(step);
  return value;
}

void PassBuilder::store(const Root& root) {
  const Value value = evaluate(root.node, root_map_);
  const Node& node = graph_.nodes[root.node];
  const BufferAccess access{.buffer = root.buffer,
                            .dtype = node.dtype,
                            .writes = true,
                            .dims = dims_by_axis(root_map_, node.rank)};
  const std::uint32_t step = add_step({.kind = Step::Kind::Store,
                                       .dtype = node.dtype,
                                       .from = node.dtype,
                                       .index = add_access(access),
                                       .operands = {value.step}});
  of_step_.resize(pass_.steps.size());
  of_step_[step] = {step, value.ready, is_inner(root_map_, node.rank)};
}

// Marks the steps that loop `loop` must compute for `step`.
void PassBuilder::need(std::uint32_t id, std::uint32_t loop) {
  if (!of_step_[id].is_inner || needed_[loop][id]) return;
  needed_[loop][id] = true;
  const Step& step = pass_.steps[id];
  const std::size_t operands = step.kind == Step::Kind::Store ? 1
                               : step.kind == Step::Kind::Compute
                                   ? info_of(step.op).operands
                                   : 0;
  for (std::size_t k = 0; k < operands; ++k) need(step.operands[k], loop);
}

void PassBuilder::arrange() {
  of_step_.resize(pass_.steps.size());
  std::uint32_t loops = 1;
  for (const Value& value : of_step_)
    loops = std::max(loops, value.is_inner ? value.ready + 1 : value.ready);
  pass_.parts.resize(2 * loops + 1);
  needed_.assign(loops, std::vector<bool>(pass_.steps.size()));
  for (std::uint32_t id = 0; id < pass_.steps.size(); ++id) {
    const Step& step = pass_.steps[id];
    const Value& value = of_step_[id];
    if (step.kind == Step::Kind::Reduce) {
      need(step.operands[0], value.ready - 1);
      needed_[value.ready - 1][id] = true;
    } else if (step.kind == Step::Kind::Store) {
      // Stores come last, because an output may be the buffer of an input.
      // Without reductions there is one loop and nothing after it, even for a
      // number.
      if (value.is_inner)
        need(id, loops - 1);
      else if (!pass_.has_reduction)
        needed_[0][id] = true;
      else
        pass_.parts.back().push_back(id);
    } else if (!value.is_inner) {
      pass_.parts[2 * value.ready].push_back(id);
    }
  }
  for (std::uint32_t loop = 0; loop < loops; ++loop)
    for (std::uint32_t id = 0; id < pass_.steps.size(); ++id)
      if (needed_[loop][id]) pass_.parts[2 * loop + 1].push_back(id);
}

std::uint32_t PassBuilder::node_of(std::uint32_t step) const {
  // Views of it, which come later, have the same step.
  const auto at = std::ranges::find_if(
      values_, [&](const auto& each) { return each.second.step == step; });
  assert(at != values_.end());
  return at->first.first;
}

Pass PassBuilder::build(std::span<const Root> roots) {
  set_axes(roots);
  // An output may be the buffer of an input. Outputs of the same dimensions
  // read the same inputs, all of them before the first output is stored. This
  // fails only if inputs take their dimensions from others.
  if (graph_.has_alike_inputs())
    for (const Root& root : roots) evaluate(root.node, root_map_);
  for (const Root& root : roots) store(root);
  arrange();
  return std::move(pass_);
}

bool fits_task(const Pass& pass, const Graph& graph) {
  const auto literals = static_cast<std::size_t>(std::ranges::count_if(
      pass.scalars,
      [&](const ScalarWord& word) { return is_literal(word, graph); }));
  const std::size_t all = pass.accesses.size() + pass.scalars.size();
  return pass.scalars.size() <= kMaxConstants &&
         all - literals <= kMaxPassArguments;
}

std::optional<std::uint32_t> step_to_store(const Pass& pass,
                                           const Graph& graph) {
  std::vector<Needs> needs;
  for (const Step& step : pass.steps) {
    needs.push_back(needs_of(pass, graph, step, needs));
    if (needs.back().are_few()) continue;
    // The first that needs many: its operands need few.
    const auto operands = std::span(step.operands).first(operand_count(step));
    return *std::ranges::max_element(
        operands, {}, [&](std::uint32_t id) { return needs[id].count(); });
  }
  return {};
}

void make_constants(Pass& pass, const Graph& graph) {
  if (pass.accesses.size() + pass.scalars.size() <= kMaxPassArguments) return;
  std::vector<ScalarWord> scalars;
  std::vector<std::uint32_t> number(pass.scalars.size());
  for (std::size_t i = 0; i < pass.scalars.size(); ++i) {
    if (is_literal(pass.scalars[i], graph)) continue;
    number[i] = static_cast<std::uint32_t>(scalars.size());
    scalars.push_back(pass.scalars[i]);
  }
  for (std::size_t i = 0; i < pass.scalars.size(); ++i) {
    const ScalarWord& word = pass.scalars[i];
    if (!is_literal(word, graph)) continue;
    number[i] =
        static_cast<std::uint32_t>(scalars.size() + pass.constants.size());
    pass.constants.push_back(
        scalar_bits(*graph.scalars[word.source].literal, word));
  }
  pass.scalars = std::move(scalars);
  for (Step& step : pass.steps)
    if (step.kind == Step::Kind::Scalar) step.index = number[step.index];
}

}  // namespace gpuos::program
