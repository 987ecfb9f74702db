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
#include <utility>

#include "gpuos/error.h"
#include "gpuos/interrupt.h"

namespace gpuos::jit {

/// Results by key, in memory. A value is made once: who asks for one that is
/// being made waits for it. A failure is told to those who waited and then
/// forgotten.
///
/// Threads: any; no lock is held while a value is made.
template <typename Value>
class CompileCache {
 public:
  using Result = std::shared_ptr<const Value>;

  /// `make()` returns a Value.
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

  // Empty: it is for the caller to make.
  std::optional<std::shared_future<Result>> find_or_announce(
      const std::string& key, std::promise<Result>& promise) {
    const std::lock_guard lock(mutex_);
    const auto found = results_.find(key);
    if (found != results_.end()) {
      hits_.fetch_add(1, std::memory_order_relaxed);
      return found->second;
    }
    // Bounded without any order of age: making them again is cheap.
    if (results_.size() >= kMost) results_.clear();
    results_.emplace(key, promise.get_future().share());
    return std::nullopt;
  }

  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_future<Result>> results_;
  std::atomic<std::uint64_t> hits_ = 0;
};

/// The text that names a set of inputs: each field with its length, so that no
/// two sets read the same.
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
