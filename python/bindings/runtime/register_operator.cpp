// Binds gpuos.Operator, its versions and gpuos.Alias. gpuos/runtime_methods.py
// has the methods that make and change operators, and calls the functions
// below.
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "convert/casters.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/python_methods.h"
#include "module/registrations.h"
#include "module/without_gil.h"
#include "runtime/operator_object.h"
#include "runtime/runtime_object.h"
#include "runtime/waiting.h"

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

using ObjectFields = std::tuple<int, py::bytes, std::string>;
using Param = std::tuple<std::string, DType, std::optional<Scalar>>;

// Holds the members of an OperatorDefinition, in the order of Fields in
// gpuos/definitions.py.
using Fields =
    std::tuple<std::string, std::string, std::optional<ObjectFields>,
               std::vector<Param>, std::vector<DType>, std::vector<std::string>,
               int, bool, bool, std::optional<bool>>;

OperatorDefinition definition_from(std::string name, const Fields& fields) {
  OperatorDefinition made;
  made.name = std::move(name);
  std::optional<ObjectFields> object;
  std::vector<Param> params;
  std::tie(made.expression, made.source, object, params, made.dtypes,
           made.input_names, made.inputs, made.elementwise, made.tiered,
           made.checked) = fields;
  if (object)
    made.object =
        DeviceObject{static_cast<DeviceObject::Kind>(std::get<0>(*object)),
                     std::get<1>(*object), std::get<2>(*object)};
  for (Param& param : params)
    made.params.push_back(std::make_from_tuple<Parameter>(std::move(param)));
  return made;
}

Fields fields_of(const OperatorDefinition& of) {
  std::optional<ObjectFields> object;
  // PTX is a text, but the encoding of its comments is unknown.
  if (of.object)
    object = {static_cast<int>(of.object->kind), of.object->bytes,
              of.object->symbol};
  std::vector<Param> params;
  for (const Parameter& param : of.params)
    params.emplace_back(param.name, param.dtype, param.default_value);
  return {of.expression,  of.source, object,         params,    of.dtypes,
          of.input_names, of.inputs, of.elementwise, of.tiered, of.checked};
}

// Returns the fields as they are stored, and their digest.
std::pair<Fields, std::string> normal_definition(const std::string& name,
                                                 const Fields& fields) {
  OperatorDefinition given = definition_from(name, fields);
  if (given.object && given.object->symbol.empty()) given.object->symbol = name;
  return {fields_of(given), digest_of(given)};
}

std::tuple<std::string, Fields, std::uint64_t> current_definition(
    const OperatorObject& self) {
  const Operator& op = self.op;
  const OperatorVersion now = released([&] { return op.current(); });
  if (now.definition == nullptr)
    throw InvalidArgument(
        op.name() + (now.is_builtin
                         ? ": expected an operator with a definition, got one "
                           "that is built in; every runtime has it: send its "
                           "name"
                         : ": expected an operator with a definition, got one "
                           "of a Session; send the text of its cells"));
  return {now.definition->name, fields_of(*now.definition), now.number};
}

OperatorPtr remembered(RuntimeObject& self, const Operator& op,
                       const OperatorDefinition& definition) {
  auto made = std::make_shared<OperatorObject>(&self, op, definition);
  self.remember(made);
  return made;
}

OperatorPtr define_one(RuntimeObject& self, const std::string& name,
                       const Fields& fields) {
  const OperatorDefinition given = definition_from(name, fields);
  return remembered(
      self, interruptible([&] { return self.core().define(given); }), given);
}

std::vector<OperatorPtr> define_many(
    RuntimeObject& self,
    const std::vector<std::pair<std::string, Fields>>& given) {
  std::vector<OperatorDefinition> definitions;
  for (const auto& [name, fields] : given)
    definitions.push_back(definition_from(name, fields));
  const std::vector<Operator> operators =
      interruptible([&] { return self.core().define_many(definitions); });
  std::vector<OperatorPtr> made;
  for (std::size_t i = 0; i < operators.size(); ++i)
    made.push_back(remembered(self, operators[i], definitions[i]));
  return made;
}

// Makes all changes or none. A change is the replaced operator or None, its
// expected version, the name and the fields.
void change_operators(
    RuntimeObject& self,
    const std::vector<
        std::tuple<OperatorPtr, std::uint64_t, std::string, Fields>>& given) {
  std::vector<OperatorChange> changes;
  for (const auto& [op, expected, name, fields] : given)
    changes.push_back({definition_from(name, fields),
                       op == nullptr ? Operator() : op->op, expected});
  const std::vector<Operator> operators =
      interruptible([&] { return self.core().change(changes); });
  for (std::size_t i = 0; i < changes.size(); ++i)
    if (changes[i].replaces.record() == nullptr)
      remembered(self, operators[i], changes[i].definition);
}

std::uint64_t replace_operator(RuntimeObject& self, const OperatorObject& op,
                               const std::string& name, const Fields& fields,
                               std::uint64_t expected) {
  const OperatorDefinition given = definition_from(name, fields);
  return interruptible(
      [&] { return self.core().replace(op.op, given, expected); });
}

// Returns the operator, the name in its definition and the fields that
// replace() keeps.
std::tuple<OperatorPtr, std::string, Fields> replaced_operator(
    RuntimeObject& self, const py::object& op) {
  const OperatorPtr known = self.resolve(op.ptr());
  return {known, known->definition.name, fields_of(known->definition)};
}

