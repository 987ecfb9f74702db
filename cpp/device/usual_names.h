// The names that nvcc has without an #include and NVRTC does not. NVRTC reads
// this before a source that fails for one of these names.
#pragma once

#include "standard_constants.h"
#include "standard_integers.h"
