#include "gpuos/tensor_view.h"

#include "base/concat.h"

namespace gpuos {
namespace {

// Prints as Python prints a tuple: a single number has a comma.
std::string tuple_text(const std::array<std::int64_t, kMaxDims>& numbers,
                       std::size_t count) {
  std::string text = "(";
  for (std::size_t i = 0; i < count; ++i) {
    text += concat(i == 0 ? "" : ", ", numbers[i]);
  }
  return text + (count == 1 ? ",)" : ")");
}

}  // namespace

bool TensorView::has_c_strides() const noexcept {
  if (size() == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = dims; i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

std::array<std::int64_t, kMaxDims> TensorView::element_strides()
    const noexcept {
  std::array<std::int64_t, kMaxDims> found{};
  std::int64_t next = 1;
  for (std::size_t i = dims; i-- > 0;) {
    found[i] = has_strides ? strides[i] : next;
    next *= shape[i];
  }
  return found;
}

ByteRange TensorView::byte_range() const noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(data);
  const std::int64_t elems = size();
  if (elems <= 0) return {address, address};
  std::int64_t first = 0;
  std::int64_t last = has_strides ? 0 : elems - 1;
  for (std::size_t i = 0; has_strides && i < dims; ++i) {
    (strides[i] < 0 ? first : last) += (shape[i] - 1) * strides[i];
  }
  const std::uint64_t bytes = size_of(dtype);
  return {address + static_cast<std::uint64_t>(first) * bytes,
          address + static_cast<std::uint64_t>(last + 1) * bytes};
}

std::string to_string(const TensorView& view) {
  std::string text =
      concat(tuple_text(view.shape, view.dims), " ", name_of(view.dtype));
  if (view.has_strides)
    text += concat(" with strides ", tuple_text(view.strides, view.dims));
  return text;
}

}  // namespace gpuos
