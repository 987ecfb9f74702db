#include "fused_results.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "array.h"
#include "gpuos/error.h"
#include "native.h"
#include "reading.h"

namespace py = pybind11;

namespace gpuos::python {

void FusedResults::take(PyObject* out, Arguments& arguments) {
  const std::size_t wanted = traced_.program.outputs().size();
  const bool is_sequence = PyTuple_Check(out) || PyList_Check(out);
  const py::tuple many = is_sequence ? items_of(out, "out") : py::tuple();
  const std::size_t given = is_sequence ? many.size() : 1;
  if (given != wanted) {
    throw InvalidArgument(std::string(name_) + ": out: expected " +
                          std::to_string(wanted) + " arrays, got " +
                          std::to_string(given));
  }
  if (is_sequence) arguments.hold(many);
  for (std::size_t i = 0; i < given; ++i) {
    PyObject* array =
        is_sequence ? PyTuple_GET_ITEM(many.ptr(), static_cast<Py_ssize_t>(i))
                    : out;
    add([&] { return arguments.out_view(array, {name_, -1}); },
        py::reinterpret_borrow<py::object>(array));
  }
}

void FusedResults::make(std::span<const TensorView> inputs) {
  // The allocation may wait for memory, and another call may bring other shapes
  // then.
  const auto forms = traced_.output_forms(inputs);
  for (const TensorView& form : *forms) {
    py::object array = Array::make_result(runtime_, form);
    // No other code has the array before this returns.
    const Borrow borrow(*native<Array>(array.ptr()));
    add([&] { return borrow.view(); }, array);
  }
}

std::shared_ptr<const std::vector<TensorView>> Traced::output_forms(
    std::span<const TensorView> inputs) {
  std::size_t at = 0;
  bool is_known = outputs != nullptr;
  for (const TensorView& input : inputs) {
    is_known = is_known &&
               std::equal(input.shape.begin(), input.shape.begin() + input.dims,
                          input_dims.begin() + static_cast<long>(at));
    at += input.dims;
  }
  if (is_known) return outputs;
  std::vector<Shape> shapes;
  input_dims.clear();
  for (const TensorView& input : inputs) {
    shapes.emplace_back(input.shape.begin(), input.shape.begin() + input.dims);
    input_dims.insert(input_dims.end(), shapes.back().begin(),
                      shapes.back().end());
  }
  outputs.reset();
  auto forms = std::make_shared<std::vector<TensorView>>();
  const std::vector<Shape> results = program.output_shapes(shapes);
  for (std::size_t i = 0; i < results.size(); ++i)
    forms->push_back(Array::form_of(results[i], program.outputs()[i].dtype));
  outputs = std::move(forms);
  return outputs;
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
