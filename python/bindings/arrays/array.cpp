#include "arrays/array.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "arrays/array_shape.h"
#include "arrays/deferred_operation.h"
#include "convert/native.h"
#include "gpuos/error.h"
#include "gpuos/jit_module.h"
#include "module/own_lock.h"
#include "module/pybind_objects.h"
#include "module/without_gil.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

TensorView make_view(const std::vector<std::int64_t>& shape, DType dtype) {
  if (shape.size() > kMaxDims) {
    throw InvalidArgument("array: expected at most " +
                          std::to_string(kMaxDims) + " dimensions, got " +
                          std::to_string(shape.size()));
  }
  TensorView view;
  view.dtype = dtype;
  view.dims = static_cast<std::uint8_t>(shape.size());
  std::copy(shape.begin(), shape.end(), view.shape.begin());
  const auto itemsize = static_cast<std::int64_t>(size_of(dtype));
  std::int64_t bytes = itemsize;
  bool fits = true;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      throw InvalidArgument("array: expected a shape of 0 or more, got " +
                            shape_text(view));
    }
    fits = fits && !__builtin_mul_overflow(bytes, extent, &bytes);
  }
  if (!fits) {
    throw InvalidArgument(
        "array: expected no more bytes than an address can count, got shape " +
        shape_text(view));
  }
  return view;
}

// zeros() fills words of this size for every dtype.
constexpr std::size_t kWordBytes = 4;

std::size_t words_in(std::size_t bytes) {
  return (bytes + kWordBytes - 1) / kWordBytes;
}

struct Span {
  void* data;
  std::size_t bytes;
};

Span span_of(const TensorView& view) {
  const ByteRange range = view.byte_range();
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return {reinterpret_cast<void*>(range.low), range.high - range.low};
}

}  // namespace

Array::Array(std::shared_ptr<RuntimeObject> runtime, Buffer buffer,
             const TensorView& view)
    : runtime_(std::move(runtime)), buffer_(std::move(buffer)), view_(view) {}

Array::~Array() {
  // Only holders of the array change `operation_`, and now there are none.
  if (operation_ != nullptr) {
    const WithLock lock;
    leave_operation();
  }
  if (buffer_ == nullptr) return;
  const WithoutGil no_gil;
  buffer_.reset();
}

TensorView Array::form_of(const std::vector<std::int64_t>& shape, DType dtype) {
  return make_view(shape, dtype);
}

py::object Array::make_result(RuntimeObject& runtime, const TensorView& form) {
  const std::size_t bytes =
      static_cast<std::size_t>(form.size()) * size_of(form.dtype);
  const bool is_small = bytes <= ResultArrays::kMostBytes;
  PyObject* known = nullptr;
  if (is_small && runtime.results() != nullptr)
    known = runtime.results()->take(bytes);
  if (known != nullptr) {
    _Py_NewReference(known);
    native<Array>(known)->begin_again(runtime, form);
    return py::reinterpret_steal<py::object>(known);
  }
  Buffer buffer;
  {
    const WithoutGil no_gil;
    buffer = runtime.core().allocate(is_small ? ResultArrays::size_for(bytes)
                                              : bytes);
  }
  TensorView view = form;
  view.data = buffer.get();
  auto array = std::make_unique<Array>(runtime.shared_from_this(),
                                       std::move(buffer), view);
  array->is_own_result_ = is_small;
  array->is_number_ = form.dims == 0;
  return py::cast(std::move(array));
}

void Array::begin_again(RuntimeObject& runtime, const TensorView& form) {
  runtime_ = runtime.shared_from_this();
  view_ = form;
  view_.data = buffer_.get();
  is_number_ = form.dims == 0;
  is_element_ = false;
}

bool Array::keep_for_results(PyObject* self) noexcept {
  if (!is_own_result_ || is_exported() || is_freed_ || runtime_ == nullptr)
    return false;
  leave_operation();
  ResultArrays* results = runtime_->results();
  if (results == nullptr || !results->give(self, bytes())) return false;
  // The runtime must not keep itself alive. If the array was its last owner,
  // the runtime ends here with all that it keeps. No code may follow.
  const std::shared_ptr<RuntimeObject> last = std::move(runtime_);
  return true;
}

std::unique_ptr<Array> Array::allocate(RuntimeObject& runtime,
                                       const std::vector<std::int64_t>& shape,
                                       DType dtype) {
  TensorView view = make_view(shape, dtype);
  const std::size_t bytes =
      static_cast<std::size_t>(view.size()) * size_of(dtype);
  runtime.drain();
  Buffer buffer;
  {
    const WithoutGil no_gil;
    // An empty array has an address too, because a null address means a
    // mistake.
    buffer = runtime.core().allocate(kWordBytes *
                                     std::max<std::size_t>(words_in(bytes), 1));
  }
  view.data = buffer.get();
  return std::make_unique<Array>(runtime.shared_from_this(), std::move(buffer),
                                 view);
}

