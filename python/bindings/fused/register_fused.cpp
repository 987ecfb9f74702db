// Binds gpuos.Fused and gpuos.Program. Fused is a plain C type, because a call
// through pybind11 would cost more than the rest of a submission.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <structmember.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "convert/reading.h"
#include "fused/fused_object.h"
#include "module/errors.h"
#include "module/python_module.h"
#include "module/registrations.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

struct FusedInstance {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* dict;
  PyObject* weak_references;
  Fused* fused;
};

PyTypeObject* fused_type = nullptr;

FusedInstance* as_instance(PyObject* self) {
  return reinterpret_cast<FusedInstance*>(self);
}

PyObject* call(PyObject* self, PyObject* const* args, std::size_t count,
               PyObject* names) noexcept {
  return guarded([&] {
    const auto positional = static_cast<std::size_t>(PyVectorcall_NARGS(count));
    return as_instance(self)
        ->fused->call(args, positional, names)
        .release()
        .ptr();
  });
}

PyObject* wrapped(std::unique_ptr<Fused> fused) {
  FusedInstance* made = PyObject_GC_New(FusedInstance, fused_type);
  if (made == nullptr) throw py::error_already_set();
  made->vectorcall = call;
  made->dict = nullptr;
  made->weak_references = nullptr;
  made->fused = fused.release();
  auto* object = reinterpret_cast<PyObject*>(made);
  PyObject_GC_Track(object);
  return object;
}

template <typename Result>
PyObject* as_object(Result&& made) {
  const auto object = py::detail::object_or_cast(std::forward<Result>(made));
  return object.inc_ref().ptr();
}

template <auto kMethod, auto... kMore>
PyObject* with_arguments(PyObject* self, PyObject* const* args,
                         Py_ssize_t count, PyObject* names) noexcept {
  return guarded([&] {
    Fused& fused = *as_instance(self)->fused;
    return as_object((fused.*kMethod)(args, static_cast<std::size_t>(count),
                                      names, kMore...));
  });
}

// Is a method without arguments, or a property.
template <auto kMethod, typename Unused>
PyObject* result(PyObject* self, Unused* /*unused*/) noexcept {
  return guarded(
      [&] { return as_object((as_instance(self)->fused->*kMethod)()); });
}

PyObject* replace(PyObject* self, PyObject* function) noexcept {
  return guarded([&] {
    const py::object runtime = as_instance(self)->fused->runtime();
    if (!runtime.is_none())
      python_module("gpuos.runtime_methods")
          .attr("check_no_transaction")(runtime, "replace");
    const auto next =
        python_module("gpuos.fusing")
            .attr("_replacement")(py::handle(self), py::handle(function));
    const std::uint64_t version = as_instance(self)->fused->replace(next);
    py::handle(self).attr("__wrapped__") = next;
    return PyLong_FromUnsignedLongLong(version);
  });
}

PyObject* replaced(PyObject* self, PyObject* function) noexcept {
  return guarded([&] {
    return wrapped(as_instance(self)->fused->replaced(
        py::reinterpret_borrow<py::object>(function)));
  });
}

PyObject* itself(PyObject* self, PyObject* /*unused*/) noexcept {
  return Py_NewRef(self);
}

PyObject* sent(const char* function, PyObject* self) noexcept {
  return guarded([&] {
    return python_module("gpuos.sending")
        .attr(function)(py::handle(self))
        .release()
        .ptr();
  });
}

PyObject* reduce(PyObject* self, PyObject* /*protocol*/) noexcept {
  return sent("of_fused", self);
}

PyObject* token(PyObject* self, PyObject* /*unused*/) noexcept {
  return sent("token_of_fused", self);
}

PyObject* fused_repr(PyObject* self) noexcept {
  return result<&Fused::repr, void>(self, nullptr);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_instance(self)->dict);
  Fused* fused = as_instance(self)->fused;
  if (fused == nullptr) return 0;
  return fused->visit_objects(
      [&](PyObject* object) { return visit(object, arg); });
}

