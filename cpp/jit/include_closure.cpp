#include "jit/include_closure.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/compile_cache.h"
#include "jit/sha256.h"
#include "jit/source_inputs.h"
#include "jit/standard_headers.h"

namespace gpuos::jit {
namespace {

std::optional<std::string> read_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status) || fs::is_directory(status)) return std::nullopt;
  // The compiler would wait for who writes to it, or read without an end.
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

  // False: it cannot be told.
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
    // In the key of the compilers. A file of the user's comes before a
    // standard header.
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

  // Next to the file that includes it, then in the given folders.
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

}  // namespace

std::optional<std::string> include_digest(
    std::string_view source, std::span<const JitHeader> headers,
    std::span<const std::string> include_dirs, const std::string& folder) {
  Closure closure(headers, include_dirs);
  if (!closure.add(source, folder)) return std::nullopt;
  return closure.digest();
}

}  // namespace gpuos::jit
