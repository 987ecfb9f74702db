#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "host/host_image.h"

namespace gpuos::host {

/// Compiled images by source; the oldest go when there are too many.
///
/// Threads: any.
class ImageCache {
 public:
  using Image = std::shared_ptr<const HostImage>;

  /// Null if it is not there.
  Image find(const std::string& source) const {
    const std::lock_guard lock(mutex_);
    const auto found = images_.find(source);
    return found == images_.end() ? nullptr : found->second;
  }

  void add(const std::string& source, const Image& image) {
    const std::lock_guard lock(mutex_);
    if (!images_.try_emplace(source, image).second) return;
    order_.push_back(source);
    if (order_.size() <= kMaxImages) return;
    images_.erase(order_.front());
    order_.pop_front();
  }

 private:
  static constexpr std::size_t kMaxImages = 256;

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Image> images_;
  std::deque<std::string> order_;
};

}  // namespace gpuos::host
