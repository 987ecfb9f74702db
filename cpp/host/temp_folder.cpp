#include "host/temp_folder.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/concat.h"
#include "base/environment.h"
#include "gpuos/error.h"

namespace gpuos::host {
namespace {

/// As std::filesystem::temp_directory_path(), which asks the environment.
std::filesystem::path parent_folder() {
  const auto variables = environment();
  for (const char* name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    if (const auto value = variable_of(*variables, name); !value.empty())
      return value;
  }
  return "/tmp";
}

}  // namespace

TempFolder::TempFolder() {
  const std::filesystem::path parent = parent_folder();
  path_ = (parent / "gpuos-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) {
    throw Error(concat("host compiler: cannot make a folder in ",
                       parent.string(), ": ", std::strerror(errno),
                       "; set TMPDIR"));
  }
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempFolder::file(std::string_view name) const {
  return concat(path_, "/", name);
}

void write_file(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) {
    throw Error(concat("host compiler: cannot write ", text.size(),
                       " bytes to ", path, "; set TMPDIR"));
  }
}

std::optional<std::size_t> regular_file_bytes(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      ::access(path.c_str(), R_OK) != 0)
    return std::nullopt;
  return static_cast<std::size_t>(status.st_size);
}

// To open a FIFO would wait for who writes to it.
std::string read_file(const std::string& path, std::size_t limit) {
  const auto size = regular_file_bytes(path);
  std::ifstream file;
  if (size) file.open(path, std::ios::binary);
  if (!file.is_open()) throw Error(concat("host compiler: cannot read ", path));
  std::string text(std::min(*size, limit), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace gpuos::host
