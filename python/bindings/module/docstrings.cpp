#include "module/docstrings.h"

#include <pybind11/pybind11.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>
#include <string>

#include "module/registrations.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// Finds a member of a type or of the module itself. getattr() would return it
// bound.
py::object find(py::object owner, const std::string& name) {
  std::istringstream parts(name);
  for (std::string part; std::getline(parts, part, '.');) {
    const py::object members = owner.attr("__dict__");
    if (!members.contains(part))
      throw py::import_error("gpuos: _core.pyi has a docstring of " + name +
                             ", which the module does not have");
    owner = members[part.c_str()];
  }
  return owner;
}

// Returns a copy of the text. pybind11 frees the texts of its functions, and
// other texts stay.
const char* kept(const std::string& text) {
  char* made = ::strdup(text.c_str());
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

std::string signature_of(const PyMethodDef& method) {
  return method.ml_doc == nullptr ? "" : method.ml_doc;
}

void document(const py::object& member, const char* text) {
  PyObject* object = member.ptr();
  const py::object function = py::getattr(member, "__func__", member);
  if (PyCFunction_Check(function.ptr())) {  // pybind11 made it
    PyMethodDef& method =
        *reinterpret_cast<PyCFunctionObject*>(function.ptr())->m_ml;
    const char* signature = method.ml_doc;
    method.ml_doc = kept(signature_of(method) + '\n' + text + '\n');
    std::free(const_cast<char*>(signature));
  } else if (Py_IS_TYPE(object, &PyMethodDescr_Type)) {
    PyMethodDef& method =
        *reinterpret_cast<PyMethodDescrObject*>(object)->d_method;
    method.ml_doc = kept(signature_of(method) + text);
  } else if (Py_IS_TYPE(object, &PyGetSetDescr_Type)) {
    reinterpret_cast<PyGetSetDescrObject*>(object)->d_getset->doc = text;
  } else if (PyType_Check(object)) {
    // The code sets the dict's entry, because some types are immutable.
    auto* type = reinterpret_cast<PyTypeObject*>(object);
    if (PyDict_SetItemString(type->tp_dict, "__doc__", py::str(text).ptr()) !=
        0)
      throw py::error_already_set();
    PyType_Modified(type);
  } else {
    py::setattr(member, "__doc__", py::str(text));
  }
}

}  // namespace

void add_docstrings(const py::module_& module) {
  for (const Docstring* each = kDocstrings; each->name != nullptr; ++each)
    document(find(module, each->name), each->text);
}

}  // namespace gpuos::python
