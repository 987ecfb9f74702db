// Memory for small results, cut from larger blocks of PyTorch's allocator.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "memory/patient_mutex.h"

namespace gpuos::bridge {

/// Blocks of one stream, cut into slots that are used again at once: what a
/// small operation's result costs otherwise is mostly the allocator.
///
/// A slot is free when its storage is, which is late enough in the stream, as
/// it is for the allocator.
/// Threads: any. Lifetime: storages point at it, so it stays for ever.
class Slabs {
 public:
  /// Larger results are the allocator's.
  static constexpr std::size_t kMostBytes = std::size_t{128} << 10;

  explicit Slabs(c10::Stream stream) : stream_(stream) {}
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  /// At most kMostBytes; the stream must be the current one.
  /// Throws: c10::Error if there is no memory.
  c10::DataPtr allocate(std::size_t bytes) {
    const std::size_t size_class = class_of(bytes);
    if (Slot* slot = take(size_class); C10_LIKELY(slot != nullptr))
      return {slot->data, slot, &give_back, stream_.device()};
    return allocate_anew(size_class);
  }
  /// Frees unused blocks, except `kept` bytes.
  void trim(std::size_t kept);

  /// Used in a forked child, which does not have the thread that held the lock.
  void unlock() noexcept { mutex_.unlock(); }

  static bool is_slot(const c10::DataPtr& data) noexcept {
    return data.get_deleter() == &give_back;
  }
  /// Notes that another stream uses a slot too. Only PyTorch's allocator knows
  /// then when its block may be used again.
  static void share(const c10::DataPtr& data, c10::Stream stream);

 private:
  static constexpr std::size_t kSlabBytes = std::size_t{1} << 20;
  static constexpr std::size_t kGranule = 512;
  // 1 to 8 granules, then four sizes for each doubling.
  static constexpr std::size_t kClasses = 8 + 4 * 5;

  struct Slab;
  struct Slot {
    Slab* slab;
    void* data;
  };
  struct Slab {
    Slabs* owner;
    std::size_t size_class;
    c10::DataPtr memory;
    std::vector<Slot> slots;
    std::uint32_t used = 0;
    bool is_shared = false;  // its slots are not used again
  };
  static std::size_t class_of(std::size_t bytes) noexcept {
    if (C10_LIKELY(bytes - 1 < 8 * kGranule)) return (bytes - 1) / kGranule;
    return class_of_others(bytes);
  }
  static std::size_t class_of_others(std::size_t bytes) noexcept;
  static std::size_t bytes_of(std::size_t size_class) noexcept;
  static void give_back(void* slot) noexcept;

  /// Returns a free slot, or null if there is none.
  Slot* take(std::size_t size_class) noexcept {
    const std::lock_guard lock(mutex_);
    auto& free = free_[size_class];
    if (free.empty()) return nullptr;
    Slot* slot = free.back();
    free.pop_back();
    ++slot->slab->used;
    return slot;
  }
  c10::DataPtr allocate_anew(std::size_t size_class);
  void add_slab(std::size_t size_class);
  void drop_free_slots(const Slab& slab) noexcept;

  const c10::Stream stream_;
  PatientMutex mutex_;
  std::array<std::vector<Slot*>, kClasses> free_;  // under mutex_
  std::vector<Slab*> slabs_;                       // under mutex_
};

}  // namespace gpuos::bridge
