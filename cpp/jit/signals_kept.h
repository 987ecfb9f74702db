#pragma once

#include "jit/shared_library.h"

namespace gpuos::jit {

/// From now on this library's calls of signal() do nothing. While NVRTC reads a
/// source, Ctrl-C and SIGTERM would end the process with exit(4), whoever
/// handles them; and what it puts back afterwards has other flags, with which
/// a signal no longer ends a read().
void keep_signals_from(const SharedLibrary& library) noexcept;

}  // namespace gpuos::jit
