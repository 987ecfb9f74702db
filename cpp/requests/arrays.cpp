#include "requests/arrays.h"

namespace gpuos::requests {

bool Arrays::is_same(const Array& a, const Array& b) const noexcept {
  if (a.address != b.address || a.dtype != b.dtype || a.elems != b.elems)
    return false;
  if (a.view == b.view) return true;
  if (a.view == Request::kFlat || b.view == Request::kFlat) return false;
  const TensorView& x = views_[a.view];
  const TensorView& y = views_[b.view];
  if (x.dims != y.dims) return false;
  for (std::size_t d = 0; d < x.dims; ++d)
    if (x.shape[d] != y.shape[d] ||
        (x.shape[d] > 1 && x.strides[d] != y.strides[d]))
      return false;
  return true;
}

ByteRange Arrays::range_of(const Array& array) const noexcept {
  if (array.view == Request::kFlat)
    return {array.address, array.address + array.elems * size_of(array.dtype)};
  TensorView view = views_[array.view];
  view.data = reinterpret_cast<void*>(array.address);
  view.dtype = array.dtype;
  return view.byte_range();
}

}  // namespace gpuos::requests
