#include "host/temp_folder.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "concat.h"
#include "gpuos/error.h"

namespace gpuos::host {

TempFolder::TempFolder() {
  std::error_code error;
  const auto parent = std::filesystem::temp_directory_path(error);
  if (error) {
    throw Error(concat("host compiler: expected a temporary folder, got ",
                       error.message(), "; set TMPDIR"));
  }
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

std::string read_file(const std::string& path, std::size_t limit) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(concat("host compiler: cannot read ", path));
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  std::string text(error ? 0 : std::min<std::uintmax_t>(size, limit), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace gpuos::host
