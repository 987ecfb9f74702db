#pragma once

#include <string>

#include "gpuos/error.h"

namespace gpuos::jit {

/// The first error that a log of NVRTC tells of.
struct FirstError {
  std::string line;   // "axpy.cu:3: error: ..."; the log's first line if
                      // none is known
  SourcePlace place;  // empty where the log names none
};

FirstError first_error(const std::string& log);

/// The name expression that NVRTC could not read; empty if none.
std::string wrong_name_expression(const std::string& log);

/// "x.h" of 'could not open source file "x.h"'; empty if that is not what
/// `line` says.
std::string missing_header(const std::string& line);

}  // namespace gpuos::jit
