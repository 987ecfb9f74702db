#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "host/temp_folder.h"
#include "jit/cache/cache_entry.h"
#include "jit/cache/disk_cache.h"

namespace gpuos::jit {

inline CacheEntry entry_of(const std::string& key, std::size_t bytes = 100) {
  CacheEntry entry;
  entry.key = key;
  entry.name = "axpy.cu";
  entry.arch = "sm_90";
  entry.image.binary = std::string(bytes, 'b') + key;
  entry.image.entries = {"gpuos_entry_axpy", "gpuos_entry_other"};
  entry.image.symbols = {{"k<float>", "_Z1kIfEvv"}};
  entry.image.needs = {.registers = 20,
                       .stack_bytes = 8,
                       .shared_bytes = 0,
                       .constant_bytes = 0,
                       .barriers = 1,
                       .uses_shared = false};
  entry.image.log = "a warning";
  return entry;
}

inline CacheSettings settings_for(const std::string& folder,
                                  std::uint64_t max_bytes = 64 << 20) {
  CacheSettings settings;
  settings.folder = folder;
  settings.max_bytes = max_bytes;
  return settings;
}

/// Names in `folder`, in no order.
inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator(folder))
    names.push_back(item.path().filename().string());
  return names;
}

/// Starts a child that ends with the result of `body`.
inline pid_t start_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(60);
  int code = 99;
  try {
    code = body();
  } catch (...) {
    code = 98;
  }
  _exit(code);
}

/// Returns its exit code, or -1 if a signal ended it.
inline int wait_for(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace gpuos::jit
