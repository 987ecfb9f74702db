// Every driver function that driver.cpp has not: it does nothing, successfully.
#include "driver/driver_api.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

namespace gpuos::cu {

#define GPUOS_DEFINE(name, symbol, ...)                                    \
  extern "C" __attribute__((weak, visibility("default"))) CUresult symbol( \
      __VA_ARGS__);                                                        \
  CUresult symbol(__VA_ARGS__) { return CUDA_SUCCESS; }
GPUOS_DRIVER_FUNCTIONS(GPUOS_DEFINE)
GPUOS_OPTIONAL_DRIVER_FUNCTIONS(GPUOS_DEFINE)
#undef GPUOS_DEFINE

}  // namespace gpuos::cu
