#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "gpuos/error.h"
#include "gpuos/interrupt.h"

namespace gpuos::jit {

/// Holds results by key, in memory. One thread makes a value, and other threads
/// that ask for it wait. The cache tells a failure to those that waited and
/// then forgets it.
///
/// Threads: any. No lock is held while a value is made.
template <typename Value>
class CompileCache {
 public:
  using Result = std::shared_ptr<const Value>;

  /// Returns the value of `key`. Calls `make()` for a Value if there is none.
  template <typename Make>
  Result get(const std::string& key, Make make) {
    std::promise<Result> promise;
    while (const auto made = find_or_announce(key, promise)) {
      while (made->wait_for(Interrupt::kPeriod) != std::future_status::ready)
        Interrupt::check("compile");
      try {
        return made->get();
      } catch (const Cancelled&) {  // NOLINT(bugprone-empty-catch)
        // The thread that compiled it was stopped, and this one was not.
      }
    }
    try {
      Result result = std::make_shared<const Value>(make());
      promise.set_value(result);
      return result;
    } catch (...) {
      {
        const std::lock_guard lock(mutex_);
        results_.erase(key);
      }
      promise.set_exception(std::current_exception());
      throw;
    }
  }

  std::uint64_t hits() const noexcept { return hits_; }

 private:
  static constexpr std::size_t kMost = 4096;

  // Returns a future, or nothing if the caller must make the value.
  std::optional<std::shared_future<Result>> find_or_announce(
      const std::string& key, std::promise<Result>& promise) {
    const std::lock_guard lock(mutex_);
    const auto found = results_.find(key);
    if (found != results_.end()) {
      hits_.fetch_add(1, std::memory_order_relaxed);
      return found->second;
    }
    // The map is bounded without any order of age, because making a value again
    // is cheap.
    if (results_.size() >= kMost) results_.clear();
    results_.emplace(key, promise.get_future().share());
    return std::nullopt;
  }

  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_future<Result>> results_;
  std::atomic<std::uint64_t> hits_ = 0;
};

/// Builds the text that names a set of inputs. It has each field with its
/// length, so no two sets read the same.
class CacheKey {
 public:
  template <typename T>
  CacheKey& add(const T& field) {
    const std::string text = to_text(field);
    text_ += std::to_string(text.size());
    text_ += ':';
    text_ += text;
    return *this;
  }
  const std::string& text() const noexcept { return text_; }

 private:
  static std::string to_text(const std::string& field) { return field; }
  template <typename T>
  static std::string to_text(const T& field) {
    return std::to_string(field);
  }

  std::string text_;
};

}  // namespace gpuos::jit
