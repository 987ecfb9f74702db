// Tensors that a loop over many of them comes to next.
#pragma once

#include <c10/core/TensorImpl.h>
#include <torch/csrc/autograd/python_variable.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hooks.h"
#include "memory.h"

namespace gpuos::bridge {

/// Fetches them while the ones at hand are looked at: a loop over more tensors
/// than a cache holds waits for memory most of its time. Python's objects of
/// tensors that were made one behind the other lie so in memory; what PyTorch
/// keeps of each does not, as it allocates other things in between.
///
/// One for each place in a call. Threads: under the GIL.
class NextTensors {
 public:
  /// Behind `object`, a tensor's, as far as it is from the last one.
  void fetch_behind(PyObject* object) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(object);
    const std::uintptr_t next = at + kAhead * (at - last_);
    last_ = at;
    const std::uintptr_t held =
        reinterpret_cast<std::uintptr_t>(&THPVariable_Unpack(object)) - at;
    // Inside of this page there is memory, whatever is in it now.
    constexpr std::uintptr_t kPage = 4096;
    const std::uintptr_t end = next + held + sizeof(void*);
    if (((next ^ at) | (end ^ at)) >= kPage) return;
    const auto* found = reinterpret_cast<const PyObject*>(next);
    if (found->ob_type != object->ob_type) return;
    // Only fetched, never looked into: it may be gone.
    const void* tensor = nullptr;
    std::memcpy(&tensor, reinterpret_cast<const char*>(next) + held,
                sizeof(tensor));
    prefetch(tensor, sizeof(c10::TensorImpl));
  }

 private:
  static constexpr std::uintptr_t kAhead = 4;

  std::uintptr_t last_ = 0;
};

/// Fetches what is looked at of the storages of a call, all before the first is
/// looked at: each lies in lines apart from the tensor's. `is_counted`: its
/// size too.
inline void fetch_storage(const Tensor& tensor, bool is_counted) noexcept {
  constexpr std::size_t kToMemory =
      sizeof(c10::intrusive_ptr_target) + sizeof(c10::DataPtr);
  prefetch(storage_of(tensor), is_counted || GPUOS_HAS_MATERIALIZER
                                   ? sizeof(c10::StorageImpl)
                                   : kToMemory);
}

/// Of the first, second and third tensor of a call.
inline NextTensors next_tensors[3];

}  // namespace gpuos::bridge
