// Every function of programs, for each type that they compute in: float,
// double, C64, C128, and integers of 32 and 64 bits. Narrower integers are
// computed in 32 bits, narrower reals in float; the caller wraps or rounds.
#pragma once

#include "functions/neural.h"
#include "functions/of_complex.h"
