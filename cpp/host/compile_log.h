#pragma once

#include <string>

#include "gpuos/error.h"

namespace gpuos::host {

/// The first error in a log of a C++ compiler.
struct CompilerError {
  std::string line;   // "axpy.cpp:3:7: error: ..."; the log's first line if
                      // none is known
  SourcePlace place;  // without an excerpt; empty where the log names none

  /// "axpy.cpp:3: error: ..."
  std::string without_column() const;
};

CompilerError first_error(const std::string& log);

/// Line `place.line` of `text`, and a caret below it at the column.
std::string excerpt_of(const std::string& text, const SourcePlace& place);

}  // namespace gpuos::host
