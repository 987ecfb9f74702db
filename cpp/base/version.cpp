#include "gpuos/version.h"

#define GPUOS_TEXT_OF(x) #x
#define GPUOS_TEXT(x) GPUOS_TEXT_OF(x)

namespace gpuos {

const char* version() noexcept {
  return GPUOS_TEXT(GPUOS_VERSION_MAJOR) "." GPUOS_TEXT(
      GPUOS_VERSION_MINOR) "." GPUOS_TEXT(GPUOS_VERSION_PATCH);
}

}  // namespace gpuos
