#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gpuos::host {

/// A folder that only this user can read; removed with its files.
class TempFolder {
 public:
  /// Throws: Error if the temporary folder cannot be written.
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::string file(std::string_view name) const;

 private:
  std::string path_;
};

/// Throws: Error.
void write_file(const std::string& path, std::string_view text);
/// Empty: there is no plain file, or it cannot be read.
std::optional<std::size_t> regular_file_bytes(const std::string& path);
/// At most `limit` bytes of a plain file. Throws: Error.
std::string read_file(const std::string& path, std::size_t limit);

}  // namespace gpuos::host
