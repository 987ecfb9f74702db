#include "modules/module_handles.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace gpuos::cu {

class ModuleHandles::Handle final : public KernelHandle {
 public:
  Handle(std::shared_ptr<QuickMutex> mutex,
         std::shared_ptr<const LoadedKernel> kernel)
      : mutex_(std::move(mutex)),
        name_(kernel->name()),
        kernel_(std::move(kernel)) {}

  const std::string& name() const noexcept override { return name_; }
  std::shared_ptr<const LoadedKernel> current() const override {
    const std::lock_guard lock(*mutex_);
    return kernel_;
  }
  /// Swaps the kernels. The caller holds the mutex.
  void swap(std::shared_ptr<const LoadedKernel>& other) noexcept {
    kernel_.swap(other);
  }

 private:
  const std::shared_ptr<QuickMutex> mutex_;
  const std::string name_;
  std::shared_ptr<const LoadedKernel> kernel_;  // under *mutex_
};

std::shared_ptr<const KernelHandle> ModuleHandles::add(
    std::shared_ptr<const LoadedKernel> kernel) {
  if (handles_.size() >= prunes_at_) {
    std::erase_if(handles_,
                  [](const auto& handle) { return handle.expired(); });
    prunes_at_ = std::max(prunes_at_, 2 * handles_.size());
  }
  if (mutex_ == nullptr) mutex_ = std::make_shared<QuickMutex>();
  const auto handle = std::make_shared<Handle>(mutex_, std::move(kernel));
  handles_.push_back(handle);
  return handle;
}

void ModuleHandles::replace(const Make& make) {
  std::vector<std::shared_ptr<Handle>> live;
  std::vector<std::shared_ptr<const LoadedKernel>> kernels;
  for (const auto& each : handles_) {
    std::shared_ptr<Handle> handle = each.lock();
    if (handle == nullptr) continue;
    kernels.push_back(make(handle->name()));
    live.push_back(std::move(handle));
  }
  if (live.empty()) return;
  // The old kernels are released after the lock.
  const std::lock_guard lock(*mutex_);
  for (std::size_t i = 0; i < live.size(); ++i) live[i]->swap(kernels[i]);
}

}  // namespace gpuos::cu
