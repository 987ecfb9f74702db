#include "fused_results.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "array.h"
#include "gpuos/error.h"

namespace py = pybind11;

namespace gpuos::python {

void FusedResults::take(PyObject* out, Arguments& arguments) {
  const std::size_t wanted = traced_.program.outputs().size();
  const bool is_sequence = PyTuple_Check(out) || PyList_Check(out);
  const std::size_t given =
      is_sequence ? static_cast<std::size_t>(PySequence_Size(out)) : 1;
  if (given != wanted) {
    throw InvalidArgument(std::string(name_) + ": out: expected " +
                          std::to_string(wanted) + " arrays, got " +
                          std::to_string(given));
  }
  for (std::size_t i = 0; i < given; ++i) {
    PyObject* array = is_sequence ? PySequence_Fast_GET_ITEM(out, i) : out;
    add([&] { return arguments.view(array, {name_, -1}); },
        py::reinterpret_borrow<py::object>(array));
  }
}

void FusedResults::make(std::span<const TensorView> inputs) {
  update_shapes(inputs);
  const std::vector<ProgramArgument>& outputs = traced_.program.outputs();
  // Memory may be waited for, and another call may bring other shapes then.
  const std::vector<Shape> shapes = traced_.output_shapes;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    auto array = Array::allocate(runtime_, shapes[i], outputs[i].dtype);
    const TensorView& view = array->view();
    add([&] { return view; }, py::cast(std::move(array)));
  }
}

void FusedResults::update_shapes(std::span<const TensorView> inputs) {
  std::vector<std::int64_t>& known = traced_.input_dims;
  std::size_t at = 0;
  bool is_known = !traced_.output_shapes.empty();
  for (const TensorView& input : inputs) {
    is_known = is_known &&
               std::equal(input.shape.begin(), input.shape.begin() + input.dims,
                          known.begin() + static_cast<long>(at));
    at += input.dims;
  }
  if (is_known) return;
  std::vector<Shape> shapes;
  known.clear();
  for (const TensorView& input : inputs) {
    shapes.emplace_back(input.shape.begin(), input.shape.begin() + input.dims);
    known.insert(known.end(), shapes.back().begin(), shapes.back().end());
  }
  traced_.output_shapes.clear();
  traced_.output_shapes = traced_.program.output_shapes(shapes);
}

py::object FusedResults::as_returned() {
  if (traced_.rebuild.is_none()) return std::move(arrays_[0]);
  py::tuple all(count_);
  for (std::size_t i = 0; i < count_; ++i) all[i] = std::move(arrays_[i]);
  if (traced_.rebuild.ptr() == reinterpret_cast<PyObject*>(&PyTuple_Type))
    return all;
  return traced_.rebuild(all);
}

}  // namespace gpuos::python
