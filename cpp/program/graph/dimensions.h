#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "program/graph/graph.h"
#include "program/graph/input_source.h"

namespace gpuos::program {

/// The number of a DimSet. 0 is the empty one.
using SetId = std::uint32_t;

/// The dimensions of each node as sets of input dimensions.
class Dimensions {
 public:
  explicit Dimensions(const Graph& graph);

  /// Adds the dimensions of the graph's new nodes.
  void add_new(const Graph& graph);
  const std::vector<SetId>& of(std::uint32_t node) const { return dims_[node]; }
  const std::vector<DimSet>& sets() const noexcept { return sets_; }

 private:
  SetId join(SetId a, SetId b);
  SetId intern(DimSet set);
  std::vector<SetId> infer(const Graph& graph, std::uint32_t node);

  std::vector<DimSet> sets_;
  std::map<DimSet, SetId> ids_;
  std::vector<std::vector<SetId>> dims_;
};

}  // namespace gpuos::program