int clear(PyObject* self) {
  Py_CLEAR(as_instance(self)->dict);
  if (as_instance(self)->fused != nullptr) as_instance(self)->fused->clear();
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (as_instance(self)->weak_references != nullptr)
    PyObject_ClearWeakRefs(self);
  clear(self);
  delete as_instance(self)->fused;
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

// Makes the function a method in the body of a class.
PyObject* bind(PyObject* self, PyObject* instance, PyObject* /*type*/) {
  if (instance == nullptr) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

template <auto kMethod, auto... kMore>
PyMethodDef method(const char* name) noexcept {
  return {name,
          reinterpret_cast<PyCFunction>(
              reinterpret_cast<void (*)()>(with_arguments<kMethod, kMore...>)),
          METH_FASTCALL | METH_KEYWORDS, nullptr};
}

PyMethodDef methods[] = {
    method<&Fused::warm, false>("warm"),
    method<&Fused::warm, true>("compile"),
    method<&Fused::forms>("_forms"),
    {"replace", replace, METH_O, "replace($self, function, /)\n--\n\n"},
    {"_replaced", replaced, METH_O, "_replaced($self, function, /)\n--\n\n"},
    {"__copy__", itself, METH_NOARGS, "__copy__($self, /)\n--\n\n"},
    {"__deepcopy__", itself, METH_O, "__deepcopy__($self, memo, /)\n--\n\n"},
    {"__reduce_ex__", reduce, METH_O,
     "__reduce_ex__($self, protocol, /)\n--\n\n"},
    {"__dask_tokenize__", token, METH_NOARGS,
     "__dask_tokenize__($self, /)\n--\n\n"},
    {"programs", result<&Fused::programs, PyObject>, METH_NOARGS,
     "programs($self, /)\n--\n\n"},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FusedInstance, vectorcall),
     READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(FusedInstance, dict), READONLY,
     nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FusedInstance, weak_references),
     READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr,
     nullptr},
    {"_runtime", result<&Fused::runtime, void>, nullptr, nullptr, nullptr},
    {"version", result<&Fused::version, void>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_repr, reinterpret_cast<void*>(fused_repr)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {0, nullptr}};

PyType_Spec spec = {
    "gpuos.Fused", sizeof(FusedInstance), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    slots};

py::object make_fused(py::object function, py::object trace, py::object runtime,
                      const py::object& name, bool is_deferred) {
  const auto type = py::handle(reinterpret_cast<PyObject*>(runtime_type));
  if (!runtime.is_none() && !py::isinstance(runtime, type))
    refuse_type("fuse: runtime", "a Runtime or None", runtime);
  return py::reinterpret_steal<py::object>(wrapped(
      std::make_unique<Fused>(std::move(function), std::move(trace),
                              std::move(runtime), shown(name), is_deferred)));
}

py::list describe(const std::vector<ProgramArgument>& arguments) {
  py::list all;
  for (const ProgramArgument& argument : arguments)
    all.append(
        py::make_tuple(std::string(name_of(argument.dtype)), argument.rank));
  return all;
}

std::string repr_of_program(const Program& program) {
  std::array<char, 17> hash{};
  std::snprintf(hash.data(), hash.size(), "%016llx",
                static_cast<unsigned long long>(program.hash()));
  return "gpuos.Program(inputs=" + std::to_string(program.inputs().size()) +
         ", scalars=" + std::to_string(program.scalars()) +
         ", outputs=" + std::to_string(program.outputs().size()) +
         ", operations=" + std::to_string(program.operations()) + ", hash=0x" +
         hash.data() + ")";
}

void register_program(py::module_& module) {
  auto type = add_result_class<Program>(module, "Program");
  type.def_property_readonly(
          "inputs", [](const Program& p) { return describe(p.inputs()); })
      .def_property_readonly(
          "outputs", [](const Program& p) { return describe(p.outputs()); })
      .def_property_readonly("scalars", &Program::scalars)
      .def_property_readonly("operations", &Program::operations)
      .def_property_readonly("hash", &Program::hash)
      .def("__repr__", &repr_of_program);
}

}  // namespace

void register_fused(py::module_& module) {
  register_program(module);
  fused_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (fused_type == nullptr) throw py::error_already_set();
  module.add_object("Fused", reinterpret_cast<PyObject*>(fused_type));
  module.def("_make_fused", &make_fused, py::arg("function"), py::arg("trace"),
             py::arg("runtime"), py::arg("name"), py::arg("is_deferred"));
}

}  // namespace gpuos::python
