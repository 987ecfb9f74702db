#include "outputs.h"

#include <c10/core/Allocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "hooks.h"
#include "places.h"

namespace gpuos::bridge {
namespace {

using c10::StorageImpl;
using StoragePtr = c10::intrusive_ptr<StorageImpl>;

constexpr std::size_t kKeptBytes = std::size_t{64} << 20;
constexpr std::size_t kMostKept = 4096;  // of one size
constexpr int kLooks = 2;                // at kept storages, for each output

std::atomic<bool> may_keep{true};
std::atomic<std::uint64_t> epoch{0};  // drop_storages() of any thread

/// Storages of one size, all of one stream, used by turns.
struct Kept {
  struct One {
    StoragePtr storage;
    const void* data;  // share_memory_() and the like replace it
  };
  std::size_t bytes = 0;
  std::size_t next = 0;
  std::vector<One> storages;
};

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
  Kept& of_size(std::size_t wanted) {
    for (Kept& one : kept)
      if (one.bytes == wanted) return one;
    Kept& oldest = kept[turn++ % kSizes];
    bytes -= oldest.bytes * oldest.storages.size();
    oldest = {};
    oldest.bytes = wanted;
    return oldest;
  }
};

// A pointer: what a loaded library may keep in a thread is small.
thread_local std::unique_ptr<Pool> pool;

StoragePtr allocate(std::size_t bytes, c10::Device device) {
  c10::OptionalDeviceGuard guard;
  if (!device.is_cpu()) guard.reset_device(device);
  auto* allocator = c10::GetAllocator(device.type());
  return c10::make_intrusive<StorageImpl>(
      StorageImpl::use_byte_size_t(), static_cast<std::int64_t>(bytes),
      allocator->allocate(bytes), allocator, /*resizable=*/true);
}

bool is_unused(const Kept::One& one, std::size_t bytes) {
  StorageImpl* storage = one.storage.get();
  return is_held_by(storage, 1) && storage->nbytes() == bytes &&
         !is_watched_by_others(storage) &&
         storage->_mutable_data_ptr_no_checks().get() == one.data;
}

StoragePtr find_storage(std::size_t bytes, c10::Device device) {
  if (bytes == 0 || !may_keep.load(std::memory_order_relaxed))
    return allocate(bytes, device);
  if (pool == nullptr) pool = std::make_unique<Pool>();
  const c10::Stream stream = current_place(device).stream;
  const std::uint64_t now = epoch.load(std::memory_order_relaxed);
  if (pool->stream != stream || pool->epoch != now) {
    pool->clear();
    pool->stream = stream;
    pool->epoch = now;
  }
  Kept& kept = pool->of_size(bytes);
  for (int look = 0; look < kLooks && !kept.storages.empty(); ++look) {
    if (++kept.next >= kept.storages.size()) kept.next = 0;
    const Kept::One& one = kept.storages[kept.next];
    if (is_unused(one, bytes)) return one.storage;
  }
  StoragePtr storage = allocate(bytes, device);
  if (kept.storages.size() < kMostKept && pool->bytes + bytes <= kKeptBytes) {
    kept.storages.push_back(
        {storage, storage->_mutable_data_ptr_no_checks().get()});
    pool->bytes += bytes;
  }
  return storage;
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

void drop_storages() { epoch.fetch_add(1, std::memory_order_relaxed); }

void keep_storages(bool keep) {
  may_keep.store(keep, std::memory_order_relaxed);
  drop_storages();
}

}  // namespace gpuos::bridge