void undefine(RuntimeObject& self, const py::object& op) {
  const OperatorPtr target = self.resolve(op.ptr());
  {
    const WithoutGil no_gil;
    self.core().undefine(target->op);
  }
  self.forget(target->op.name());
}

std::shared_ptr<AliasObject> alias(const std::shared_ptr<RuntimeObject>& self,
                                   const std::string& name,
                                   const py::object& op) {
  const OperatorPtr target = self->resolve(op.ptr());
  OperatorDefinition definition = target->definition;
  definition.name = name;
  auto made = std::make_shared<AliasObject>();
  {
    const WithoutGil no_gil;
    made->alias = self->core().alias(name, target->op);
  }
  made->runtime = self;
  made->as_operator = remembered(*self, made->alias.as_operator(), definition);
  return made;
}

py::dict dtypes_by_name(const std::vector<Parameter>& params) {
  py::dict dtypes;
  for (const Parameter& param : params)
    dtypes[py::str(param.name)] = param.dtype;
  return dtypes;
}

py::dict defaults_by_name(const std::vector<Parameter>& params) {
  py::dict defaults;
  for (const Parameter& param : params)
    if (param.default_value)
      defaults[py::str(param.name)] = *param.default_value;
  return defaults;
}

// Returns None for an empty text.
py::object text_or_none(const std::string& text) {
  return text.empty() ? py::object(py::none()) : py::str(text);
}

py::object input_names_of(const OperatorObject& self) {
  const std::vector<std::string>& names = self.op.input_names();
  if (names.empty() && self.op.inputs() != 0) return py::none();
  return py::tuple(py::cast(names));
}

py::list versions_of(const OperatorObject& self) {
  py::list all;
  for (const OperatorVersion& v : released([&] { return self.op.versions(); }))
    all.append(py::make_tuple(
        v.number, v.before, text_or_none(v.expression), text_or_none(v.source),
        dtypes_by_name(v.params), defaults_by_name(v.params),
        text_or_none(v.symbol), v.is_builtin, v.is_current));
  return all;
}

std::uint64_t version_of(const OperatorObject& self) {
  const auto versions = released([&] { return self.op.versions(); });
  return versions.empty() ? 0 : versions.back().number;
}

std::string target_name(const AliasObject& self) {
  const WithoutGil no_gil;
  return self.alias.target().name();
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
      .def_readonly("_runtime", &AliasObject::runtime)
      .def("_switch",
           [](AliasObject& self, const py::object& target) {
             const OperatorPtr next = self.runtime->resolve(target.ptr());
             const WithoutGil no_gil;
             self.alias.switch_to(next->op);
           })
      .def("_roll_back",
           [](AliasObject& self) {
             const WithoutGil no_gil;
             self.alias.rollback();
           })
      .def("__repr__", [](const AliasObject& self) {
        const std::string text = "gpuos.Alias('" + self.alias.name() + "'";
        if (!self.alias.as_operator().is_defined())
          return text + ", undefined)";
        return text + " -> '" + target_name(self) + "')";
      });
}

void add_functions(py::module_& module) {
  module.def("_normal_definition", &normal_definition)
      .def("_current_definition", &current_definition)
      .def("_define", &define_one)
      .def("_define_many", &define_many)
      .def("_change", &change_operators)
      .def("_replaced", &replaced_operator)
      .def("_replace", &replace_operator)
      .def("_roll_back",
           [](RuntimeObject& self, const py::object& op, std::uint64_t to,
              std::uint64_t expected) {
             const OperatorPtr known = self.resolve(op.ptr());
             const WithoutGil no_gil;
             return self.core().rollback(known->op, to, expected);
           })
      .def("_restore",
           [](RuntimeObject& self, const py::object& op) {
             const OperatorPtr known = self.resolve(op.ptr());
             const WithoutGil no_gil;
             return self.core().restore(known->op);
           })
      .def("_undefine", &undefine)
      .def("_alias", &alias)
      .def("_versions", &versions_of);
  using Any = const py::object&;
  using Text = const std::string&;
  module
      .def("_version",
           [](Any x, Text what) { return version_from(x, what.c_str()); })
      .def("_text", [](Any x, Text what) { return text_of(x, what.c_str()); })
      .def("_items", [](Any x, Text what) { return items_of(x, what.c_str()); })
      .def("_integer",
           [](Any x, Text what) { return integer_as<int>(x, what.c_str()); });
}

}  // namespace

void register_operator(py::module_& module) {
  auto type = add_result_class<OperatorObject, OperatorPtr>(module, "Operator");
  operator_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.def_property_readonly(
          "name", [](const OperatorObject& self) { return self.op.name(); })
      .def_property_readonly(
          "is_defined",
          [](const OperatorObject& self) { return self.op.is_defined(); })
      .def_property_readonly("params",
                             [](const OperatorObject& self) {
                               return dtypes_by_name(self.op.params());
                             })
      .def_property_readonly("defaults",
                             [](const OperatorObject& self) {
                               return defaults_by_name(self.op.params());
                             })
      .def_property_readonly("inputs", &input_names_of)
      .def_property_readonly("expression",
                             [](const OperatorObject& self) {
                               return text_or_none(self.op.expression());
                             })
      .def_property_readonly(
          "_reduces",
          [](const OperatorObject& self) { return self.op.reduces(); })
      .def_property_readonly("version", &version_of);
  register_alias(module);
  add_functions(module);
}

}  // namespace gpuos::python
