#pragma once

#include <string>
#include <string_view>

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

/// Names the header that NVRTC reads before a source that misses one of its
/// names.
inline constexpr std::string_view kUsualNames = "gpuos/standard/usual_names.h";

/// Returns whether NVRTC's log says that a name of kUsualNames is missing.
/// Examples are uint32_t and M_PI, which nvcc knows without an #include.
bool misses_usual_name(std::string_view log);

/// Returns advice about the first name that NVRTC did not know. It names the
/// #include that brings it, or its replacement. It is empty for an unknown
/// name.
std::string name_hint(const FirstError& error, std::string_view log);

}  // namespace gpuos::jit
