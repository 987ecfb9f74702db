#include "jit/headers/source_inputs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>
#include <unordered_set>

#include "base/c_text.h"
#include "base/concat.h"
#include "base/embedded.h"
#include "gpuos/error.h"
#include "jit/cache/compile_cache.h"
#include "jit/cache/sha256.h"

namespace gpuos::jit {
namespace {

using Names = std::vector<std::string>;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

// Reads a directive, which begins with '#' or "%:", token by token.
class Directive {
 public:
  explicit Directive(std::string_view line)
      : line_(line), scanner_(line, CScanner::Begin::InLine) {
    next();
    next();
  }

  // Returns false if the names cannot be told.
  bool add_to(Names& names) {
    const std::string_view word = token_.text;
    if (word.starts_with("include")) {
      next();
      return word == "include" && add_name(names) &&
             token_.kind == CTokenKind::End;
    }
    if (word == "embed" || has(line_, "__has_embed")) return false;
    const bool is_condition =
        word.starts_with("if") || word.starts_with("elif");
    if (!is_condition && !has(line_, "__has_include")) return true;
    // A macro in a condition may call __has_include, so each (<name>) and
    // ("name") counts. Only the compiler knows the name in (MACRO).
    for (bool asks = false; token_.kind != CTokenKind::End;) {
      const CToken token = token_;
      next();
      if (token.is("(") && !add_name(names) && asks && is_condition)
        return false;
      asks = token.text.starts_with("__has_include");
    }
    return true;
  }

 private:
  void next() { token_ = scanner_.next(); }

  // Adds "name" or <name>. No compiler looks for comments and texts in <name>.
  bool add_name(Names& names) {
    if (token_.kind == CTokenKind::Text && token_.text.front() == '"') {
      const std::string_view name =
          token_.text.substr(1, token_.text.size() - 2);
      if (!token_.suffix.empty() || has(name, "\"")) return false;
      names.emplace_back(name);
      next();
      return true;
    }
    if (!token_.is("<")) return false;
    const std::string_view rest(token_.text.end(), line_.end());
    const std::string_view name = rest.substr(0, rest.find('>'));
    if (name.size() == rest.size() || has(name, "//") || has(name, "/*") ||
        name.find_first_of(" \"") != name.npos)
      return false;
    names.emplace_back(name);
    scanner_ = CScanner(rest.substr(name.size() + 1), CScanner::Begin::InLine);
    next();
    return true;
  }

  std::string_view line_;
  CScanner scanner_;
  CToken token_;
};

std::optional<std::string> read_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status) || fs::is_directory(status)) return std::nullopt;
  // The compiler would wait for a process that writes to the file, or read
  // without an end.
  if (!fs::is_regular_file(status))
    throw CompileError(concat("#include: expected a plain file, got ", path),
                       "");
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class Closure {
 public:
  Closure(std::span<const JitHeader> headers,
          std::span<const std::string> include_dirs)
      : headers_(headers), include_dirs_(include_dirs) {}

  // Returns false if the inputs cannot be told.
  bool add(std::string_view text, const std::string& folder) {
    const auto includes = includes_of(text);
    if (!includes) return false;
    return std::ranges::all_of(*includes, [&](const std::string& name) {
      return add_header(name, folder);
    });
  }

  std::string digest() const { return sha256_hex(key_.text()); }

 private:
  bool add_header(const std::string& name, const std::string& folder) {
    for (const JitHeader& header : headers_) {
      if (header.name == name) return add_text(name, header.text, "");
    }
    // The key of the compilers has the embedded headers. A file of the user
    // comes before a standard header.
    if (is_embedded(name) && !is_standard_header(name)) return true;
    key_.add(name);
    return std::ranges::all_of(
        places(name, folder), [&](const std::string& path) {
          if (seen_.contains(path)) return true;
          const auto text = read_file(path);
          return !text ||
                 add_text(path, *text,
                          std::filesystem::path(path).parent_path().string());
        });
  }

  // Returns places next to the including file, then in the given folders.
  std::vector<std::string> places(const std::string& name,
                                  const std::string& folder) const {
    const std::filesystem::path path(name);
    if (path.is_absolute()) return {name};
    std::vector<std::string> result;
    if (!folder.empty()) result.push_back((folder / path).string());
    for (const std::string& dir : include_dirs_)
      result.push_back((std::filesystem::path(dir) / path).string());
    return result;
  }

  bool add_text(const std::string& name, const std::string& text,
                const std::string& folder) {
    if (!seen_.insert(name).second) return true;
    key_.add(name).add(text);
    return add(text, folder);
  }

  std::span<const JitHeader> headers_;
  std::span<const std::string> include_dirs_;
  std::set<std::string> seen_;
  CacheKey key_;
};

constexpr std::string_view kIntegers = "#include \"standard/cstdint.h\"\n";
constexpr std::string_view kLimits = "#include \"standard/limits.h\"\n";
constexpr std::string_view kMath = "#include \"standard/cmath.h\"\n";
constexpr std::string_view kTraits = "#include \"standard/type_traits.h\"\n";
constexpr std::string_view kAssert = "#include \"asserts.h\"\n";

constexpr std::array<StandardHeader, 14> kHeaders{{
    {"cstdint", kIntegers},
    {"stdint.h", kIntegers},
    {"cstddef", kIntegers},
    {"stddef.h", kIntegers},
    {"climits", kIntegers},
    {"limits.h", kIntegers},
    {"limits", kLimits},
    {"cfloat", kLimits},
    {"float.h", kLimits},
    {"cmath", kMath},
    {"math.h", kMath},
    {"type_traits", kTraits},
    {"cassert", kAssert},
    {"assert.h", kAssert},
}};

}  // namespace

bool names_clock(std::string_view source) {
  return has(source, "__DATE__") ||
         has(source, "__TIME");  // also __TIMESTAMP__
}

bool is_embedded(std::string_view name) {
  static const auto* const names = new std::unordered_set<std::string>([] {
    std::unordered_set<std::string> all;
    for (const EmbeddedFile& file : embedded_files()) {
      all.emplace(file.name);
      all.insert(concat("gpuos/", file.name));
    }
    for (const StandardHeader& header : standard_headers())
      all.emplace(header.name);
    return all;
  }());
  return names->contains(std::string(name));
}

std::optional<Names> includes_of(std::string_view source) {
  if (names_clock(source)) return std::nullopt;
  Names names;
  const bool has_joined = source.find('\\') != source.npos;
  const std::string joined = has_joined ? join_lines(source) : "";
  CScanner scanner(has_joined ? joined : source);
  for (CToken token = scanner.next_directive(); token.kind != CTokenKind::End;
       token = scanner.next_directive()) {
    if (token.kind != CTokenKind::Directive ||
        !Directive(token.text).add_to(names))
      return std::nullopt;
  }
  return names;
}

bool stands_alone(std::string_view source) {
  const auto names = includes_of(source);
  return names && std::ranges::all_of(*names, is_embedded);
}

std::optional<std::string> include_digest(
    std::string_view source, std::span<const JitHeader> headers,
    std::span<const std::string> include_dirs, const std::string& folder) {
  Closure closure(headers, include_dirs);
  if (!closure.add(source, folder)) return std::nullopt;
  return closure.digest();
}

std::span<const StandardHeader> standard_headers() { return kHeaders; }

bool is_standard_header(std::string_view name) {
  return std::ranges::find(kHeaders, name, &StandardHeader::name) !=
         kHeaders.end();
}

}  // namespace gpuos::jit
