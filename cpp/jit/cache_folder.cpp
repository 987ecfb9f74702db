#include "jit/cache_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/concat.h"

namespace gpuos::jit {
namespace {

// Like `mkdir -p -m 700`. Returns 0 or what is in the way.
int make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1))
    ::mkdir(path.substr(0, end).c_str(), 0700);
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

FileHandle open_path(const std::string& path) {
  return FileHandle(
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::string open_problem(const std::string& path, int error) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
    return concat(path, ": expected a folder, got a symbolic link");
  return concat(path, ": ", std::strerror(error));
}

}  // namespace

std::string distrust(const FileHandle& file, FolderUse use) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return std::strerror(errno);
  const bool is_ours = status.st_uid == ::geteuid() ||
                       (use == FolderUse::ReadOnly && status.st_uid == 0);
  if (!is_ours)
    return concat("expected user ", ::geteuid(), " as the owner, got user ",
                  status.st_uid);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return concat("group or others may write to it (mode ", std::oct,
                  status.st_mode & 07777, "); run: chmod go-w");
  return "";
}

bool can_write(const CacheFolder& folder) {
  return ::faccessat(folder.handle.get(), ".", W_OK | X_OK, AT_EACCESS) == 0;
}

CacheFolder open_folder(const std::string& path, FolderUse use) {
  CacheFolder folder;
  folder.handle = open_path(path);
  if (!folder && errno == ENOENT && use == FolderUse::ReadWrite) {
    if (const int error = make_folders(path)) {
      folder.problem = concat(path, ": cannot make it: ", std::strerror(error));
      return folder;
    }
    folder.handle = open_path(path);
  }
  if (!folder) {
    folder.problem = open_problem(path, errno);
    return folder;
  }
  if (std::string problem = distrust(folder.handle, use); !problem.empty()) {
    folder.handle.close();
    folder.problem = concat(path, ": ", problem);
  }
  return folder;
}

}  // namespace gpuos::jit
