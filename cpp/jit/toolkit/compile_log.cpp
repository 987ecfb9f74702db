#include "jit/toolkit/compile_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "base/c_text.h"
#include "base/concat.h"
#include "base/embedded.h"

namespace gpuos::jit {
namespace {

// NVRTC writes these spaces before a line of the source and before its caret.
constexpr std::size_t kIndent = 2;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) lines.push_back(cut_until(text, '\n'));
  return lines;
}

// Returns where the place of an error ends, which is before ": error: ...".
// Returns npos if `line` has no error.
std::size_t end_of_place(std::string_view line) {
  return std::min({line.find(": error"), line.find(": fatal error"),
                   line.find(": catastrophic error")});
}

bool may_tell_of_error(std::string_view line) {
  return line.find("error") != line.npos || line.find("fatal") != line.npos;
}

// Cuts ":7" or "(7)" from the end of `text`. Returns 0 if there is no number.
int cut_number(std::string_view& text, char sign) {
  const std::size_t begin = text.rfind(sign);
  if (begin == text.npos) return 0;
  const char* const end = text.data() + text.size() - (sign == '(' ? 1 : 0);
  int value = 0;
  const auto parsed = std::from_chars(text.data() + begin + 1, end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value <= 0) return 0;
  text = text.substr(0, begin);
  return value;
}

// Reads the place of "axpy.cu(3): error: ..." or "cell 3:4:7: error: ...".
SourcePlace place_in(std::string_view line) {
  const std::size_t end = end_of_place(line);
  if (end == line.npos) return {};
  std::string_view text = line.substr(0, end);
  SourcePlace place;
  if (text.ends_with(')')) {
    place.line = cut_number(text, '(');
  } else {
    place.column = cut_number(text, ':');
    place.line = place.column == 0 ? 0 : cut_number(text, ':');
    if (place.line == 0) std::swap(place.line, place.column);
  }
  if (place.line != 0) place.file = text;
  return place;
}

bool is_caret(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first != line.npos && first >= kIndent && line.substr(first) == "^";
}

std::string_view without_indent(std::string_view line) {
  return line.substr(std::min(kIndent, line.size()));
}

// Returns the line about an unknown type of a kernel's first parameter. NVRTC
// takes such a kernel for a variable and says so first.
std::size_t cause_of(const std::vector<std::string_view>& lines,
                     std::size_t error) {
  if (lines[error].find("does not apply here") == lines[error].npos)
    return error;
  const int line = place_in(lines[error]).line;
  for (std::size_t i = error + 1; i < lines.size(); ++i) {
    if (lines[i].ends_with("is undefined") && place_in(lines[i]).line == line)
      return i;
  }
  return error;
}

