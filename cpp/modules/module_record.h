#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "gpuos/module_registry.h"

namespace gpuos {

/// Records that an image is loaded during its lifetime, and the users of it.
///
/// Threads: any.
class ModuleRecord {
 public:
  /// `device` is -1 for the host.
  ModuleRecord(std::string name, int device, std::size_t bytes);
  ~ModuleRecord();
  ModuleRecord(const ModuleRecord&) = delete;
  ModuleRecord& operator=(const ModuleRecord&) = delete;

  void hold(const std::string& what);
  void release(const std::string& what) noexcept;
  ModuleInfo info() const;

 private:
  const std::string name_;
  const int device_;
  const std::size_t bytes_;
  mutable std::mutex mutex_;
  std::map<std::string, std::size_t> holders_;  // under mutex_
};

/// Shared ownership of a module under a name that the registry shows. `Module`
/// has record().
template <typename Module>
class ModuleUse {
 public:
  ModuleUse() = default;
  ModuleUse(std::shared_ptr<Module> module, std::string what)
      : module_(std::move(module)), what_(std::move(what)) {
    if (module_) module_->record().hold(what_);
  }
  ModuleUse(const ModuleUse& other) : ModuleUse(other.module_, other.what_) {}
  ModuleUse(ModuleUse&& other) noexcept
      : module_(std::move(other.module_)), what_(std::move(other.what_)) {}
  ModuleUse& operator=(ModuleUse other) noexcept {
    std::swap(module_, other.module_);
    std::swap(what_, other.what_);
    return *this;
  }
  ~ModuleUse() {
    if (module_) module_->record().release(what_);
  }

  Module* operator->() const noexcept { return module_.get(); }
  explicit operator bool() const noexcept { return module_ != nullptr; }
  const std::shared_ptr<Module>& shared() const noexcept { return module_; }

 private:
  std::shared_ptr<Module> module_;
  std::string what_;
};

}  // namespace gpuos
