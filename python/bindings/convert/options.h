#pragma once

#include "gpuos/options.h"
#include "gpuos/stats.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Returns RuntimeOptions from keyword arguments. None or a missing one means
/// the default.
/// Throws: InvalidArgument for an unknown name or a value out of range.
RuntimeOptions options_from(const pybind11::kwargs& given);

pybind11::dict options_to_dict(const RuntimeOptions& options);

/// Returns every member by its name.
pybind11::dict stats_to_dict(const Stats& stats);

}  // namespace gpuos::python
