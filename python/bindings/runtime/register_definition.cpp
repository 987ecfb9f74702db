// Binds gpuos.Definition, which holds all that define() takes, to be kept and
// sent, and reads the arguments of define() and replace().
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "convert/fields.h"
#include "convert/keywords.h"
#include "convert/numpy_dtype.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/python_methods.h"
#include "module/python_module.h"
#include "module/registrations.h"
#include "module/without_gil.h"
#include "runtime/definition.h"

namespace py = pybind11;

namespace gpuos::python {

namespace {

PyTypeObject* definition_type = nullptr;

using DefinitionPtr = std::shared_ptr<DefinitionObject>;
using Kind = DeviceObject::Kind;

// Returns the name of a keyword of submit(). Throws: InvalidArgument.
std::string own_name(py::handle given, const char* what) {
  const std::string name = text_of(given, what);
  for (const char* taken : {"out", "stream", "sizes", "dtype"})
    if (name == taken)
      throw InvalidArgument(std::string(what) +
                            ": expected a name other than those of submit(), "
                            "got '" +
                            name + "'");
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

// Returns a text, bytes, or the contents of the file at a path. Python reads
// the file, so a missing one raises FileNotFoundError.
std::string object_bytes(const py::object& given, const std::string& what,
                         Kind kind) {
  if (PyBytes_Check(given.ptr()) != 0) return given.cast<std::string>();
  const bool is_text = PyUnicode_Check(given.ptr()) != 0;
  if (is_text && kind == Kind::Ptx) return text_of(given, what.c_str());
  if (is_text || !py::hasattr(given, "__fspath__"))
    refuse_type(what.c_str(),
                kind == Kind::Ptx ? "str, bytes or a path"
                                  : "bytes or a path such as pathlib.Path",
                given);
  return python_module("pathlib")
      .attr("Path")(given)
      .attr("read_bytes")()
      .cast<std::string>();
}

constexpr const char* name_of(Kind kind) {
  return kind == Kind::Ptx ? "ptx" : kind == Kind::LtoIr ? "ltoir" : "cubin";
}

py::str dtype_name(DType dtype) { return py::str(std::string(name_of(dtype))); }

using Definition = OperatorDefinition;
using Keyword = Field<Definition>;

template <Kind kKind>
constexpr Keyword object_keyword() {
  return {name_of(kKind),
          [](Definition& to, const std::string& what, const py::object& given) {
            if (to.object)
              throw InvalidArgument(
                  std::string(
                      "define: expected one of ptx, ltoir and cubin, got ") +
                  name_of(to.object->kind) + " and " + name_of(kKind));
            to.object = DeviceObject{.kind = kKind,
                                     .bytes = object_bytes(given, what, kKind)};
          },
          // PTX is a text, but the encoding of its comments is unknown.
          [](const OperatorDefinition& of) -> py::object {
            if (!of.object || of.object->kind != kKind) return py::none();
            return py::bytes(of.object->bytes);
          }};
}

template <auto kMember>
constexpr Keyword text_keyword(const char* name) {
  return {name, member_field<kMember>(name).set,
          [](const Definition& of) { return text_or_none(of.*kMember); }};
}

void set_symbol(Definition& to, const std::string& what,
                const py::object& given) {
  if (!to.object)
    throw InvalidArgument(
        "define: symbol: expected ptx, ltoir or cubin with it, got none");
  to.object->symbol = text_of(given, what.c_str());
}

void set_params(Definition& to, const std::string& what,
                const py::object& given) {
  for (const auto& [key, dtype] : pairs_of(given, what.c_str()))
    to.params.push_back(parameter_from(own_name(key, what.c_str()), dtype));
}

py::object params_of(const OperatorDefinition& of) {
  py::dict params;
  for (const Parameter& param : of.params) {
    const py::str dtype = dtype_name(param.dtype);
    params[py::str(param.name)] =
        param.default_value
            ? py::object(py::make_tuple(dtype, number_of(*param.default_value)))
            : py::object(dtype);
  }
  return params;
}

void set_dtypes(Definition& to, const std::string& what,
                const py::object& given) {
  if (!py::isinstance<py::list>(given) && !py::isinstance<py::tuple>(given)) {
    to.dtypes = {dtype_of(given)};
    return;
  }
  to.dtypes.clear();
  for (const py::handle dtype : items_of(given, what.c_str()))
    to.dtypes.push_back(dtype_of(dtype));
}

py::object dtypes_of(const OperatorDefinition& of) {
  if (of.dtypes.empty()) return py::none();
  py::list names;
  for (const DType dtype : of.dtypes) names.append(dtype_name(dtype));
  return py::tuple(names);
}

void set_inputs(Definition& to, const std::string& what,
                const py::object& given) {
  to.inputs = -1;
  to.input_names.clear();
  if (PyIndex_Check(given.ptr()) != 0) {
    to.inputs = integer_as<int>(given, what.c_str());
    return;
  }
  if (PyUnicode_Check(given.ptr()))
    throw py::type_error(
        "define: inputs: expected a number or a sequence of names, got str");
  for (const py::handle name : items_of(given, what.c_str()))
    to.input_names.push_back(own_name(name, what.c_str()));
}

py::object inputs_of(const OperatorDefinition& of) {
  if (!of.input_names.empty()) return py::tuple(py::cast(of.input_names));
  if (of.inputs < 0 || !of.expression.empty()) return py::none();
  return py::int_(of.inputs);
}

constexpr Keyword kKeywords[] = {
    text_keyword<&Definition::expression>("expression"),
    text_keyword<&Definition::source>("source"),
    object_keyword<Kind::Ptx>(),
    object_keyword<Kind::LtoIr>(),
    object_keyword<Kind::Cubin>(),
    {"symbol", set_symbol,
     [](const Definition& of) {
       return text_or_none(of.object ? of.object->symbol : std::string());
     }},
    {"params", set_params, params_of},
    {"dtype", set_dtypes, dtypes_of},
    {"inputs", set_inputs, inputs_of},
    member_field<&Definition::elementwise>("elementwise"),
    member_field<&Definition::tiered>("tiered"),
    member_field<&Definition::checked>("checked"),
};

// Returns the keywords of define_many() that differ from the defaults.
py::dict keywords_of(const DefinitionObject& self) {
  py::dict keywords;
  keywords["name"] = self.given.name;
  for (const Keyword& each : kKeywords) {
    const py::object value = each.get(self.given);
    if (!value.equal(each.get({}))) keywords[each.name] = value;
  }
  return keywords;
}

DefinitionPtr make_definition(OperatorDefinition given, std::uint64_t version) {
  auto made = std::make_shared<DefinitionObject>();
  if (given.object && given.object->symbol.empty())
    given.object->symbol = given.name;
  made->digest = digest_of(given);
  made->given = std::move(given);
  made->version = version;
  return made;
}

bool equal(const DefinitionObject& self, const py::object& other) {
  const DefinitionObject* its = as_definition(other);
  return its != nullptr && its->given.name == self.given.name &&
         its->version == self.version && its->digest == self.digest;
}

}  // namespace

py::object text_or_none(const std::string& text) {
  return text.empty() ? py::object(py::none()) : py::str(text);
}

void check_alone(const std::string& where, const py::object& expression,
                 const py::dict& keywords) {
  bool is_alone = expression.is_none();
  for (const auto& [name, value] : keywords)
    // The defaults of define().
    is_alone = is_alone && (value.is_none() ||
                            (shown(name) == "elementwise" && truth_of(value)) ||
                            (shown(name) == "tiered" && !truth_of(value)));
  if (!is_alone)
    throw InvalidArgument(
        where + ": expected no other argument with a Definition, got more");
}

OperatorDefinition definition_from(OperatorDefinition base,
                                   const py::object& expression,
                                   const py::dict& keywords,
                                   const std::string& where,
                                   bool may_be_tiered) {
  for (const auto& [key, value] : keywords) {
    const std::string name = text_of(key, where.c_str());
    const bool is_known = find_field<Definition>(kKeywords, name) != nullptr;
    if (!is_known || (name == "tiered" && !may_be_tiered))
      throw py::type_error(where + ": unexpected keyword '" + shown(key) + "'");
  }
  if (const DefinitionObject* given = as_definition(expression)) {
    check_alone(base.name, py::none(), keywords);
    OperatorDefinition renamed = given->given;
    renamed.name = std::move(base.name);
    return renamed;
  }
  OperatorDefinition definition = std::move(base);
  definition.expression.clear();
  definition.source.clear();
  definition.object.reset();
  // The replaced operator may have more parameters than its definition.
  definition.params.clear();
  for (const Keyword& known : kKeywords) {
    const bool is_first = &known == kKeywords;
    if (!is_first && !keywords.contains(known.name)) continue;
    const py::object given =
        is_first ? expression : py::object(keywords[known.name]);
    if (!given.is_none())
      known.set(definition, std::string("define: ") + known.name, given);
  }
  return definition;
}

OperatorDefinition definition_from_dict(const py::object& given,
                                        const std::string& where) {
  if (const DefinitionObject* definition = as_definition(given))
    return definition->given;
  py::dict keywords;
  py::object name = py::none();
  py::object expression = py::none();
  for (const auto& [key, value] : pairs_of(given, where.c_str())) {
    const std::string text = text_of(key, where.c_str());
    if (text == "name")
      name = value;
    else if (text == "expression")
      expression = value;
    else
      keywords[key] = value;
  }
  if (name.is_none())
    throw py::type_error(where + ": expected 'name' in each, got none");
  OperatorDefinition base;
  base.name = text_of(name, (where + ": name").c_str());
  return definition_from(std::move(base), expression, keywords, where, true);
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
  auto type = add_class<DefinitionObject, DefinitionPtr>(module, "Definition");
  definition_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.def(py::init([](std::string name, const py::object& expression,
                       const py::kwargs& keywords) {
             OperatorDefinition base;
             base.name = std::move(name);
             return make_definition(
                 definition_from(std::move(base), expression, keywords,
                                 "Definition", true),
                 0);
           }),
           py::arg("name"), py::arg("expression") = py::none())
      .def_property_readonly(
          "name", [](const DefinitionObject& self) { return self.given.name; })
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
      .def("__reduce__",
           [](const DefinitionObject& self) {
             return py::make_tuple(
                 python_module("gpuos._core").attr("_load_definition"),
                 py::make_tuple(keywords_of(self), self.version));
           })
      .def("__dask_tokenize__", [](const DefinitionObject& self) {
        return py::make_tuple("gpuos.Definition", self.given.name, self.version,
                              self.digest);
      });
  add_repr(type);
  for (const Keyword& each : kKeywords)
    type.def_property_readonly(each.name,
                               [get = each.get](const DefinitionObject& self) {
                                 return get(self.given);
                               });
  module.def(
      "_load_definition",
      [](const py::object& keywords, std::uint64_t version) {
        return make_definition(definition_from_dict(keywords, "Definition"),
                               version);
      },
      py::arg("keywords"), py::arg("version"));
}

}  // namespace gpuos::python
