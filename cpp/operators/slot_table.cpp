#include "operators/slot_table.h"

#include <algorithm>

#include "device/builtin_list.h"
#include "device/task_abi.h"
#include "queue/operator_record.h"

namespace gpuos {

SlotTable::SlotTable(Backend& backend, std::function<Marks()> heads,
                     std::function<bool(const Marks&)> wait_past)
    : backend_(backend),
      heads_(std::move(heads)),
      wait_past_(std::move(wait_past)) {
  for (std::uint32_t slot = abi::kSlots; slot-- > kInterpreterSlot + 1;)
    free_.push_back(slot);
}

std::size_t SlotTable::free() const {
  const std::lock_guard lock(mutex_);
  return free_.size();
}

Slots SlotTable::take(std::size_t count) {
  collect();
  std::unique_lock lock(mutex_);
  while (free_.size() < count) {
    lock.unlock();
    const bool may_have_more = wait_for_slots();
    lock.lock();
    if (!may_have_more && free_.size() < count) return {};
  }
  const auto first = free_.end() - static_cast<std::ptrdiff_t>(count);
  Slots slots(first, free_.end());
  free_.erase(first, free_.end());
  return slots;
}

bool SlotTable::wait_for_slots() {
  Marks marks;
  {
    const std::lock_guard lock(mutex_);
    if (dropped_.empty()) return false;
    marks = dropped_.front().marks;
  }
  const bool has_more = wait_past_(marks);
  collect();
  return has_more;
}

void SlotTable::drop(Slots slots) {
  if (slots.empty()) return;
  // The marks are read under the submit lock, after the names stopped naming
  // the slots. No later task can use them.
  Marks marks = heads_();
  {
    const std::lock_guard lock(mutex_);
    dropped_.push_back({std::move(slots), std::move(marks)});
    has_dropped_.store(true, std::memory_order_relaxed);
  }
  collect();
}

void SlotTable::collect() noexcept {
  std::vector<Dropped> unused;
  {
    const std::lock_guard lock(mutex_);
    const auto is_used = [&](const Dropped& dropped) {
      const auto rings = backend_.traits().rings;
      for (std::size_t i = 0; i < rings.size(); ++i) {
        if (rings[i]->completed() < dropped.marks[i]) return true;
      }
      return false;
    };
    const auto first =
        std::partition(dropped_.begin(), dropped_.end(), is_used);
    std::move(first, dropped_.end(), std::back_inserter(unused));
    dropped_.erase(first, dropped_.end());
    if (dropped_.empty()) has_dropped_.store(false, std::memory_order_relaxed);
  }
  // A captured launch may run again at any time. Its slots are never given to
  // others, and its code is never unloaded.
  std::erase_if(unused, [&](const Dropped& dropped) {
    return std::any_of(
        dropped.slots.begin(), dropped.slots.end(),
        [&](std::uint32_t slot) { return backend_.is_captured(slot); });
  });
  for (const Dropped& dropped : unused) backend_.unload(dropped.slots);
  const std::lock_guard lock(mutex_);
  for (const Dropped& dropped : unused)
    free_.insert(free_.end(), dropped.slots.begin(), dropped.slots.end());
}

void SlotTable::give_back(const Slots& slots) {
  const std::lock_guard lock(mutex_);
  free_.insert(free_.end(), slots.begin(), slots.end());
}

}  // namespace gpuos
