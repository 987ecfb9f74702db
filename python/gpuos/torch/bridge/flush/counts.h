// Counts by operator or by reason.
#pragma once

#include <ATen/core/operator_name.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace gpuos::bridge {

/// The reason of a flush: an operator of PyTorch, or a text. Lifetime: the
/// process's.
class Cause {
 public:
  Cause(const c10::OperatorName& name)  // NOLINT(google-explicit-constructor)
      : operator_(&name), key_(&name) {}
  Cause(const char* text)  // NOLINT(google-explicit-constructor)
      : text_(text), key_(text) {}

  const void* key() const noexcept { return key_; }
  std::string name() const {
    return operator_ == nullptr ? text_ : c10::toString(*operator_);
  }

 private:
  const c10::OperatorName* operator_ = nullptr;
  const char* text_ = nullptr;
  const void* key_;
};

/// Counts causes. A cause that came before costs a few instructions.
///
/// Threads: any.
class Counts {
 public:
  void add(const Cause& cause) {
    std::size_t i =
        reinterpret_cast<std::uintptr_t>(cause.key()) * 0x9e3779b97f4a7c15 >>
        kShift;
    for (;; i = (i + 1) % kPlaces) {
      // Pairs with the release in insert().
      const void* key = places_[i].key.load(std::memory_order_acquire);
      if (key == nullptr) key = insert(i, cause);
      if (key == nullptr) return;  // no more are counted
      if (key == cause.key()) break;
    }
    places_[i].count.fetch_add(1, std::memory_order_relaxed);
  }
  /// Returns the counts by name.
  std::map<std::string, std::uint64_t> all() const;

 private:
  // PyTorch has 3,000 operators. A program uses some hundred of them.
  static constexpr int kBits = 12;
  static constexpr std::size_t kPlaces = 1 << kBits;
  static constexpr int kShift = 64 - kBits;

  struct Place {
    std::atomic<const void*> key{nullptr};
    std::atomic<std::uint64_t> count{0};
    std::string name{};  // written before `key`
  };

  /// Returns the key of the place, which another thread may have taken. Null:
  /// the table is full.
  const void* insert(std::size_t place, const Cause& cause);

  std::array<Place, kPlaces> places_{};
  std::mutex mutex_;
  std::size_t used_ = 0;  // under mutex_
};

/// The operators that PyTorch ran inside of schedulers.
extern Counts run_by_pytorch;
/// The causes of flushes.
extern Counts flush_causes;

}  // namespace gpuos::bridge
