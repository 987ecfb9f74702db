#include "array.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "array_shape.h"
#include "gpuos/error.h"
#include "gpuos/jit_module.h"
#include "native.h"
#include "pybind_objects.h"
#include "without_gil.h"

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

// What zeros() fills, whatever the dtype.
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
  return py::cast(std::move(array));
}

void Array::begin_again(RuntimeObject& runtime, const TensorView& form) {
  runtime_ = runtime.shared_from_this();
  view_ = form;
  view_.data = buffer_.get();
}

bool Array::keep_for_results(PyObject* self) noexcept {
  if (!is_own_result_ || is_exported_ || is_freed_ || runtime_ == nullptr)
    return false;
  ResultArrays* results = runtime_->results();
  if (results == nullptr || !results->give(self, bytes())) return false;
  // The runtime must not keep itself alive. If this was its last owner it ends
  // here, and all that it keeps with it: nothing may follow.
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
    // An empty array has an address too: a null one means a mistake.
    buffer = runtime.core().allocate(kWordBytes *
                                     std::max<std::size_t>(words_in(bytes), 1));
  }
  view.data = buffer.get();
  return std::make_unique<Array>(runtime.shared_from_this(), std::move(buffer),
                                 view);
}

void Array::refuse_freed() const {
  throw InvalidArgument("array: expected a live gpuos.Array, but this one of " +
                        to_string(view_) + " was freed");
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
  is_freed_ = true;
  if (borrows_ == 0) give_back();
}

void Array::give_back() {
  if (is_exported_) return;
  Buffer last = std::move(buffer_);
  const WithoutGil no_gil;
  last.reset();
}

TensorView Borrow::words() const {
  return {view().data, static_cast<std::int64_t>(words_in(array_->bytes())),
          DType::Int32};
}

std::unique_ptr<Array> Borrow::with_view(const TensorView& view) const {
  auto part = std::make_unique<Array>(array_->runtime_, buffer(), view);
  // Whoever has the address of the whole writes to its parts.
  part->is_exported_ = array_->is_exported_;
  return part;
}

void Borrow::wait() const {
  const auto [data, bytes] = span_of(view());
  array_->runtime_->wait_for_memory(data, bytes);
}

void Borrow::copy_to_host(void* to) const {
  const auto [from, bytes] = span_of(view());
  if (bytes == 0) return;
  if (!array_->runtime_->is_cuda() && core().is_closed()) {
    std::memcpy(to, from, bytes);  // results outlive their workers
    return;
  }
  wait();
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
  if (array_->is_exported_ && array_->runtime_->is_cuda())
    synchronize({}, core().options().device);
}

}  // namespace gpuos::python