py::object Array::make_deferred(RuntimeObject& runtime,
                                std::shared_ptr<DeferredOperation> operation) {
  const TensorView& form = operation->form();
  const std::size_t bytes =
      static_cast<std::size_t>(form.size()) * size_of(form.dtype);
  py::object made;
  if (bytes <= ResultArrays::kMostBytes) {
    made = make_result(runtime, form);
  } else {  // the program may never need this memory
    made = py::cast(
        std::make_unique<Array>(runtime.shared_from_this(), Buffer(), form));
  }
  operation->result = made.ptr();
#if defined(Py_GIL_DISABLED)
  operation->weak_result = py::weakref(made);
#endif
  Array& array = *native<Array>(made.ptr());
  array.operation_ = std::move(operation);
  array.has_memory_ = false;
  return made;
}

void* Array::memory_of_result() {
  if (buffer_ == nullptr) {
    buffer_ = runtime_->core().allocate(bytes());
    view_.data = buffer_.get();
  }
  return view_.data;
}

void Array::leave_operation() noexcept {
  if (operation_ == nullptr) return;
  operation_->result = nullptr;
  set_computed();
}

void Array::set_computed() noexcept {
  operation_.reset();
  has_memory_ = !is_freed_;
}

Array* Array::element_source() const noexcept {
  if (!is_element_ || operation_ == nullptr) return nullptr;
  if (operation_->operands().size() != 1 || !operation_->held[0].array ||
      !runtime_->deferred().is_only(*operation_))
    return nullptr;
  return native<Array>(operation_->held[0].array.ptr());
}

void Array::get_memory() {
  if (is_freed_) {
    throw InvalidArgument(
        "array: expected a live gpuos.Array, but this one of " +
        to_string(view_) + " was freed");
  }
  runtime_->run_deferred();
  if (operation_ == nullptr) return;
  if (operation_->failure() == nullptr) throw std::bad_alloc();
  std::rethrow_exception(operation_->failure());
}

TensorView Array::form() const {
  TensorView form = view_;
  form.data = nullptr;
  return form;
}

std::size_t Array::bytes() const {
  return static_cast<std::size_t>(view_.size()) * size_of(view_.dtype);
}

void Array::free() {
  if (is_freed_) return;
  if (operation_ != nullptr) runtime_->run_deferred();
  leave_operation();
  is_freed_ = true;
  has_memory_ = false;
  if (borrows_ == 0) give_back();
}

void Array::give_back() {
  if (is_exported()) return;
  Buffer last = std::move(buffer_);
  const WithoutGil no_gil;
  last.reset();
}

void refuse_element(const std::string& where) {
  throw InvalidArgument(where +
                        ": expected memory of an array, got one element, which "
                        "x[i] copies; write x[i, ...], a view");
}

TensorView Borrow::words() const {
  return {view().data, static_cast<std::int64_t>(words_in(array_->bytes())),
          DType::Int32};
}

std::unique_ptr<Array> Borrow::with_view(const TensorView& view) const {
  auto part = std::make_unique<Array>(array_->runtime_, buffer(), view);
  // A holder of the address of one view writes to the others too.
  if (array_->exported_ == nullptr)
    array_->exported_ = std::make_shared<bool>(false);
  part->exported_ = array_->exported_;
  part->is_element_ = array_->is_element_;
  part->is_number_ = array_->is_number_ && view.dims == 0;
  return part;
}

void Borrow::mark_exported() const {
  array_->runtime_->run_deferred();
  if (array_->exported_ == nullptr)
    array_->exported_ = std::make_shared<bool>();
  *array_->exported_ = true;
}

void Borrow::wait() const {
  array_->runtime_->run_deferred();
  wait_for_submitted();
}

void Borrow::wait_for_submitted() const {
  const auto [data, bytes] = span_of(view());
  array_->runtime_->wait_for_memory(data, bytes);
}

void Borrow::copy_submitted(void* to) const {
  const auto [from, bytes] = span_of(view());
  if (bytes == 0) return;
  if (!array_->runtime_->is_cuda() && core().is_closed()) {
    wait_for_submitted();          // throws if the task was dropped
    std::memcpy(to, from, bytes);  // results outlive their workers
    return;
  }
  wait_for_submitted();
  const WithoutGil no_gil;
  wait_for_others();
  core().copy_to_host(to, from, bytes);
}

void Borrow::copy_from_host(const void* from) const {
  const TensorView& to = view();
  if (!to.is_contiguous()) {
    throw InvalidArgument(
        "copy_from: expected an array in C order without gaps, got " +
        to_string(to));
  }
  if (array_->bytes() == 0) return;
  wait();
  const WithoutGil no_gil;
  wait_for_others();
  core().copy_to_device(to.data, from, array_->bytes());
}

void Borrow::wait_for_others() const {
  if (array_->is_exported() && array_->runtime_->is_cuda())
    synchronize({}, core().options().device);
}

}  // namespace gpuos::python