// Returns the text between `before` and the next quotation mark.
std::string quoted_after(std::string_view text, std::string_view before) {
  const std::size_t found = text.find(before);
  if (found == text.npos) return "";
  text.remove_prefix(found + before.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return std::string(text.substr(0, text.find('"')));
}

// Holds a name that NVRTC did not find.
struct MissingName {
  std::string_view name;
  bool is_of_std = false;
};

// Returns the next missing name. Cuts `log` after it.
std::optional<MissingName> next_missing(std::string_view& log) {
  constexpr std::string_view kUndefined = "identifier \"";
  constexpr std::string_view kNoMember = "namespace \"std\" has no member \"";
  const std::size_t undefined = log.find(kUndefined);
  const std::size_t member = log.find(kNoMember);
  if (undefined == log.npos && member == log.npos) return std::nullopt;
  const bool is_of_std = member < undefined;
  log.remove_prefix(is_of_std ? member + kNoMember.size()
                              : undefined + kUndefined.size());
  const std::string_view name = log.substr(0, log.find('"'));
  log.remove_prefix(name.size());
  return MissingName{name, is_of_std};
}

// Returns the name at the caret, if NVRTC says that it is no namespace.
std::string_view missing_namespace(const FirstError& error) {
  if (error.line.find("must be a class or namespace name") == error.line.npos &&
      error.line.find("must be a namespace name") == error.line.npos)
    return "";
  const std::string_view line(error.place.excerpt);
  const auto at = static_cast<std::size_t>(error.place.column - 1);
  if (error.place.column < 1 || at >= line.size()) return "";
  return line.substr(at, end_of_name(line, at) - at);
}

std::string_view embedded_text(std::string_view name) {
  const auto file =
      std::ranges::find(embedded_files(), name, &EmbeddedFile::name);
  return file == embedded_files().end() ? "" : file->text;
}

bool is_usual(std::string_view name) {
  return has_name(embedded_text("standard/cstdint.h"), name) ||
         has_name(embedded_text("standard/constants.h"), name);
}

struct Hint {
  std::string_view name;
  std::string_view text;
};
constexpr std::string_view kHalfHint =
    "add #include <cuda_fp16.h>, or take gpuos::F16 of \"gpuos/half.h\"";
constexpr std::string_view kBfloatHint =
    "add #include <cuda_bf16.h>, or take gpuos::Bf16 of \"gpuos/bfloat16.h\"";
constexpr std::string_view kRuntimeHint =
    "known where one of CUDA's headers is included: add #include "
    "<cuda_runtime.h>";
constexpr std::array<Hint, 19> kHints{{
    {"half", kHalfHint},
    {"__half", kHalfHint},
    {"half2", kHalfHint},
    {"__half2", kHalfHint},
    {"nv_bfloat16", kBfloatHint},
    {"__nv_bfloat16", kBfloatHint},
    {"nv_bfloat162", kBfloatHint},
    {"__nv_bfloat162", kBfloatHint},
    {"cudaError_t", kRuntimeHint},
    {"cudaStream_t", kRuntimeHint},
    {"cudaTextureObject_t", kRuntimeHint},
    {"cudaSurfaceObject_t", kRuntimeHint},
    {"curandState", "add #include <curand_kernel.h>"},
    {"cooperative_groups", "add #include <cooperative_groups.h>"},
    {"nvcuda", "add #include <mma.h>"},
    {"cub", "add #include <cub/cub.cuh>"},
    {"thrust", "add the header of CCCL that has it, as <thrust/complex.h>"},
    {"cuda", "add the header of CCCL that has it, as <cuda/std/complex>"},
    {"complex",
     "take gpuos::C64 or C128 of \"gpuos/complex.h\", cuComplex of "
     "<cuComplex.h>, or cuda::std::complex of <cuda/std/complex>"},
}};
constexpr std::array<Hint, 6> kStdHints{{
    {"min", "CUDA C++ has min() without std::"},
    {"max", "CUDA C++ has max() without std::"},
    {"printf", "CUDA C++ has printf() without std::"},
    {"memcpy", "CUDA C++ has memcpy() without std::"},
    {"memset", "CUDA C++ has memset() without std::"},
    {"cout", "there are no streams; printf() needs no header"},
}};

std::string_view text_for(std::span<const Hint> hints, std::string_view name) {
  const auto hint = std::ranges::find(hints, name, &Hint::name);
  return hint == hints.end() ? "" : hint->text;
}

std::string hint_of_std(std::string_view name) {
  if (const auto text = text_for(kStdHints, name); !text.empty())
    return std::string(text);
  constexpr std::array<Hint, 5> kFiles{{
      {"standard/cmath.h", "<cmath>"},
      {"standard/cstdint.h", "<cstdint>"},
      {"standard/limits.h", "<limits>"},
      {"standard/type_traits.h", "<type_traits>"},
      {"standard/types.h", "<type_traits>"},
  }};
  std::string_view stem = name;
  if (stem.ends_with("_v") || stem.ends_with("_t")) stem.remove_suffix(2);
  for (const Hint& file : kFiles) {
    const std::string_view text = embedded_text(file.name);
    if (has_name(text, name) || has_name(text, stem))
      return concat("add #include ", file.text);
  }
  return "NVRTC has no standard library; CCCL has its own as cuda::std, in "
         "<cuda/std/...>";
}

std::string hint_of(const MissingName& missing) {
  if (missing.is_of_std) return hint_of_std(missing.name);
  if (missing.name.starts_with("FLT_") || missing.name.starts_with("DBL_"))
    return "add #include <cfloat>";
  return std::string(text_for(kHints, missing.name));
}

}  // namespace

std::string FirstError::without_column() const {
  return concat(place.file, ":", place.line, line.substr(end_of_place(line)));
}

FirstError first_error(const std::string& log) {
  const std::vector<std::string_view> lines = lines_of(log);
  auto found = std::ranges::find_if(lines, [](std::string_view line) {
    return end_of_place(line) != line.npos;
  });
  if (found == lines.end())
    found = std::ranges::find_if(lines, may_tell_of_error);
  if (found == lines.end())
    return {lines.empty() ? "no message" : std::string(lines.front()), {}};
  const std::size_t i =
      cause_of(lines, static_cast<std::size_t>(found - lines.begin()));
  FirstError error{std::string(lines[i]), place_in(lines[i])};
  SourcePlace& place = error.place;
  if (place.line == 0) return error;
  if (place.column == 0) error.line = error.without_column();
  if (i + 2 < lines.size() && is_caret(lines[i + 2])) {
    const std::string_view caret = without_indent(lines[i + 2]);
    place.column = static_cast<int>(caret.find('^')) + 1;
    place.excerpt = concat(without_indent(lines[i + 1]), "\n", caret);
  }
  return error;
}

std::string excerpt_of(const std::string& text, const SourcePlace& place) {
  const std::vector<std::string_view> lines = lines_of(text);
  const auto at = static_cast<std::size_t>(place.line - 1);
  const std::string_view line = at < lines.size() ? lines[at] : "";
  if (place.column == 0) return std::string(line);
  return concat(line, "\n",
                std::string(static_cast<std::size_t>(place.column - 1), ' '),
                "^");
}

std::string wrong_name_expression(const std::string& log) {
  return quoted_after(log, "Input name expression was: \"");
}

std::string missing_header(const std::string& line) {
  return quoted_after(line, "open source file \"");
}

bool misses_usual_name(std::string_view log) {
  while (const auto missing = next_missing(log)) {
    if (is_usual(missing->name)) return true;
  }
  return false;
}

std::string name_hint(const FirstError& error, std::string_view log) {
  if (error.line.find("device-side kernel launch") != error.line.npos)
    return "kernels of a module launch none; launch each from the host";
  MissingName missing{missing_namespace(error)};
  std::string hint = hint_of(missing);
  while (hint.empty()) {
    const auto next = next_missing(log);
    if (!next) return "";
    missing = *next;
    hint = hint_of(missing);
  }
  return concat(missing.is_of_std ? "std::" : "", missing.name, ": ", hint);
}

}  // namespace gpuos::jit
