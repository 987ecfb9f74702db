#include "program/graph/dimensions.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpuos::program {

Dimensions::Dimensions(const Graph& graph) {
  sets_.assign(1, {});
  ids_.emplace(DimSet{}, 0);
  add_new(graph);
}

void Dimensions::add_new(const Graph& graph) {
  while (dims_.size() < graph.nodes.size())
    dims_.push_back(infer(graph, static_cast<std::uint32_t>(dims_.size())));
}

SetId Dimensions::intern(DimSet set) {
  const auto [at, is_new] = ids_.emplace(set, static_cast<SetId>(sets_.size()));
  if (is_new) sets_.push_back(std::move(set));
  return at->second;
}

SetId Dimensions::join(SetId a, SetId b) {
  if (a == b) return a;
  DimSet both;
  std::set_union(sets_[a].begin(), sets_[a].end(), sets_[b].begin(),
                 sets_[b].end(), std::back_inserter(both));
  return intern(std::move(both));
}

std::vector<SetId> Dimensions::infer(const Graph& graph, std::uint32_t id) {
  const Node& node = graph.nodes[id];
  std::vector<SetId> dims(node.rank, 0);
  if (node.op == Op::Input) {
    for (std::uint32_t d = 0; d < node.rank; ++d)
      dims[d] = intern({graph.dims[node.index][d]});
  } else if (node.op == Op::View) {
    const auto& from = dims_[node.operands[0]];
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (node.dims[d] != kNewDim) dims[d] = from[node.dims[d]];
  } else if (node.op == Op::Join) {
    const Join& all = graph.joins[node.index];
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (d == all.axis) dims[d] = intern({{all.input, 0}});
      if (d == all.axis) continue;
      for (const std::uint32_t part : all.parts)
        dims[d] = join(dims[d], dims_[part][d]);
    }
  } else if (is_reduction(node)) {
    const auto& from = dims_[node.operands[0]];
    std::size_t to = 0;
    for (std::size_t d = 0; d < from.size(); ++d) {
      if (!node.reduces(d)) dims[to] = from[d];
      if (!node.reduces(d) || node.keepdims) ++to;
    }
  } else {
    const bool has_like = node.op == Op::BroadcastTo;
    for (std::size_t k = 0; k < operand_count(node) + has_like; ++k) {
      const auto& from = dims_[node.operands[k]];
      const std::size_t shift = dims.size() - from.size();
      for (std::size_t d = 0; d < from.size(); ++d)
        dims[shift + d] = join(dims[shift + d], from[d]);
    }
  }
  return dims;
}

}  // namespace gpuos::program
