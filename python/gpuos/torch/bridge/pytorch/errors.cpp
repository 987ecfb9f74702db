#include "pytorch/errors.h"

#include <torch/csrc/Exceptions.h>

namespace gpuos::bridge {

PyObject* raise_caught() noexcept {
  HANDLE_TH_ERRORS
  throw;
  END_HANDLE_TH_ERRORS
}

}  // namespace gpuos::bridge
