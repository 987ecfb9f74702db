#pragma once

#include "gpuos/cache.h"
#include "gpuos/diagnose.h"
#include "gpuos/dtype.h"
#include "gpuos/error.h"
#include "gpuos/operator.h"
#include "gpuos/options.h"
#include "gpuos/runtime.h"
#include "gpuos/scalar.h"
#include "gpuos/stats.h"
#include "gpuos/tensor_view.h"
#include "gpuos/ticket.h"
#include "gpuos/version.h"
