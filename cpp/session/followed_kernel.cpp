#include "session/followed_kernel.h"

#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos::session {

NewestKernels::Found NewestKernels::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return is_closed_ ? nullptr : find_(name);
}

void NewestKernels::close() {
  const LookLock lock(mutex_);
  is_closed_ = true;
}

FollowedKernel::FollowedKernel(std::string name,
                               std::shared_ptr<const NewestKernels> newest)
    : name_(std::move(name)),
      newest_(std::move(newest)),
      changes_(newest_->changes()),
      kernel_(newest_->find(name_)) {
  parameters_ = kernel_->parameters();
}

std::shared_ptr<const cu::LoadedKernel> FollowedKernel::current() const {
  // This is read first. A change during the search below then causes another
  // search.
  const std::uint64_t changes = newest_->changes();
  {
    const std::lock_guard lock(mutex_);
    if (changes_ >= changes) return kernel_;
  }
  // The lock is not held here, because find() may have to compile.
  NewestKernels::Found found = newest_->find(name_);
  if (found != nullptr && !cu::take_the_same(parameters_, found->parameters()))
    throw InvalidArgument(
        concat(name_, ": expected the parameters ", cu::text_of(parameters_),
               " that this handle was made for, got ",
               cu::text_of(found->parameters()), "; get a new handle"));
  const std::lock_guard lock(mutex_);
  if (found == nullptr || changes_ >= changes) return kernel_;
  changes_ = changes;
  kernel_.swap(found);
  return kernel_;
}

}  // namespace gpuos::session
