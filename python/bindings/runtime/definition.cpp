#include "runtime/definition.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "convert/keywords.h"
#include "convert/numpy_dtype.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/python_module.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// Returns the name of a keyword of submit(). Throws: InvalidArgument.
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

// Makes a parameter of a dtype, or of a dtype and a default value.
Parameter parameter_from(std::string name, const py::object& given) {
  const bool is_pair = py::isinstance<py::tuple>(given);
  if (!is_pair && PyNumber_Check(given.ptr()) == 0)
    return {std::move(name), dtype_of(given)};
  const py::tuple pair = is_pair ? py::tuple(given) : py::tuple();
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

// Returns a text, bytes, or the contents of the file at a path. Python reads
// the file, so a missing one raises FileNotFoundError.
std::string object_bytes(const py::object& given, const std::string& keyword) {
  const std::string what = "define: " + keyword;
  if (PyBytes_Check(given.ptr()) != 0) return given.cast<std::string>();
  const bool is_text = PyUnicode_Check(given.ptr()) != 0;
  if (is_text && keyword == "ptx") return text_of(given, what.c_str());
  if (is_text || !py::hasattr(given, "__fspath__"))
    refuse_type(what.c_str(),
                keyword == "ptx" ? "str, bytes or a path"
                                 : "bytes or a path such as pathlib.Path",
                given);
  return python_module("pathlib")
      .attr("Path")(given)
      .attr("read_bytes")()
      .cast<std::string>();
}

std::optional<DeviceObject> object_from(const ObjectArguments& given) {
  using Kind = DeviceObject::Kind;
  const struct {
    const char* keyword;
    const py::object& value;
    Kind kind;
  } all[] = {{"ptx", given.ptx, Kind::Ptx},
             {"ltoir", given.ltoir, Kind::LtoIr},
             {"cubin", given.cubin, Kind::Cubin}};
  std::optional<DeviceObject> made;
  std::string known;
  for (const auto& [keyword, value, kind] : all) {
    if (value.is_none()) continue;
    if (made)
      throw InvalidArgument(
          "define: expected one of ptx, ltoir and cubin, got " + known +
          " and " + keyword);
    known = keyword;
    made = DeviceObject{.kind = kind, .bytes = object_bytes(value, keyword)};
  }
  if (given.symbol.is_none()) return made;
  if (!made)
    throw InvalidArgument(
        "define: symbol: expected ptx, ltoir or cubin with it, got none");
  made->symbol = text_of(given.symbol, "define: symbol");
  return made;
}

}  // namespace

OperatorDefinition definition_from(
    OperatorDefinition base, const py::object& expression,
    const py::object& source, const ObjectArguments& object,
    const py::object& params, const py::object& dtype, const py::object& inputs,
    const py::object& elementwise, const py::object& checked) {
  if (const DefinitionObject* given = as_definition(expression)) {
    bool is_alone = elementwise.is_none() || truth_of(elementwise);
    for (const py::object* other :
         {&source, &object.ptx, &object.ltoir, &object.cubin, &object.symbol,
          &params, &dtype, &inputs, &checked})
      is_alone = is_alone && other->is_none();
    if (!is_alone)
      throw InvalidArgument(
          base.name +
          ": expected no other argument with a Definition, got "
          "more");
    OperatorDefinition renamed = given->given;
    renamed.name = std::move(base.name);
    return renamed;
  }
  OperatorDefinition definition = std::move(base);
  definition.expression.clear();
  definition.source.clear();
  definition.object = object_from(object);
  if (!expression.is_none())
    definition.expression = text_of(expression, "define: expression");
  if (!source.is_none()) definition.source = text_of(source, "define: source");
  // The replaced operator may have more parameters than its definition.
  definition.params =
      params.is_none() ? std::vector<Parameter>() : params_from(params);
  if (!dtype.is_none()) definition.dtypes = dtypes_from(dtype);
  if (!inputs.is_none()) read_inputs(definition, inputs);
  if (!elementwise.is_none()) definition.elementwise = truth_of(elementwise);
  if (!checked.is_none()) definition.checked = truth_of(checked);
  return definition;
}

OperatorDefinition definition_from_dict(const py::object& given,
                                        const std::string& where) {
  if (const DefinitionObject* definition = as_definition(given))
    return definition->given;
  std::map<std::string, py::object, std::less<>> values;
  for (const char* name :
       {"name", "expression", "source", "ptx", "ltoir", "cubin", "symbol",
        "params", "dtype", "inputs", "elementwise", "tiered", "checked"})
    values.emplace(name, py::none());
  for (const auto& [key, value] : pairs_of(given, where.c_str())) {
    const auto known = values.find(text_of(key, where.c_str()));
    if (known == values.end())
      throw py::type_error(where + ": unexpected keyword '" + shown(key) + "'");
    known->second = value;
  }
  const auto get = [&](const char* key) -> const py::object& {
    return values.find(key)->second;
  };
  OperatorDefinition base;
  if (get("name").is_none())
    throw py::type_error(where + ": expected 'name' in each, got none");
  base.name = text_of(get("name"), (where + ": name").c_str());
  base.tiered = truth_of(get("tiered"));
  const ObjectArguments object{get("ptx"), get("ltoir"), get("cubin"),
                               get("symbol")};
  return definition_from(std::move(base), get("expression"), get("source"),
                         object, get("params"), get("dtype"), get("inputs"),
                         get("elementwise"), get("checked"));
}

}  // namespace gpuos::python
