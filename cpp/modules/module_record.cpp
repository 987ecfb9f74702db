#include "modules/module_record.h"

#include <algorithm>

namespace gpuos {
namespace {

struct Records {
  std::mutex mutex;
  std::vector<const ModuleRecord*> all;  // under mutex
};

// Never destroyed: handles that outlive main() may still let modules go.
Records& records() {
  static auto* const instance = new Records;
  return *instance;
}

}  // namespace

ModuleRecord::ModuleRecord(std::string name, int device, std::size_t bytes)
    : name_(std::move(name)), device_(device), bytes_(bytes) {
  Records& all = records();
  const std::lock_guard lock(all.mutex);
  all.all.push_back(this);
}

ModuleRecord::~ModuleRecord() {
  Records& all = records();
  const std::lock_guard lock(all.mutex);
  std::erase(all.all, this);
}

void ModuleRecord::hold(const std::string& what) {
  const std::lock_guard lock(mutex_);
  ++holders_[what];
}

void ModuleRecord::release(const std::string& what) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = holders_.find(what);
  if (found == holders_.end()) return;
  if (--found->second == 0) holders_.erase(found);
}

ModuleInfo ModuleRecord::info() const {
  const std::lock_guard lock(mutex_);
  ModuleInfo info{
      .name = name_, .device = device_, .bytes = bytes_, .holders = {}};
  for (const auto& [what, count] : holders_)
    info.holders.push_back({what, count});
  return info;
}

std::vector<ModuleInfo> ModuleRegistry::list() {
  Records& all = records();
  const std::lock_guard lock(all.mutex);
  std::vector<ModuleInfo> infos;
  for (const ModuleRecord* record : all.all) infos.push_back(record->info());
  return infos;
}

}  // namespace gpuos
