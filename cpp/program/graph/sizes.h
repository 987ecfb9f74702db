#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpuos/tensor_view.h"
#include "program/graph/plan.h"

namespace gpuos::program {

/// The size of each of the plan's sets for inputs of some shapes, in `sizes`.
/// `shapes` has a pointer to each input's sizes.
/// Throws: InvalidArgument for shapes that do not broadcast.
void find_sizes(const Plan& plan, std::span<const std::int64_t* const> shapes,
                std::vector<std::int64_t>& sizes);

/// Returns whether the schedule that fuses reductions with the steps around
/// them is correct and faster for these sizes.
bool is_fused_best(const Plan& plan, std::span<const std::int64_t> sizes);

/// The size of a set. Throws: InvalidArgument for shapes that do not broadcast.
std::int64_t common_size(const Plan& plan, const DimSet& set,
                         std::span<const std::int64_t* const> shapes);

/// The shapes of the plan's results for inputs of these shapes.
/// Throws: InvalidArgument.
std::vector<Shape> result_shapes(const Plan& plan,
                                 std::span<const Shape> inputs);

std::int64_t count_of(std::span<const SetId> dims,
                      std::span<const std::int64_t> sizes);

}  // namespace gpuos::program
