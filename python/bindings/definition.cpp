#include "definition.h"

#include <string>
#include <vector>

#include "gpuos/error.h"
#include "keywords.h"
#include "numpy_dtype.h"
#include "reading.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// Of what submit() takes by keyword. Throws: InvalidArgument.
std::string own_name(py::handle given, const char* what) {
  const std::string name = text_of(given, what);
  for (const char* taken : {"out", "stream", "sizes", "dtype"}) {
    if (name == taken) {
      throw InvalidArgument(std::string(what) +
                            ": expected a name other than those of submit(), "
                            "got '" +
                            name + "'");
    }
  }
  return name;
}

// Of a dtype, or of a dtype and a default value.
Parameter parameter_from(std::string name, const py::object& given) {
  if (!py::isinstance<py::tuple>(given))
    return {std::move(name), dtype_of(given)};
  const py::tuple pair(given);
  if (pair.size() != 2 || PyNumber_Check(pair[1].ptr()) == 0)
    throw py::type_error("define: params: " + name +
                         ": expected a dtype, or a tuple of a dtype and a "
                         "number, got " +
                         kind_shown(given.ptr()));
  return {std::move(name), dtype_of(pair[0]), scalar_of(pair[1].ptr())};
}

std::vector<Parameter> params_from(const py::object& given) {
  std::vector<Parameter> params;
  for (const auto& [key, dtype] : pairs_of(given, "define: params")) {
    params.push_back(parameter_from(own_name(key, "define: params"), dtype));
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

// How many, or their names.
void read_inputs(OperatorDefinition& definition, const py::object& given) {
  definition.inputs = -1;
  definition.input_names.clear();
  if (PyIndex_Check(given.ptr()) != 0) {
    definition.inputs = integer_as<int>(given, "define: inputs");
    return;
  }
  if (PyUnicode_Check(given.ptr()))
    throw py::type_error(
        "define: inputs: expected a number or a sequence of names, got str");
  for (const py::handle name : items_of(given, "define: inputs"))
    definition.input_names.push_back(own_name(name, "define: inputs"));
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
  // Those of what is replaced may be more than it was defined with.
  definition.params =
      params.is_none() ? std::vector<Parameter>() : params_from(params);
  if (!dtype.is_none()) definition.dtypes = dtypes_from(dtype);
  if (!inputs.is_none()) read_inputs(definition, inputs);
  if (!elementwise.is_none()) definition.elementwise = truth_of(elementwise);
  if (!checked.is_none()) definition.checked = truth_of(checked);
  return definition;
}

}  // namespace gpuos::python
