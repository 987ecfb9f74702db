// Arrays with foreign shapes and strides: their size and the memory that they
// reach, compared with numbers that cannot overflow.
#include <algorithm>

#include "gpuos/tensor_view.h"
#include "target.h"

namespace gpuos::fuzz {
namespace {

using Wide = __int128;  // no product of two numbers of a layout overflows it

constexpr int kMostAxes = 4;

std::int64_t draw_number(Bytes& bytes, int low, int high) {
  const std::uint8_t kind = bytes.number();
  if (kind < 250) return low + kind % (high - low + 1);
  return bytes.number<std::int64_t>();
}

TensorView draw_view(Bytes& bytes) {
  TensorView view;
  const std::uint8_t form = bytes.number();
  view.dtype = DType::Int64;
  view.dims = form % (kMostAxes + 1);
  view.has_strides = (form & 0x40) != 0;
  for (std::size_t d = 0; d < view.dims; ++d) {
    view.shape[d] = draw_number(bytes, 0, 6);
    if (view.has_strides) view.strides[d] = draw_number(bytes, -12, 13);
  }
  view.data = reinterpret_cast<void*>((std::uintptr_t{1} << 20) +
                                      16 * std::uintptr_t{bytes.number()});
  return view;
}

/// The elements from the lowest to the highest one, seen from the first, and
/// how many there are. Empty: numbers that no memory has.
struct Reach {
  Wide low = 0;
  Wide high = 0;
  Wide count = 1;
};

bool find_reach(const TensorView& view, Reach& reach) {
  constexpr Wide kMost = Wide{1} << 58;
  Wide next = 1;
  for (std::size_t d = view.dims; d-- > 0;) {
    const Wide size = view.shape[d];
    const Wide stride = view.has_strides ? Wide{view.strides[d]} : next;
    const Wide length = (size - 1) * stride;
    if (size < 0 || size > kMost || length > kMost || length < -kMost)
      return false;
    (length < 0 ? reach.low : reach.high) += length;
    // A shape with a 0 has no elements, but its other sizes count.
    next *= std::max(size, Wide{1});
    reach.count *= size;
    if (next > kMost) return false;
  }
  return true;
}

void check_told(const TensorView& view, const Reach& reach) {
  expect(view.size() == reach.count, "a view has as many elements");
  const ByteRange range = view.byte_range();
  if (reach.count == 0) {
    expect(range.low == range.high, "what is empty covers nothing");
    return;
  }
  // Addresses are modulo 2^64; a view that begins below address 0 is invalid.
  const auto at = [&](Wide elements) {
    return reinterpret_cast<std::uint64_t>(view.data) +
           static_cast<std::uint64_t>(elements * 8);
  };
  expect(range.low == at(reach.low) && range.high == at(reach.high + 1),
         "a view covers its elements");
}

}  // namespace
}  // namespace gpuos::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  gpuos::fuzz::Bytes bytes(gpuos::fuzz::text_of(data, size));
  for (int i = 0; i < 3; ++i) {
    const gpuos::TensorView view = gpuos::fuzz::draw_view(bytes);
    gpuos::fuzz::Reach reach;
    if (gpuos::fuzz::find_reach(view, reach))
      gpuos::fuzz::check_told(view, reach);
  }
  return 0;
}
