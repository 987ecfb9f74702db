#pragma once

#include <string>

#include "gpuos/error.h"

namespace gpuos::jit {

/// The first error that a log of NVRTC or of a C++ compiler tells of.
struct FirstError {
  std::string line;   // "axpy.cu:3: error: ...", "axpy.cpp:3:7: error: ...";
                      // the log's first line if none is known
  SourcePlace place;  // empty where the log names none; the excerpt is NVRTC's

  /// "axpy.cpp:3: error: ..."
  std::string without_column() const;
};

FirstError first_error(const std::string& log);

/// Line `place.line` of `text`, and a caret below it at the column.
std::string excerpt_of(const std::string& text, const SourcePlace& place);

/// The name expression that NVRTC could not read; empty if none.
std::string wrong_name_expression(const std::string& log);

/// "x.h" of 'could not open source file "x.h"'; empty if that is not what
/// `line` says.
std::string missing_header(const std::string& line);

}  // namespace gpuos::jit
