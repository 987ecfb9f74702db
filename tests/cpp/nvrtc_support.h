#pragma once

#include <gtest/gtest.h>

#include "gpuos/error.h"
#include "jit/toolkit/nvrtc_api.h"

/// In SetUp() or a test: ends it as skipped where NVRTC is missing.
#define GPUOS_SKIP_WITHOUT_NVRTC()                     \
  try {                                                \
    ::gpuos::jit::nvrtc();                             \
  } catch (const ::gpuos::BackendUnavailable& error) { \
    GTEST_SKIP() << error.what();                      \
  }                                                    \
  static_assert(true, "so that a semicolon follows")
