#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gpuos::host {

/// A folder that only this user can read. It is removed with its files. The
/// next process that makes such a folder removes those of killed processes.
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
  int lock_ = -1;  // of the folder; its holder is alive
};

/// Removes the folders in `parent` whose processes are gone, but none younger
/// than a minute. Returns how many there were.
std::size_t remove_left_folders(const std::string& parent) noexcept;

/// Throws: Error.
void write_file(const std::string& path, std::string_view text);
/// Empty: there is no plain file, or it cannot be read.
std::optional<std::size_t> regular_file_bytes(const std::string& path);
/// Returns at most `limit` bytes of a regular file. Throws: Error.
std::string read_file(const std::string& path, std::size_t limit);

}  // namespace gpuos::host
