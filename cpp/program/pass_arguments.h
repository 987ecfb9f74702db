#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "program/graph.h"
#include "program/plan.h"

namespace gpuos::program {

/// Returns whether a task has room for what the pass reads and writes.
bool fits_task(const Pass& pass, const Graph& graph);

/// A step of a pass with one root that does not fit a task: if the step's value
/// is stored before, the pass has fewer arguments, and the pass that stores it
/// has room. None: there is no such step.
std::optional<std::uint32_t> step_to_store(const Pass& pass,
                                           const Graph& graph);

/// Makes constants of a pass' numbers if they do not fit a task's arguments.
void make_constants(Pass& pass, const Graph& graph);

}  // namespace gpuos::program
