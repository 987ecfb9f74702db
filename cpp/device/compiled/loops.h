// The loops of compiled programs around the code of a pass.
#pragma once

#include "compiled/reductions.h"
#if defined(__CUDACC__)
#include "compiled/entry.h"
#else
#include "compiled/loops_host.h"
#endif
