#pragma once

#include <cstdint>
#include <span>

#include "gpuos/scalar.h"
#include "gpuos/tensor_view.h"
#include "program/calls/prepared.h"
#include "program/graph/plan.h"

namespace gpuos::program {

// All functions throw InvalidArgument.

/// Checks the number of the views, their dtypes and their dimensions.
void check_arrays(const Plan& plan, const CallViews& call);

void check_scalars(const Plan& plan, std::span<const gpuos::Scalar> scalars);

/// Checks the shapes of the outputs, and that they are writable.
void check_outputs(const Plan& plan, std::span<const std::int64_t> sizes,
                   std::span<const TensorView> outputs);

/// Checks that all views have memory, and that the outputs are writable and do
/// not overlap the inputs.
void check_addresses(const Prepared& prepared, const CallViews& call);

/// Throws InvalidArgument if no elements are reduced by an operation that needs
/// one.
void check_empty(const Schedule& schedule, std::span<const std::int64_t> sizes);

inline bool do_overlap(std::uint64_t a, const Extent& of_a, std::uint64_t b,
                       const Extent& of_b) noexcept {
  return a + of_a.low < b + of_b.high && b + of_b.low < a + of_a.high;
}

/// Returns whether two arrays have a byte in common. Ranges that overlap do not
/// suffice: columns of a matrix are interleaved. Also returns true if the
/// search takes too long.
bool share_memory(const TensorView& a, const TensorView& b);

/// Returns whether two elements of an array have memory in common, as in
/// sliding windows. Also returns true if the search takes too long.
bool overlaps_itself(const TensorView& view);

}  // namespace gpuos::program
