// Binds gpuos.Definition, which holds all that define() takes, to be kept and
// sent.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/python_module.h"
#include "module/registrations.h"
#include "module/without_gil.h"
#include "runtime/definition.h"

namespace py = pybind11;

namespace gpuos::python {

namespace {

PyTypeObject* definition_type = nullptr;

using DefinitionPtr = std::shared_ptr<DefinitionObject>;

py::object text_or_none(const std::string& text) {
  return text.empty() ? py::object(py::none()) : py::str(text);
}

py::str dtype_name(DType dtype) { return py::str(std::string(name_of(dtype))); }

// Returns code from another compiler, if it is of this kind. PTX is a text, but
// the encoding of its comments is unknown.
py::object object_of(const DefinitionObject& self, DeviceObject::Kind kind) {
  const auto& object = self.given.object;
  if (!object || object->kind != kind) return py::none();
  return py::bytes(object->bytes);
}

template <DeviceObject::Kind kKind>
py::object object_of(const DefinitionObject& self) {
  return object_of(self, kKind);
}

py::object symbol_of(const DefinitionObject& self) {
  return self.given.object ? text_or_none(self.given.object->symbol)
                           : py::object(py::none());
}

py::dict params_of(const DefinitionObject& self) {
  py::dict params;
  for (const Parameter& param : self.given.params) {
    const py::str dtype = dtype_name(param.dtype);
    params[py::str(param.name)] =
        param.default_value
            ? py::object(py::make_tuple(dtype, number_of(*param.default_value)))
            : py::object(dtype);
  }
  return params;
}

py::object dtypes_of(const DefinitionObject& self) {
  if (self.given.dtypes.empty()) return py::none();
  py::list names;
  for (const DType dtype : self.given.dtypes) names.append(dtype_name(dtype));
  return py::tuple(names);
}

py::object inputs_of(const DefinitionObject& self) {
  const OperatorDefinition& given = self.given;
  if (!given.input_names.empty()) return py::tuple(py::cast(given.input_names));
  if (given.inputs < 0 || !given.expression.empty()) return py::none();
  return py::int_(given.inputs);
}

py::object checked_of(const DefinitionObject& self) {
  return self.given.checked ? py::object(py::bool_(*self.given.checked))
                            : py::object(py::none());
}

// Returns the keywords of define_many() that differ from the defaults.
py::dict keywords_of(const DefinitionObject& self) {
  py::dict keywords;
  const auto add = [&](const char* name, const py::object& value) {
    if (!value.is_none()) keywords[name] = value;
  };
  add("name", py::str(self.given.name));
  add("expression", text_or_none(self.given.expression));
  add("source", text_or_none(self.given.source));
  add("ptx", object_of<DeviceObject::Kind::Ptx>(self));
  add("ltoir", object_of<DeviceObject::Kind::LtoIr>(self));
  add("cubin", object_of<DeviceObject::Kind::Cubin>(self));
  add("symbol", symbol_of(self));
  if (!self.given.params.empty()) add("params", params_of(self));
  add("dtype", dtypes_of(self));
  add("inputs", inputs_of(self));
  if (!self.given.elementwise) add("elementwise", py::bool_(false));
  if (self.given.tiered) add("tiered", py::bool_(true));
  add("checked", checked_of(self));
  return keywords;
}

py::tuple reduce(const DefinitionObject& self) {
  return py::make_tuple(python_module("gpuos._core").attr("_load_definition"),
                        py::make_tuple(keywords_of(self), self.version));
}

std::string definition_repr(const DefinitionObject& self) {
  std::string text = "gpuos.Definition('" + self.given.name + "'";
  if (!self.given.expression.empty())
    text += ", " + std::string(py::repr(py::str(self.given.expression)));
  if (!self.given.source.empty()) text += ", source";
  if (self.given.object) text += ", symbol='" + self.given.object->symbol + "'";
  return text + ", version=" + std::to_string(self.version) + ")";
}

bool equal(const DefinitionObject& self, const py::object& other) {
  const DefinitionObject* its = as_definition(other);
  return its != nullptr && its->given.name == self.given.name &&
         its->version == self.version && its->digest == self.digest;
}

DefinitionPtr define(const std::string& name, const py::object& expression,
                     const py::object& source, const py::object& ptx,
                     const py::object& ltoir, const py::object& cubin,
                     const py::object& symbol, const py::object& params,
                     const py::object& dtype, const py::object& inputs,
                     const py::object& elementwise, bool tiered,
                     const py::object& checked) {
  OperatorDefinition base;
  base.name = name;
  base.tiered = tiered;
  return make_definition(definition_from(std::move(base), expression, source,
                                         {ptx, ltoir, cubin, symbol}, params,
                                         dtype, inputs, elementwise, checked),
                         0);
}

}  // namespace

DefinitionPtr make_definition(OperatorDefinition given, std::uint64_t version) {
  auto made = std::make_shared<DefinitionObject>();
  if (given.object && given.object->symbol.empty())
    given.object->symbol = given.name;
  made->digest = digest_of(given);
  made->given = std::move(given);
  made->version = version;
  return made;
}

DefinitionPtr definition_of(const Operator& op) {
  OperatorVersion now;
  {
    const WithoutGil no_gil;
    now = op.current();
  }
  if (now.definition == nullptr)
    throw InvalidArgument(
        op.name() + (now.is_builtin
                         ? ": expected an operator with a definition, got one "
                           "that is built in; every runtime has it: send its "
                           "name"
                         : ": expected an operator with a definition, got one "
                           "of a Session; send the text of its cells"));
  return make_definition(*now.definition, now.number);
}

const DefinitionObject* as_definition(py::handle object) {
  if (Py_TYPE(object.ptr()) != definition_type) return nullptr;
  return &object.cast<const DefinitionObject&>();
}

void register_definition(py::module_& module) {
  const auto none = py::none();
  auto type = add_class<DefinitionObject, DefinitionPtr>(module, "Definition");
  definition_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.def(py::init(&define), py::arg("name"), py::arg("expression") = none,
           py::kw_only(), py::arg("source") = none, py::arg("ptx") = none,
           py::arg("ltoir") = none, py::arg("cubin") = none,
           py::arg("symbol") = none, py::arg("params") = none,
           py::arg("dtype") = none, py::arg("inputs") = none,
           py::arg("elementwise") = true, py::arg("tiered") = false,
           py::arg("checked") = none)
      .def_property_readonly(
          "name", [](const DefinitionObject& self) { return self.given.name; })
      .def_property_readonly("expression",
                             [](const DefinitionObject& self) {
                               return text_or_none(self.given.expression);
                             })
      .def_property_readonly("source",
                             [](const DefinitionObject& self) {
                               return text_or_none(self.given.source);
                             })
      .def_property_readonly("ptx", &object_of<DeviceObject::Kind::Ptx>)
      .def_property_readonly("ltoir", &object_of<DeviceObject::Kind::LtoIr>)
      .def_property_readonly("cubin", &object_of<DeviceObject::Kind::Cubin>)
      .def_property_readonly("symbol", &symbol_of)
      .def_property_readonly("params", &params_of)
      .def_property_readonly("dtype", &dtypes_of)
      .def_property_readonly("inputs", &inputs_of)
      .def_property_readonly(
          "elementwise",
          [](const DefinitionObject& self) { return self.given.elementwise; })
      .def_property_readonly(
          "tiered",
          [](const DefinitionObject& self) { return self.given.tiered; })
      .def_property_readonly("checked", &checked_of)
      .def_readonly("version", &DefinitionObject::version)
      .def_readonly("digest", &DefinitionObject::digest)
      .def("__eq__", &equal, py::arg("other"), py::pos_only())
      .def("__hash__",
           [](const DefinitionObject& self) {
             return py::hash(
                 py::make_tuple(self.given.name, self.version, self.digest));
           })
      .def("__copy__", [](const DefinitionPtr& self) { return self; })
      .def(
          "__deepcopy__",
          [](const DefinitionPtr& self, const py::object&) { return self; },
          py::arg("memo"), py::pos_only())
      .def("__reduce__", &reduce)
      .def("__dask_tokenize__",
           [](const DefinitionObject& self) {
             return py::make_tuple("gpuos.Definition", self.given.name,
                                   self.version, self.digest);
           })
      .def("__repr__", &definition_repr);
  module.def(
      "_load_definition",
      [](const py::object& keywords, std::uint64_t version) {
        return make_definition(definition_from_dict(keywords, "Definition"),
                               version);
      },
      py::arg("keywords"), py::arg("version"));
}

}  // namespace gpuos::python
