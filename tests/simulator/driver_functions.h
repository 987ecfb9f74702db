// The driver's functions as the library looks them up.
#pragma once

#include "driver/driver_api.h"

namespace gpuos::cu {

#define GPUOS_DECLARE(name, symbol, ...) \
  extern "C"                             \
      __attribute__((visibility("default"))) CUresult symbol(__VA_ARGS__);
GPUOS_DRIVER_FUNCTIONS(GPUOS_DECLARE)
GPUOS_OPTIONAL_DRIVER_FUNCTIONS(GPUOS_DECLARE)
#undef GPUOS_DECLARE

}  // namespace gpuos::cu
