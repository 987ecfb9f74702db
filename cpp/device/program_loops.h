// The loops of compiled programs around the code of a pass.
#pragma once

#include "program_reductions.h"
#if defined(__CUDACC__)
#include "program_entry.h"
#else
#include "program_loops_host.h"
#endif
