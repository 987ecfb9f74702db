#pragma once

#include "gpuos/stats.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Returns every member by its name.
inline pybind11::dict stats_to_dict(const Stats& stats) {
  pybind11::dict dict;
#define GPUOS_STAT(type, name, text) dict[#name] = stats.name;
  GPUOS_STATS(GPUOS_STAT)
#undef GPUOS_STAT
  return dict;
}

}  // namespace gpuos::python
