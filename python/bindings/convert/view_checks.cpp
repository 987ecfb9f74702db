#include "convert/view_checks.h"

#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/pybind_objects.h"

namespace py = pybind11;

namespace gpuos::python {

void refuse(Role role, const std::string& expected, const std::string& got) {
  throw InvalidArgument(role.text() + ": expected " + expected + ", got " +
                        got);
}

std::string type_text(PyObject* object) {
  const auto type = py::type::of(object);
  return shown(type.attr("__module__")) + "." +
         shown(type.attr("__qualname__"));
}

namespace {

bool is_c_ordered(const TensorView& view, const std::int64_t* strides,
                  std::int64_t unit) noexcept {
  std::int64_t expected = unit;
  for (std::size_t i = view.dims; i-- > 0;) {
    if (view.shape[i] == 0) return true;
    // The stride of an axis with one element does not matter.
    if (view.shape[i] > 1 && strides[i] != expected) return false;
    // check_reach() finds numbers that wrap here.
    static_cast<void>(
        __builtin_mul_overflow(expected, view.shape[i], &expected));
  }
  return true;
}

}  // namespace

void set_strides(TensorView& view, Role role, const std::int64_t* strides,
                 std::int64_t unit) {
  view.has_strides = strides != nullptr && !is_c_ordered(view, strides, unit);
  if (!view.has_strides) return;
  for (std::size_t i = 0; i < view.dims; ++i) {
    const bool is_used = view.shape[i] > 1;
    if (is_used && strides[i] % unit != 0) {
      refuse(role,
             "strides that are multiples of the element's " +
                 std::to_string(unit) + " bytes",
             std::to_string(strides[i]));
    }
    view.strides[i] = is_used ? strides[i] / unit : 0;
  }
}

namespace {

bool is_in_reach(const TensorView& view) noexcept {
  const auto itemsize = static_cast<std::int64_t>(size_of(view.dtype));
  std::int64_t bytes = itemsize;  // size of all elements, without axes of
                                  // extent 0
  std::int64_t span = itemsize;   // from the lowest byte to after the highest
  bool fits = true;
  for (std::size_t i = 0; i < view.dims; ++i) {
    const std::int64_t extent = view.shape[i];
    fits = fits && extent >= 0;
    if (extent <= 1) continue;
    fits = !__builtin_mul_overflow(bytes, extent, &bytes) && fits;
    if (!view.has_strides) continue;
    std::int64_t stride = 0;
    fits =
        !__builtin_mul_overflow(view.strides[i], itemsize, &stride) &&
        !__builtin_mul_overflow(stride, extent - 1, &stride) &&
        !__builtin_sub_overflow(span, stride < 0 ? stride : -stride, &span) &&
        fits;
  }
  if (!view.has_strides) span = bytes;
  const auto address = reinterpret_cast<std::uint64_t>(view.data);
  std::uint64_t end = 0;
  return fits && !__builtin_add_overflow(
                     address, static_cast<std::uint64_t>(span), &end);
}

}  // namespace

void check_reach(const TensorView& view, Role role) {
  if (is_in_reach(view)) [[likely]]
    return;
  refuse(role, "sizes of at least 0 and no more bytes than the address space",
         to_string(view));
}

void check_contiguous(const TensorView& view, Role role) {
  if (!view.is_contiguous())
    refuse(role, "a contiguous array in C order", to_string(view));
}

}  // namespace gpuos::python
