#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpuos/runtime.h"
#include "pybind_objects.h"
#include "runtime_object.h"

namespace gpuos::python {

struct DeferredOperation;

/// Python's gpuos.Array: memory of a runtime with a shape and a dtype, or a
/// view of one.
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
  /// A new one for what `operation` will give.
  static pybind11::object make_deferred(
      RuntimeObject& runtime, std::shared_ptr<DeferredOperation> operation);
  /// Where the operation writes. Throws: as Runtime::allocate().
  const TensorView& memory_of_result();
  void set_computed() noexcept;
  /// Called in place of the destructor: whether the runtime keeps `self`, which
  /// is this array, for other results.
  bool keep_for_results(PyObject* self) noexcept;
  /// An array without memory. Throws: InvalidArgument, as allocate().
  static TensorView form_of(const std::vector<std::int64_t>& shape,
                            DType dtype);

  /// Shape, dtype and strides, also of one that was freed. No address: that
  /// takes a Borrow.
  TensorView form() const;
  bool is_freed() const noexcept { return is_freed_; }
  /// Whether x += y makes a new array, as for NumPy's scalars: a result without
  /// axes, which other names may refer to.
  bool is_number() const noexcept { return is_number_; }
  /// Whether it is the copy that x[i] makes, or a view of one. A write into it
  /// would be lost.
  bool is_element() const noexcept { return is_element_; }
  void set_element() noexcept { is_number_ = is_element_ = true; }
  void set_number(bool is_number) noexcept { is_number_ = is_number; }
  /// Returns the view that this element copies, if nothing else is deferred:
  /// the view still has the value. Null otherwise.
  Array* element_source() const noexcept;
  /// Whether somebody else has had the address, of this or of another view of
  /// the memory: who may write there when gpuos does not see it.
  bool is_exported() const noexcept { return exported_ && *exported_; }
  /// The operation that gives it, if it is not submitted yet.
  const std::shared_ptr<DeferredOperation>& operation() const noexcept {
    return operation_;
  }
  std::size_t bytes() const;
  RuntimeObject& runtime() const noexcept { return *runtime_; }

  /// Give the memory back: when the last Borrow ends, and if somebody else has
  /// its address, when this object goes.
  void free();

 private:
  friend class Borrow;

  /// Makes it new, in the memory that it has.
  void begin_again(RuntimeObject& runtime, const TensorView& form);
  void give_back();
  void leave_operation() noexcept;
  /// Runs what was deferred. Throws: InvalidArgument after free(); why it could
  /// not be computed.
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

/// The memory of an array for the time of a call, and the only way to its
/// address: it stays until the last borrow ends, whoever frees the array while
/// the call waits, copies or runs Python code.
///
/// Lifetime: the caller holds the array.
/// Threads: the GIL is held when it is made and destroyed; in between it may be
/// away.
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
  /// For who keeps the memory for longer than a call.
  const Buffer& buffer() const noexcept {
    array_->is_own_result_ = false;
    return array_->buffer_;
  }
  /// The address leaves gpuos' sight: the memory stays as long as the array,
  /// and what was to read it is submitted.
  void mark_exported() const;

  /// All memory of an array that allocate() made as numbers that every runtime
  /// can fill.
  TensorView words() const;
  /// Another view of the same memory, which it keeps alive.
  std::unique_ptr<Array> with_view(const TensorView& view) const;

  /// Wait for the pending tasks that use this memory.
  void wait() const;
  /// The bytes of view().byte_range(), gaps too.
  void copy_to_host(void* to) const {
    array_->runtime_->run_deferred();
    copy_submitted(to);
  }
  /// Copies without running deferred operations.
  void copy_submitted(void* to) const;
  /// Throws: InvalidArgument unless the array is in C order without gaps.
  void copy_from_host(const void* from) const;

 private:
  Runtime& core() const noexcept { return array_->runtime_->core(); }
  void wait_for_submitted() const;
  /// Kernels that were launched with the address: those of the legacy default
  /// stream, as for every copy of CUDA.
  void wait_for_others() const;

  Array* array_;
};

extern PyTypeObject* array_type;

/// For a call that writes or keeps an address. Throws: InvalidArgument.
[[noreturn, gnu::cold]] void refuse_element(const std::string& where);

}  // namespace gpuos::python
