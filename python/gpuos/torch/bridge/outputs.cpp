#include "outputs.h"

#include <c10/core/Allocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hooks.h"
#include "keys.h"
#include "places.h"

namespace gpuos::bridge {
namespace {

using c10::StorageImpl;
using StoragePtr = c10::intrusive_ptr<StorageImpl>;

constexpr std::size_t kKeptBytes = std::size_t{64} << 20;

std::atomic<bool> may_keep{true};
std::atomic<std::uint64_t> epoch{0};  // drop_storages() of any thread

/// Storages of one size that nobody uses, the last one on top.
struct Kept {
  std::size_t bytes = 0;
  std::vector<StoragePtr> storages;
};

/// Of one stream.
struct Pool {
  static constexpr std::size_t kSizes = 8;
  std::array<Kept, kSizes> kept;
  std::size_t turn = 0;
  std::size_t bytes = 0;
  std::uint64_t epoch = 0;
  c10::Stream stream{c10::Stream::DEFAULT, c10::Device(c10::kCPU)};

  void clear() {
    for (Kept& one : kept) one = {};
    bytes = 0;
  }
  /// Empties it if it is of another stream, or was dropped.
  void use_for(c10::Stream wanted) {
    const std::uint64_t now = ::gpuos::bridge::epoch.load();
    if (stream == wanted && epoch == now) return;
    clear();
    stream = wanted;
    epoch = now;
  }
  Kept* find(std::size_t wanted) {
    for (Kept& one : kept)
      if (one.bytes == wanted) return &one;
    return nullptr;
  }
  Kept& make(std::size_t wanted) {
    if (Kept* known = find(wanted)) return *known;
    Kept& oldest = kept[turn++ % kSizes];
    bytes -= oldest.bytes * oldest.storages.size();
    oldest = {};
    oldest.bytes = wanted;
    return oldest;
  }
};

thread_local Pool* pool GPUOS_NEAR_TLS = nullptr;

StoragePtr allocate(std::size_t bytes, c10::Device device) {
  c10::OptionalDeviceGuard guard;
  if (!device.is_cpu()) guard.reset_device(device);
  auto* allocator = c10::GetAllocator(device.type());
  return c10::make_intrusive<StorageImpl>(
      StorageImpl::use_byte_size_t(), static_cast<std::int64_t>(bytes),
      allocator->allocate(bytes), allocator, /*resizable=*/true);
}

StoragePtr find_storage(std::size_t bytes, c10::Device device) {
  if (pool == nullptr || pool->bytes == 0) return allocate(bytes, device);
  pool->use_for(current_place(device).stream);
  Kept* kept = pool->find(bytes);
  if (kept == nullptr || kept->storages.empty()) return allocate(bytes, device);
  StoragePtr storage = std::move(kept->storages.back());
  kept->storages.pop_back();
  pool->bytes -= bytes;
  return storage;
}

// Storages of never_recycle(). One that was freed meanwhile and is another's
// now is not used again either, which only costs time.
std::mutex streams_mutex;
std::unordered_set<const StorageImpl*> in_streams;  // under streams_mutex
std::atomic<bool> has_streams{false};

bool is_in_streams(const StorageImpl* storage) {
  // Pairs with the release in never_recycle().
  if (!has_streams.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(streams_mutex);
  return in_streams.erase(storage) != 0;
}

std::size_t element_count(at::IntArrayRef sizes) {
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  return count;
}

}  // namespace

Tensor make_output(at::IntArrayRef sizes, at::IntArrayRef strides,
                   at::ScalarType type, c10::Device device) {
  const caffe2::TypeMeta meta = c10::scalarTypeToTypeMeta(type);
  StoragePtr storage =
      find_storage(element_count(sizes) * meta.itemsize(), device);
  const auto key =
      device.is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA;
  Tensor out = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(std::move(storage)), c10::DispatchKeySet(key), meta);
  auto* impl = out.unsafeGetTensorImpl();
  if (strides.empty())
    impl->set_sizes_contiguous(sizes);
  else
    impl->set_sizes_and_strides(sizes, strides);
  return out;
}

void recycle(StorageImpl* storage, c10::Stream stream) {
  StoragePtr owned = StoragePtr::reclaim(storage);
  const std::size_t bytes = owned->nbytes();
  // Memory that is shared with a process or the like is not the allocator's.
  const bool is_own = owned->_mutable_data_ptr_no_checks().get_deleter() ==
                      c10::GetAllocator(stream.device_type())->raw_deleter();
  if (bytes == 0 || !is_own || !may_keep.load(std::memory_order_relaxed) ||
      is_in_streams(storage))
    return;
  if (pool == nullptr) pool = new Pool();
  pool->use_for(stream);
  if (pool->bytes + bytes > kKeptBytes) return;
  pool->make(bytes).storages.push_back(std::move(owned));
  pool->bytes += bytes;
}

void never_recycle(const StorageImpl* storage) {
  const std::lock_guard lock(streams_mutex);
  in_streams.insert(storage);
  has_streams.store(true, std::memory_order_release);
}

void drop_storages() {
  epoch.fetch_add(1, std::memory_order_relaxed);
  delete std::exchange(pool, nullptr);
}

void keep_storages(bool keep) {
  may_keep.store(keep, std::memory_order_relaxed);
  drop_storages();
}

}  // namespace gpuos::bridge
