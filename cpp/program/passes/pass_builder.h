#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "program/graph/dimensions.h"
#include "program/graph/graph.h"
#include "program/graph/plan.h"

namespace gpuos::program {

/// Where the values that a pass does not compute itself come from.
using Stored = std::map<std::uint32_t, Buffer>;  // by node

struct Root {
  std::uint32_t node = 0;
  Buffer buffer;
};

/// Builds one pass that computes `roots`, which have the same dimensions.
class PassBuilder {
 public:
  PassBuilder(const Graph& graph, Dimensions& dims, const Stored& stored);

  /// Reductions that cannot be part of the pass; build() then is wrong before
  /// they are stored by another one.
  std::vector<std::uint32_t> find_foreign(std::span<const Root> roots);
  Pass build(std::span<const Root> roots);
  /// Returns the node that a built step computes.
  std::uint32_t node_of(std::uint32_t step) const;

 private:
  struct Value {
    std::uint32_t step = 0;
    std::uint32_t ready = 0;  // the first loop in which it can be computed
    bool is_inner = false;    // differs from element to element of a row
  };
  using Key = std::pair<std::uint32_t, AxisMap>;

  void set_axes(std::span<const Root> roots);
  void choose_outer(std::uint32_t node, const AxisMap& map);
  /// Returns the axes of a reduction, except those of size 1 in every call.
  std::vector<SetId> walked_by(const Node& reduction) const;
  AxisMap operand_map(const Node& node, std::size_t k,
                      const AxisMap& map) const;
  bool fits(const Node& reduction, const AxisMap& map) const;
  AxisMap reduction_map(const Node& reduction, const AxisMap& map) const;
  void look_for_foreign(std::uint32_t node, const AxisMap& map,
                        std::vector<std::uint32_t>& foreign);

  Value evaluate(std::uint32_t node, const AxisMap& map);
  Value evaluate_new(std::uint32_t node, const AxisMap& map);
  Value load(const Buffer& buffer, std::uint32_t node, const AxisMap& map);
  Value scalar(const ScalarWord& word);
  Value reduce(const Node& node, const AxisMap& map);
  Value compute(const Node& node, const AxisMap& map);
  std::uint32_t add_access(const BufferAccess& access);
  std::uint32_t add_step(const Step& step);
  bool is_inner(const AxisMap& map, std::size_t rank) const;
  void store(const Root& root);
  void arrange();
  void need(std::uint32_t step, std::uint32_t loop);

  const Graph& graph_;
  Dimensions& dims_;
  const Stored& stored_;
  Pass pass_;
  std::vector<SetId> axes_;     // of the roots, except those of size 1
  std::vector<bool> is_outer_;  // of axes_
  AxisMap root_map_{};
  std::vector<SetId> reduced_;  // by the reduction in choose_outer()
  bool has_axes_ = false;       // choose_outer() met a reduction
  // Values that several others use are looked through once.
  std::vector<bool> is_chosen_;
  std::set<Key> looked_;
  std::map<Key, Value> values_;
  std::vector<Value> of_step_;
  std::vector<std::vector<bool>> needed_;  // by loop and step
};

/// Returns whether a task has room for all arrays and scalars of the pass.
bool fits_task(const Pass& pass, const Graph& graph);

/// A step of a pass with one root that does not fit a task: if the step's value
/// is stored before, the pass has fewer arguments, and the pass that stores it
/// has room. None: there is no such step.
std::optional<std::uint32_t> step_to_store(const Pass& pass,
                                           const Graph& graph);

/// Makes constants of a pass' numbers if they do not fit a task's arguments.
void make_constants(Pass& pass, const Graph& graph);

}  // namespace gpuos::program
