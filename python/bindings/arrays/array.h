#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpuos/runtime.h"
#include "module/pybind_objects.h"
#include "runtime/runtime_object.h"

namespace gpuos::python {

struct DeferredOperation;

/// Implements Python's gpuos.Array: memory of a runtime with a shape and a
/// dtype, or a view of one.
class Array {
 public:
  Array(std::shared_ptr<RuntimeObject> runtime, Buffer buffer,
        const TensorView& view);
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  /// Allocates an array. Throws: InvalidArgument for a negative or too large
  /// shape.
  static std::unique_ptr<Array> allocate(RuntimeObject& runtime,
                                         const std::vector<std::int64_t>& shape,
                                         DType dtype);
  /// Returns a new array that a task writes before any reader. Other tasks may
  /// still use the memory.
  static pybind11::object make_result(RuntimeObject& runtime,
                                      const TensorView& form);
  /// Returns a new array for the result of `operation`.
  static pybind11::object make_deferred(
      RuntimeObject& runtime, std::shared_ptr<DeferredOperation> operation);
  /// Returns where the operation writes. It needs no GIL. Throws: the errors of
  /// Runtime::allocate().
  void* memory_of_result();
  void set_computed() noexcept;
  /// Replaces the destructor. Returns whether the runtime keeps `self`, which
  /// is this array, for other results.
  bool keep_for_results(PyObject* self) noexcept;
  /// Returns the view of an array without memory. Throws: InvalidArgument, as
  /// allocate() does.
  static TensorView form_of(const std::vector<std::int64_t>& shape,
                            DType dtype);

  /// Returns shape, dtype and strides, also of a freed array. It has no
  /// address, because that takes a Borrow.
  TensorView form() const;
  bool is_freed() const noexcept { return is_freed_; }
  /// Returns whether x += y makes a new array, as for NumPy's scalars. The
  /// array is then a result without axes, to which other names may refer.
  bool is_number() const noexcept { return is_number_; }
  /// Returns whether the array is the copy that x[i] makes, or a view of one. A
  /// write into it would be lost.
  bool is_element() const noexcept { return is_element_; }
  void set_element() noexcept { is_number_ = is_element_ = true; }
  void set_number(bool is_number) noexcept { is_number_ = is_number; }
  /// Returns the view that this element copies, if nothing else is deferred.
  /// The view still has the value then. Returns null otherwise.
  Array* element_source() const noexcept;
  /// Returns whether other code has the address of this or another view of the
  /// memory. That code may write there without gpuos.
  bool is_exported() const noexcept { return exported_ && *exported_; }
  /// Returns the operation that computes the array, if it is not submitted yet.
  const std::shared_ptr<DeferredOperation>& operation() const noexcept {
    return operation_;
  }
  std::size_t bytes() const;
  RuntimeObject& runtime() const noexcept { return *runtime_; }

  /// Gives the memory back when the last Borrow ends. If other code has its
  /// address, this waits until the object is destroyed.
  void free();

 private:
  friend class Borrow;

  /// Makes the array new, in its existing memory.
  void begin_again(RuntimeObject& runtime, const TensorView& form);
  void give_back();
  void leave_operation() noexcept;
  /// Runs deferred operations. Throws: InvalidArgument after free(), or the
  /// reason why the array could not be computed.
  [[gnu::cold]] void get_memory();

  std::shared_ptr<RuntimeObject> runtime_;
  Buffer buffer_;
  TensorView view_;
  std::shared_ptr<DeferredOperation> operation_;
  std::shared_ptr<bool> exported_;  // all views of the memory have the same
  int borrows_ = 0;
  bool is_freed_ = false;
  bool has_memory_ = true;  // neither freed nor deferred
  bool is_number_ = false;
  bool is_element_ = false;
  // True for a result of make_result() whose memory no other object ever had.
  bool is_own_result_ = false;
};

/// Keeps the memory of an array for a call, and is the only way to its address.
/// The memory stays until the last borrow ends. Other code may free the array
/// while the call waits, copies or runs Python code.
///
/// Lifetime: the caller holds the array.
/// Threads: the GIL is held when it is made and destroyed. In between it may be
/// released.
class Borrow {
 public:
  /// Throws: InvalidArgument after free().
  explicit Borrow(Array& array) : array_(&array) {
    if (!array.has_memory_) [[unlikely]]
      array.get_memory();
    ++array.borrows_;
  }
  Borrow(Borrow&& other) noexcept
      : array_(std::exchange(other.array_, nullptr)) {}
  Borrow& operator=(Borrow&&) = delete;
  ~Borrow() {
    if (array_ != nullptr && --array_->borrows_ == 0 && array_->is_freed_)
      array_->give_back();
  }

  const TensorView& view() const noexcept { return array_->view_; }
  /// Returns the buffer for callers that keep the memory for longer than a
  /// call.
  const Buffer& buffer() const noexcept {
    array_->is_own_result_ = false;
    return array_->buffer_;
  }
  /// Notes that code outside of gpuos gets the address. The memory then stays
  /// as long as the array. Submits the operations that read it.
  void mark_exported() const;

  /// Returns all memory of an array that allocate() made. The view has numbers
  /// that every runtime can fill.
  TensorView words() const;
  /// Returns another view of this memory and keeps it alive.
  std::unique_ptr<Array> with_view(const TensorView& view) const;

  /// Waits for the pending tasks that use this memory.
  void wait() const;
  /// Copies the bytes of view().byte_range(), including gaps.
  void copy_to_host(void* to) const {
    array_->runtime_->run_deferred();
    copy_submitted(to);
  }
  /// Copies without running deferred operations.
  void copy_submitted(void* to) const;
  /// Copies to the array. Throws: InvalidArgument unless the array is in C
  /// order without gaps.
  void copy_from_host(const void* from) const;

 private:
  Runtime& core() const noexcept { return array_->runtime_->core(); }
  void wait_for_submitted() const;
  /// Waits for kernels that were launched with the address. These are the ones
  /// of the legacy default stream, as for every copy of CUDA.
  void wait_for_others() const;

  Array* array_;
};

extern PyTypeObject* array_type;

/// Refuses an element in a call that writes or keeps an address. Throws:
/// InvalidArgument.
[[noreturn, gnu::cold]] void refuse_element(const std::string& where);

/// Returns a new array with the elements of `array`.
pybind11::object copied(const pybind11::object& array);

/// Fills the slots of the operators of numbers.
void fill_array_slots(PyHeapTypeObject* type);

/// Adds the methods of gpuos/array_methods.py.
void add_methods(const pybind11::handle& type);

}  // namespace gpuos::python
