#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpuos/runtime.h"
#include "runtime_object.h"

namespace gpuos::python {

/// What Python calls gpuos.Array: memory of a runtime with a shape and a
/// dtype, or a view of one.
class Array {
 public:
  Array(std::shared_ptr<RuntimeObject> runtime, Buffer buffer,
        const TensorView& view);
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  /// Throws: InvalidArgument for a negative or too large shape.
  static std::unique_ptr<Array> allocate(RuntimeObject& runtime,
                                         const std::vector<std::int64_t>& shape,
                                         DType dtype);
  /// A new one for what a task writes before anybody looks at it: other tasks
  /// may still use the memory.
  static pybind11::object make_result(RuntimeObject& runtime,
                                      const TensorView& form);
  /// Called in place of the destructor: whether the runtime keeps `self`, which
  /// is this array, for other results.
  bool keep_for_results(PyObject* self) noexcept;
  /// An array without memory. Throws: InvalidArgument, as allocate().
  static TensorView form_of(const std::vector<std::int64_t>& shape,
                            DType dtype);

  /// Throws: InvalidArgument after free().
  const TensorView& view() const {
    if (is_freed_) refuse_freed();
    return view_;
  }
  const TensorView& view_unchecked() const noexcept { return view_; }
  bool is_freed() const noexcept { return is_freed_; }
  std::size_t bytes() const;
  RuntimeObject& runtime() const noexcept { return *runtime_; }
  /// For who keeps the memory for longer than a call.
  const Buffer& buffer() const noexcept {
    is_own_result_ = false;
    return buffer_;
  }

  /// All memory of an array that allocate() made as numbers that every runtime
  /// can fill.
  TensorView words() const;
  /// Another view of the same memory, which it keeps alive.
  std::unique_ptr<Array> with_view(const TensorView& view) const;

  /// The bytes of view().byte_range(), gaps too.
  void copy_to_host(void* to) const;
  /// Throws: InvalidArgument unless the array is in C order without gaps.
  void copy_from_host(const void* from);
  /// Wait for the pending tasks that use this memory.
  void wait() const;

  /// Give the memory back now; if somebody else has its address, when this
  /// object goes.
  void free();
  /// The address leaves gpuos' sight.
  void mark_exported() noexcept { is_exported_ = true; }

  /// A submit that runs without the GIL uses the address.
  void begin_use() noexcept { ++users_; }
  void end_use() noexcept { --users_; }

 private:
  [[noreturn]] void refuse_freed() const;
  /// As new, in the memory that it has.
  void begin_again(RuntimeObject& runtime, const TensorView& form);
  /// Kernels that were launched with the address: those of the legacy default
  /// stream, as for every copy of CUDA.
  void wait_for_others() const;

  std::shared_ptr<RuntimeObject> runtime_;
  Buffer buffer_;
  TensorView view_;
  int users_ = 0;
  bool is_exported_ = false;
  bool is_freed_ = false;
  // Of make_result(), and nobody else has ever had the memory.
  mutable bool is_own_result_ = false;
};

extern PyTypeObject* array_type;

}  // namespace gpuos::python
