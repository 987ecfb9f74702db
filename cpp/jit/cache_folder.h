#pragma once

#include <string>
#include <string_view>

#include "jit/file_handle.h"

namespace gpuos::jit {

enum class FolderUse {
  ReadWrite,  // made if it is missing; ours, and nobody else's to write
  ReadOnly    // root may own it too
};

/// An open folder of the cache, or why it is not one.
struct CacheFolder {
  FileHandle handle;
  std::string problem;

  explicit operator bool() const { return handle.is_open(); }
};

/// Opened anew for each use: it may come, go or change its owner at any time.
/// What was checked is what is used, whatever its path leads to later.
CacheFolder open_folder(const std::string& path, FolderUse use);

/// Whether files can be added; no if the disk is mounted read-only.
bool can_write(const CacheFolder& folder);

/// Whether a file of the cache could have been written by somebody else.
/// Empty if not.
std::string distrust(const FileHandle& file, FolderUse use);

}  // namespace gpuos::jit
