#include "definition.h"

#include <string>
#include <vector>

#include "gpuos/error.h"
#include "numpy_dtype.h"
#include "reading.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

std::vector<Parameter> params_from(const py::object& given) {
  std::vector<Parameter> params;
  for (const auto& [key, dtype] : pairs_of(given, "define: params")) {
    const std::string name = text_of(key, "define: params");
    for (const char* taken : {"out", "stream", "sizes", "dtype"}) {
      if (name == taken) {
        throw InvalidArgument(
            "define: expected a parameter's name other than "
            "those of submit(), got '" +
            name + "'");
      }
    }
    params.push_back({name, dtype_of(dtype)});
  }
  return params;
}

std::vector<DType> dtypes_from(const py::object& given) {
  if (!py::isinstance<py::list>(given) && !py::isinstance<py::tuple>(given))
    return {dtype_of(given)};
  std::vector<DType> dtypes;
  for (const py::handle dtype : items_of(given, "define: dtype"))
    dtypes.push_back(dtype_of(dtype));
  return dtypes;
}

}  // namespace

OperatorDefinition definition_from(
    OperatorDefinition base, const py::object& expression,
    const py::object& source, const py::object& params, const py::object& dtype,
    const py::object& inputs, const py::object& elementwise,
    const py::object& checked) {
  OperatorDefinition definition = std::move(base);
  definition.expression.clear();
  definition.source.clear();
  if (!expression.is_none())
    definition.expression = text_of(expression, "define: expression");
  if (!source.is_none()) definition.source = text_of(source, "define: source");
  if (!params.is_none()) definition.params = params_from(params);
  if (!dtype.is_none()) definition.dtypes = dtypes_from(dtype);
  if (!inputs.is_none())
    definition.inputs = integer_as<int>(inputs, "define: inputs");
  if (!elementwise.is_none()) definition.elementwise = truth_of(elementwise);
  if (!checked.is_none()) definition.checked = truth_of(checked);
  return definition;
}

}  // namespace gpuos::python
