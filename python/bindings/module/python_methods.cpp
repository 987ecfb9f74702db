#include "module/python_methods.h"

#include <pybind11/pybind11.h>

#include <sstream>
#include <string>

#include "convert/reading.h"
#include "module/own_lock.h"
#include "module/python_module.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

py::cpp_function method_of(const py::handle& type, const char* module,
                           const std::string& name) {
  auto* const own = reinterpret_cast<PyTypeObject*>(type.ptr());
  return py::cpp_function(
      [=](const py::object& self, const py::args& args,
          const py::kwargs& keywords) -> py::object {
        if (PyObject_TypeCheck(self.ptr(), own) == 0)
          refuse_type(name.c_str(), own->tp_name, self);
        const WithoutLock to_others;
        return python_module(module).attr("METHODS")[name.c_str()](self, *args,
                                                                   **keywords);
      },
      py::name(name.c_str()), py::is_method(type));
}

}  // namespace

void add_python_methods(const py::handle& type, const char* module,
                        const char* names) {
  std::istringstream words(names);
  for (std::string name; words >> name;)
    py::setattr(type, name.c_str(), method_of(type, module, name));
}

void add_python_properties(const py::handle& type, const char* module,
                           const char* names) {
  const auto property = py::module_::import("builtins").attr("property");
  std::istringstream words(names);
  for (std::string name; words >> name;)
    py::setattr(type, name.c_str(), property(method_of(type, module, name)));
}

}  // namespace gpuos::python
