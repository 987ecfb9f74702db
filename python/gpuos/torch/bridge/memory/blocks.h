// Tensors and storages of results, in blocks of memory that are used again.
#pragma once

#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "memory/slabs.h"
#include "pytorch/keys.h"
#include "pytorch/memory.h"

namespace gpuos::bridge {

/// A thread's unused blocks of one size, the newest on top. The thread that
/// frees a block keeps it.
class FreeBlocks {
 public:
  /// `bytes`: of a block that will be written. Null: there is none.
  void* take(std::size_t bytes) noexcept {
    if (C10_UNLIKELY(count_ == 0)) return nullptr;
    void* block = blocks_[--count_];
    // With many kept results, the next block was freed long ago.
    if (C10_LIKELY(count_ > 1)) prefetch_to_write(blocks_[count_ - 2], bytes);
    return block;
  }
  /// Returns the block that take() returns next, or null.
  void* next() const noexcept {
    return C10_LIKELY(count_ != 0) ? blocks_[count_ - 1] : nullptr;
  }
  /// False: there are enough.
  bool give(void* block) noexcept {
    if (C10_UNLIKELY(count_ == room_) && !make_room()) return false;
    blocks_[count_++] = block;
    return true;
  }
  /// The thread ends: keeps no more from now on.
  void close() noexcept;

 private:
  static constexpr std::size_t kMost = 16'384;

  /// Makes the blocks of this thread be freed when it ends. A destructor would
  /// add a call to every use.
  bool make_room() noexcept;

  void** blocks_ = nullptr;
  std::size_t count_ = 0;
  std::size_t room_ = 0;
  bool is_closed_ = false;
};

extern constinit thread_local FreeBlocks storage_blocks GPUOS_NEAR_TLS;
extern constinit thread_local FreeBlocks tensor_blocks GPUOS_NEAR_TLS;

struct ResultStorage final : c10::StorageImpl {
  using c10::StorageImpl::StorageImpl;
  /// Takes a slot. Throws: as Slabs::allocate().
  ResultStorage(std::size_t bytes, Slabs& slabs, c10::Allocator* allocator)
      : StorageImpl(use_byte_size_t(), static_cast<std::int64_t>(bytes),
                    slabs.allocate(bytes), allocator, /*resizable=*/true) {}

  static void* operator new(std::size_t bytes) {
    void* block = storage_blocks.take(bytes);
    return C10_LIKELY(block != nullptr) ? block : ::operator new(bytes);
  }
  static void operator delete(void* block) noexcept {
    if (!storage_blocks.give(block)) ::operator delete(block);
  }
};

/// The block stores, after the tensor, the version counter of its previous
/// tensor for the next one. PyTorch allocates one for each tensor.
struct ResultTensor final : c10::TensorImpl {
  /// `keys`: the keys that PyTorch gives such a tensor.
  ResultTensor(c10::Storage&& storage, DispatchKeySet keys,
               caffe2::TypeMeta type)
      // Without keys of autograd no counter is allocated.
      : TensorImpl(VIEW, std::move(storage), keys & kKernelKeys, type) {
    key_set_ = keys;
    // Tensors of inference mode count no versions.
    if (C10_UNLIKELY(!keys.has(DispatchKey::ADInplaceOrView))) return;
    c10::VariableVersion& counter = counter_of(this);
    // A view may have kept it.
    if (C10_LIKELY(counter.enabled() && counter.unique())) {
      // Pairs with the release in which such a view gave it back.
      std::atomic_thread_fence(std::memory_order_acquire);
      if (C10_UNLIKELY(counter.current_version() != 0)) counter.set_version(0);
      version_counter_ = std::move(counter);
    } else {
      counter = c10::VariableVersion();
      version_counter_ = c10::VariableVersion(0);
    }
  }
  /// The counter is in a separate cache line, which was not read for long.
  ~ResultTensor() override { counter_of(this) = std::move(version_counter_); }

  /// Does the same as set_sizes_contiguous(), which also checks for other
  /// memory formats. Up to three dimensions, kFewSizes, have only one.
  void set_few_sizes(at::IntArrayRef sizes) {
    sizes_and_strides_.resize(sizes.size());
    std::int64_t* const own_sizes = sizes_and_strides_.sizes_data();
    std::int64_t* const strides = sizes_and_strides_.strides_data();
    std::int64_t step = 1;
    std::int64_t elems = 1;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      own_sizes[d] = sizes[d];
      strides[d] = step;
      step *= std::max<std::int64_t>(sizes[d], 1);
      elems *= sizes[d];
    }
    numel_ = elems;
  }
  static constexpr std::size_t kFewSizes = 3;

  static void* operator new(std::size_t bytes) {
    if (void* block = tensor_blocks.take(bytes); C10_LIKELY(block != nullptr)) {
      if (void* next = tensor_blocks.next(); C10_LIKELY(next != nullptr))
        fetch_version(counter_of(next));
      return block;
    }
    void* block = ::operator new(bytes + sizeof(c10::VariableVersion));
    new (&counter_of(block)) c10::VariableVersion();
    return block;
  }
  static void operator delete(void* block) noexcept {
    if (!tensor_blocks.give(block)) free_block(block);
  }
  static void free_block(void* block) noexcept {
    counter_of(block).~VariableVersion();
    ::operator delete(block);
  }

 private:
  static c10::VariableVersion& counter_of(void* block) noexcept {
    return *reinterpret_cast<c10::VariableVersion*>(static_cast<char*>(block) +
                                                    sizeof(ResultTensor));
  }
};

/// Frees the blocks that this thread keeps.
void free_blocks() noexcept;

}  // namespace gpuos::bridge
