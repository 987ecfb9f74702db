#pragma once

#include <string>

#include "gpuos/error.h"

namespace gpuos::jit {

/// Holds the first error in a log of NVRTC or of a C++ compiler.
struct FirstError {
  std::string line;   // "axpy.cu:3: error: ...", "axpy.cpp:3:7: error: ...", or
                      // the log's first line if no error is found
  SourcePlace place;  // empty if the log names none, with NVRTC's excerpt

  /// Returns the line without its column: "axpy.cpp:3: error: ...".
  std::string without_column() const;
};

FirstError first_error(const std::string& log);

/// Returns line `place.line` of `text`, with a caret below it at the column.
std::string excerpt_of(const std::string& text, const SourcePlace& place);

/// Returns the name expression that NVRTC could not read, or an empty text.
std::string wrong_name_expression(const std::string& log);

/// Returns "x.h" of 'could not open source file "x.h"'. Returns an empty text
/// if `line` says anything else.
std::string missing_header(const std::string& line);

}  // namespace gpuos::jit
