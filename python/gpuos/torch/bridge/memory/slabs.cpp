#include "memory/slabs.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <bit>
#include <memory>

namespace gpuos::bridge {

std::size_t Slabs::class_of_others(std::size_t bytes) noexcept {
  if (bytes == 0) return 0;
  const std::size_t granules = (bytes + kGranule - 1) / kGranule;
  const int doublings = std::bit_width(granules - 1) - 3;
  const std::size_t eighths = ((granules - 1) >> doublings) + 1;  // 5 to 8
  return 8 + 4 * static_cast<std::size_t>(doublings - 1) + eighths - 5;
}

std::size_t Slabs::bytes_of(std::size_t size_class) noexcept {
  if (size_class < 8) return (size_class + 1) * kGranule;
  const std::size_t doublings = (size_class - 8) / 4 + 1;
  return ((size_class - 8) % 4 + 5) * kGranule << doublings;
}

c10::DataPtr Slabs::allocate_anew(std::size_t size_class) {
  for (;;) {
    add_slab(size_class);
    // Another thread may have taken all of it.
    if (Slot* slot = take(size_class))
      return {slot->data, slot, &give_back, stream_.device()};
  }
}

void Slabs::add_slab(std::size_t size_class) {
  c10::OptionalDeviceGuard guard;
  if (!stream_.device().is_cpu()) guard.reset_device(stream_.device());
  auto slab = std::make_unique<Slab>();
  slab->owner = this;
  slab->size_class = size_class;
  slab->memory = c10::GetAllocator(stream_.device_type())->allocate(kSlabBytes);
  const std::size_t step = bytes_of(size_class);
  auto* base = static_cast<char*>(slab->memory.get());
  for (std::size_t at = 0; at + step <= kSlabBytes; at += step)
    slab->slots.push_back({slab.get(), base + at});
  const std::lock_guard lock(mutex_);
  slabs_.reserve(slabs_.size() + 1);
  auto& free = free_[size_class];
  // Room for all slots there are, so that giving one back allocates nothing.
  std::size_t all = slab->slots.size();
  for (const Slab* other : slabs_)
    if (other->size_class == size_class) all += other->slots.size();
  free.reserve(all);
  for (auto slot = slab->slots.rbegin(); slot != slab->slots.rend(); ++slot)
    free.push_back(&*slot);
  slabs_.push_back(slab.release());
}

void Slabs::give_back(void* context) noexcept {
  auto* slot = static_cast<Slot*>(context);
  Slab* slab = slot->slab;
  {
    const std::lock_guard lock(slab->owner->mutex_);
    --slab->used;
    if (!slab->is_shared) slab->owner->free_[slab->size_class].push_back(slot);
    if (!slab->is_shared || slab->used != 0) return;
    std::erase(slab->owner->slabs_, slab);
  }
  delete slab;
}

void Slabs::drop_free_slots(const Slab& slab) noexcept {
  std::erase_if(free_[slab.size_class],
                [&](const Slot* slot) { return slot->slab == &slab; });
}

void Slabs::share(const c10::DataPtr& data, c10::Stream stream) {
  Slab& slab = *static_cast<Slot*>(data.get_context())->slab;
  c10::impl::VirtualGuardImpl(stream.device_type())
      .recordDataPtrOnStream(slab.memory, stream);
  const std::lock_guard lock(slab.owner->mutex_);
  slab.is_shared = true;
  slab.owner->drop_free_slots(slab);
}

void Slabs::trim(std::size_t kept) {
  std::vector<Slab*> dropped;
  {
    const std::lock_guard lock(mutex_);
    for (Slab* slab : slabs_) {
      if (slab->used != 0) continue;
      if (kept >= kSlabBytes)
        kept -= kSlabBytes;
      else
        dropped.push_back(slab);
    }
    for (Slab* slab : dropped) {
      drop_free_slots(*slab);
      std::erase(slabs_, slab);
    }
  }
  for (Slab* slab : dropped) delete slab;
}

}  // namespace gpuos::bridge
