// The names that nvcc has without an #include and NVRTC does not. NVRTC reads
// this before a source that fails for one of these names.
#pragma once

#include "standard/constants.h"
#include "standard/cstdint.h"
