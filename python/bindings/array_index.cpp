#include "array_index.h"

#include <string>
#include <vector>

#include "array_shape.h"
#include "gpuos/error.h"
#include "reading.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

bool is_ellipsis(py::handle item) { return item.ptr() == Py_Ellipsis; }

// A bool is a mask in NumPy, not a number.
bool is_number(py::handle item) {
  return PyIndex_Check(item.ptr()) != 0 && !PyBool_Check(item.ptr());
}

std::vector<py::handle> items_of(const py::object& index) {
  if (!py::isinstance<py::tuple>(index)) return {index};
  std::vector<py::handle> items;
  for (const py::handle item : py::tuple(index)) items.push_back(item);
  return items;
}

class Indexing {
 public:
  explicit Indexing(const TensorView& view)
      : from_(view), strides_(view.element_strides()), to_(view) {
    to_.dims = 0;
    to_.has_strides = true;
  }

  TensorView run(const std::vector<py::handle>& items) {
    const std::size_t named = count_axes(items);
    bool has_ellipsis = false;
    for (const py::handle item : items) {
      if (is_ellipsis(item)) {
        if (has_ellipsis)
          throw py::index_error("array: expected at most one Ellipsis, got 2");
        has_ellipsis = true;
        take_axes(from_.dims - named);
      } else {
        take(item);
      }
    }
    take_axes(from_.dims - axis_);
    return without_needless_strides(to_);
  }

 private:
  std::size_t count_axes(const std::vector<py::handle>& items) const {
    std::size_t named = 0;
    for (const py::handle item : items) {
      const bool is_slice = py::isinstance<py::slice>(item);
      if (is_slice || is_number(item)) {
        ++named;
      } else if (!item.is_none() && !is_ellipsis(item)) {
        throw py::type_error(
            "array: expected integers, slices, None or ... as an index, got " +
            kind_shown(item));
      }
    }
    if (named > from_.dims) {
      throw py::index_error("array: expected at most " +
                            std::to_string(from_.dims) + " indices, got " +
                            std::to_string(named));
    }
    return named;
  }

  void take(py::handle item) {
    if (item.is_none()) {
      add_axis(1, 0);
    } else if (py::isinstance<py::slice>(item)) {
      take_slice(item);
    } else {
      take_number(item);
    }
  }

  void take_axes(std::size_t count) {
    for (; count > 0; --count, ++axis_)
      add_axis(from_.shape[axis_], strides_[axis_]);
  }

  void take_number(py::handle item) {
    const std::int64_t extent = from_.shape[axis_];
    const py::ssize_t number = PyNumber_AsSsize_t(item.ptr(), PyExc_IndexError);
    if (number == -1 && PyErr_Occurred() != nullptr)
      throw py::error_already_set();
    if (number < -extent || number >= extent) {
      throw py::index_error("array: expected an index under " +
                            std::to_string(extent) + " of axis " +
                            std::to_string(axis_) + ", got " +
                            std::to_string(number));
    }
    move((number < 0 ? number + extent : number) * strides_[axis_++]);
  }

  void take_slice(py::handle item) {
    py::ssize_t begin = 0;
    py::ssize_t end = 0;
    py::ssize_t step = 0;
    py::ssize_t count = 0;
    if (!py::reinterpret_borrow<py::slice>(item).compute(
            from_.shape[axis_], &begin, &end, &step, &count))
      throw py::error_already_set();
    const std::int64_t stride = strides_[axis_++];
    // Where nothing is, there may be no address to move to.
    if (count > 0) move(begin * stride);
    // The step of a single element may be larger than a product can be.
    add_axis(count, count > 1 ? stride * step : stride);
  }

  void add_axis(std::int64_t extent, std::int64_t stride) {
    if (to_.dims == kMaxDims) {
      throw InvalidArgument("array: expected at most " +
                            std::to_string(kMaxDims) + " dimensions, got more");
    }
    to_.shape[to_.dims] = extent;
    to_.strides[to_.dims++] = stride;
  }

  void move(std::int64_t elems) {
    to_.data = static_cast<char*>(to_.data) +
               elems * static_cast<std::int64_t>(size_of(to_.dtype));
  }

  const TensorView& from_;
  const std::array<std::int64_t, kMaxDims> strides_;
  std::size_t axis_ = 0;  // the next one of `from_`
  TensorView to_;
};

}  // namespace

TensorView indexed(const TensorView& view, const py::object& index) {
  if (view.dims == 0 && is_number(index))
    throw py::type_error("array: an array of shape () has no rows");
  return Indexing(view).run(items_of(index));
}

}  // namespace gpuos::python
