#include "gpuos/tensor_view.h"

#include "concat.h"

namespace gpuos {

std::string to_string(const TensorView& view) {
  std::string text = "(";
  for (std::size_t i = 0; i < view.dims; ++i) {
    text += concat(i == 0 ? "" : ", ", view.shape[i]);
  }
  // A tuple of one has a comma, as Python prints it.
  text += view.dims == 1 ? ",) " : ") ";
  text += name_of(view.dtype);
  return text;
}

}  // namespace gpuos
