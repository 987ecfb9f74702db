#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpuos/error.h"
#include "module/python_methods.h"
#include "module/python_module.h"
#include "module/registrations.h"
#include "module/without_gil.h"
#include "runtime/definition.h"
#include "runtime/operator_object.h"
#include "runtime/runtime_object.h"

namespace py = pybind11;

namespace gpuos::python {

PyTypeObject* operator_type = nullptr;
PyTypeObject* alias_type = nullptr;

OperatorObject::OperatorObject(const RuntimeObject* runtime, Operator made,
                               OperatorDefinition given)
    : owner(runtime), op(std::move(made)), definition(std::move(given)) {
  if (definition.params.size() > kMaxArguments) {
    throw InvalidArgument(op.name() + ": expected at most " +
                          std::to_string(kMaxArguments) + " parameters, got " +
                          std::to_string(definition.params.size()));
  }
  // replace() does not change these.
  definition.inputs = op.inputs();
  definition.expression.clear();
  definition.source.clear();
  definition.object.reset();
  definition.tiered = false;
  definition.checked.reset();
  for (const Parameter& param : definition.params) {
    PyObject* name = PyUnicode_InternFromString(param.name.c_str());
    if (name == nullptr) throw py::error_already_set();
    param_names.push_back(py::reinterpret_steal<py::str>(name));
  }
}

namespace {

py::dict dtypes_of(const std::vector<Parameter>& params) {
  py::dict dtypes;
  for (const Parameter& param : params)
    dtypes[py::str(param.name)] = py::str(std::string(name_of(param.dtype)));
  return dtypes;
}

}  // namespace

py::object number_of(const Scalar& scalar) {
  if (scalar.is_complex()) return py::cast(scalar.complex());
  if (scalar.is_above_int64())
    return py::int_(static_cast<std::uint64_t>(scalar.integer()));
  if (scalar.is_integer()) return py::int_(scalar.integer());
  return py::float_(scalar.real());
}

namespace {

py::dict defaults_of(const std::vector<Parameter>& params) {
  py::dict defaults;
  for (const Parameter& param : params)
    if (param.default_value)
      defaults[py::str(param.name)] = number_of(*param.default_value);
  return defaults;
}

py::object input_names_of(const OperatorObject& self) {
  const std::vector<std::string>& names = self.op.input_names();
  if (names.empty() && self.op.inputs() != 0) return py::none();
  return py::tuple(py::cast(names));
}

py::object expression_of(const OperatorObject& self) {
  return text_or_none(self.op.expression());
}

std::vector<OperatorVersion> versions_of(const OperatorObject& self) {
  const WithoutGil no_gil;
  return self.op.versions();
}

std::uint64_t version_of(const OperatorObject& self) {
  const std::vector<OperatorVersion> versions = versions_of(self);
  return versions.empty() ? 0 : versions.back().number;
}

void register_version(py::module_& module) {
  auto type = add_result_class<OperatorVersion>(module, "OperatorVersion");
  type.def_readonly("number", &OperatorVersion::number)
      .def_readonly("before", &OperatorVersion::before)
      .def_property_readonly("expression",
                             [](const OperatorVersion& self) {
                               return text_or_none(self.expression);
                             })
      .def_property_readonly(
          "source",
          [](const OperatorVersion& self) { return text_or_none(self.source); })
      .def_property_readonly(
          "params",
          [](const OperatorVersion& self) { return dtypes_of(self.params); })
      .def_property_readonly(
          "defaults",
          [](const OperatorVersion& self) { return defaults_of(self.params); })
      .def_property_readonly(
          "symbol",
          [](const OperatorVersion& self) { return text_or_none(self.symbol); })
      .def_readonly("is_builtin", &OperatorVersion::is_builtin)
      .def_readonly("is_current", &OperatorVersion::is_current);
  add_repr(type);
}

std::string target_name(const AliasObject& self) {
  const WithoutGil no_gil;
  return self.alias.target().name();
}

void switch_to(AliasObject& self, const py::object& target) {
  self.runtime->check_no_transaction("switch");
  const OperatorPtr next = self.runtime->resolve(target.ptr());
  const WithoutGil no_gil;
  self.alias.switch_to(next->op);
}

void rollback(AliasObject& self) {
  self.runtime->check_no_transaction("rollback");
  const WithoutGil no_gil;
  self.alias.rollback();
}

void register_alias(py::module_& module) {
  auto type = add_result_class<AliasObject, std::shared_ptr<AliasObject>>(
      module, "Alias");
  alias_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.def_property_readonly(
          "name", [](const AliasObject& self) { return self.alias.name(); })
      .def_property_readonly("target",
                             [](const AliasObject& self) {
                               return self.runtime->find(target_name(self));
                             })
      .def("switch", &switch_to, py::arg("target"))
      .def("rollback", &rollback)
      .def(
          "__reduce_ex__",
          [](const AliasObject& /*self*/, int /*protocol*/) {
            return python_module("gpuos.sending").attr("refuse")("Alias");
          },
          py::arg("protocol"), py::pos_only())
      .def("__repr__", [](const AliasObject& self) {
        const std::string text = "gpuos.Alias('" + self.alias.name() + "'";
        if (!self.alias.as_operator().is_defined())
          return text + ", undefined)";
        return text + " -> '" + target_name(self) + "')";
      });
}

}  // namespace

void register_operator(py::module_& module) {
  register_version(module);
  auto type = add_result_class<OperatorObject, OperatorPtr>(module, "Operator");
  operator_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.def_property_readonly(
          "name", [](const OperatorObject& self) { return self.op.name(); })
      .def_property_readonly(
          "is_defined",
          [](const OperatorObject& self) { return self.op.is_defined(); })
      .def_property_readonly("params",
                             [](const OperatorObject& self) {
                               return dtypes_of(self.op.params());
                             })
      .def_property_readonly("defaults",
                             [](const OperatorObject& self) {
                               return defaults_of(self.op.params());
                             })
      .def_property_readonly("inputs", &input_names_of)
      .def_property_readonly("expression", &expression_of)
      .def_property_readonly(
          "_reduces",
          [](const OperatorObject& self) { return self.op.reduces(); })
      .def_property_readonly("version", &version_of)
      .def_property_readonly("versions", &versions_of)
      .def_property_readonly(
          "definition",
          [](const OperatorObject& self) { return definition_of(self.op); })
      .def("__copy__", [](const OperatorPtr& self) { return self; })
      .def(
          "__deepcopy__",
          [](const OperatorPtr& self, const py::object&) { return self; },
          py::arg("memo"), py::pos_only())
      .def(
          "__reduce_ex__",
          [](const OperatorPtr& self, int /*protocol*/) {
            return python_module("gpuos.sending").attr("of_operator")(self);
          },
          py::arg("protocol"), py::pos_only())
      .def("__dask_tokenize__", [](const OperatorPtr& self) {
        return python_module("gpuos.sending").attr("token_of_operator")(self);
      });
  add_repr(type);
  register_alias(module);
}

}  // namespace gpuos::python
