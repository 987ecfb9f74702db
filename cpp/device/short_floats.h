// The types of all short floats of gpuos/dtype_list.h.
#pragma once

#include "bfloat16.h"
#include "float8.h"
#include "half.h"
