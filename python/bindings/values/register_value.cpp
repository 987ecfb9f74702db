// Binds gpuos.Value, which stands for an array while a function is traced.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "convert/numpy_dtype.h"
#include "convert/reading.h"
#include "fused/fused_numbers.h"
#include "gpuos/error.h"
#include "module/python_module.h"
#include "module/registrations.h"
#include "values/value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

constexpr char kNoValue[] =
    ": a traced value has no number yet; return it to read, print or format "
    "it; use where() instead of a branch, & | ~ instead of and, or, not, and "
    "maximum() and minimum() instead of max() and min()";
constexpr char kNoCount[] =
    ": a traced value has no number yet, so that it is no count of a loop, no "
    "index and no size; take those from numbers and from shapes";
constexpr char kNoElements[] =
    ": a function goes through at most 64 elements of a traced value, each of "
    "which is a view; operators and reductions work on all of them";
constexpr char kNoChange[] =
    ": a traced value cannot be changed; where() and concatenate() make a new "
    "one, which the function returns";
constexpr char kOutside[] =
    "; a program has elementwise functions, reductions and views; call this "
    "one with arguments or results";
constexpr char kNoMemory[] =
    ": a traced value has no memory; use functions of NumPy that work on "
    "arrays of any kind";

[[noreturn]] void refuse(const char* name, const char* why) {
  throw InvalidArgument(std::string(name) + why);
}

py::object builtin(const char* name) {
  return py::module_::import("builtins").attr(name);
}

// Calls Python's function with a number, and refuses other values.
auto asker(const char* name, const char* why, const char* function) {
  return [name, why, function](const Value& x) -> py::object {
    if (const py::object number = tell_number(x))
      return builtin(function)(number);
    ask_number(x);
    refuse(name, why);
  };
}

// Returns the truth value. For a number its truth decides, and not its value.
py::object bool_of_value(const py::object& self) {
  PyObject* const one[] = {self.ptr()};
  py::object truth = operator_result("truth", one);
  if (truth && Py_TYPE(truth.ptr()) != value_type) return truth;
  const Value& x = value_of(truth ? truth.ptr() : self.ptr(), "__bool__");
  if (py::object told = tell_number(x)) return told;
  ask_number(x);
  refuse("__bool__", kNoValue);
}

py::object index_of(const Value& x) {
  if (const py::object number = tell_number(x)) {
    PyObject* const index = PyNumber_Index(number.ptr());
    if (index == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(index);
  }
  ask_number(x);
  refuse("__index__", kNoCount);
}

// Calls a number's own method.
auto method_asker(const char* name) {
  return [name](const Value& x, const py::args& args,
                const py::kwargs& keywords) -> py::object {
    if (const py::object number = tell_number(x))
      return number.attr(name)(*args, **keywords);
    ask_number(x);
    refuse(name, kNoValue);
  };
}

// Returns the text. A number decides by its text.
py::str text_of_value(const py::object& self) {
  const py::object number = tell_number(self.cast<const Value&>());
  return number ? py::str(number) : py::repr(self);
}

py::object formatted(const py::object& self, const py::str& form) {
  const py::object number = tell_number(self.cast<const Value&>());
  if (!number && py::len(form) != 0) refuse("__format__", kNoValue);
  return builtin("format")(number ? number : py::object(py::repr(self)), form);
}

py::object as_ndarray(const Value& x, const py::args& args,
                      const py::kwargs& keywords) {
  const py::object number = tell_number(x);
  if (!number) refuse("__array__", kNoMemory);
  return python_module("numpy").attr("array")(number, *args, **keywords);
}

auto refuser(const char* name, const char* why) {
  return [name, why](const Value&, const py::args&, const py::kwargs&) {
    refuse(name, why);
  };
}

// Converts the result to the dtype of NumPy's keyword.
Value with_dtype(const Value& x, const py::object& dtype) {
  return dtype.is_none() ? x : astype(x, dtype_of(dtype));
}

void refuse_out(const char* name, const py::object& out) {
  if (!out.is_none())
    refuse(name,
           ": expected no out= in a fused function; give out= to its "
           "call");
}

template <Value (*kReduce)(const Value&, const Axes&, bool)>
auto reducer(const char* name) {
  return [name](const Value& x, const py::object& axis, const py::object& out,
                const py::object& keepdims) {
    refuse_out(name, out);
    return kReduce(x, axes_of(axis), truth_of(keepdims));
  };
}

// Computes in `dtype`, which the result has too. Sums of narrow integers wrap.
template <Value (*kReduce)(const Value&, const Axes&, bool)>
auto typed_reducer(const char* name) {
  return [name](const Value& x, const py::object& axis, const py::object& dtype,
                const py::object& out, const py::object& keepdims) {
    refuse_out(name, out);
    return with_dtype(
        kReduce(with_dtype(x, dtype), axes_of(axis), truth_of(keepdims)),
        dtype);
  };
}

// Refuses integer dtypes. NumPy's means in integers are neither exact nor
// means.
Value with_mean_dtype(const char* name, const Value& x,
                      const py::object& dtype) {
  Value typed = with_dtype(x, dtype);
  if (!dtype.is_none() && !is_floating(typed.dtype()) &&
      !is_complex(typed.dtype()))
    throw WrongType(std::string(name) +
                    ": dtype: expected a real or complex one, got " +
                    std::string(name_of(typed.dtype())));
  return typed;
}

Value mean_of(const Value& x, const py::object& axis, const py::object& dtype,
              const py::object& out, const py::object& keepdims) {
  refuse_out("mean", out);
  return mean(with_mean_dtype("mean", x, dtype), axes_of(axis),
              truth_of(keepdims));
}

template <Value (*kReduce)(const Value&, const Axes&, double, bool)>
auto spread(const char* name) {
  return [name](const Value& x, const py::object& axis, const py::object& dtype,
                const py::object& out, const py::object& ddof,
                const py::object& keepdims) {
    refuse_out(name, out);
    const Value typed = with_mean_dtype(name, x, dtype);
    return with_dtype(
        kReduce(typed, axes_of(axis), real_of(ddof, name), truth_of(keepdims)),
        dtype);
  };
}

template <typename Class>
void add_reductions(Class& type) {
  py::options options;
  options.disable_function_signatures();  // The stub has the signatures of
                                          // overloads.
  const py::object none = py::none();
  const auto axis = py::arg_v("axis", none);
  const auto out = py::arg_v("out", none);
  const auto keepdims = py::arg_v("keepdims", false);
  const auto dtype = py::arg_v("dtype", none);
  const auto ddof = py::arg_v("ddof", 0.0);
  type.def("max", reducer<max>("max"), axis, out, keepdims)
      .def("min", reducer<min>("min"), axis, out, keepdims)
      .def("ptp", reducer<ptp>("ptp"), axis, out, keepdims)
      .def("any", reducer<any>("any"), axis, out, keepdims)
      .def("all", reducer<all>("all"), axis, out, keepdims)
      .def("argmax", reducer<argmax>("argmax"), axis, out, keepdims)
      .def("argmin", reducer<argmin>("argmin"), axis, out, keepdims)
      .def("sum", typed_reducer<sum>("sum"), axis, dtype, out, keepdims)
      .def("prod", typed_reducer<prod>("prod"), axis, dtype, out, keepdims)
      .def("mean", &mean_of, axis, dtype, out, keepdims)
      .def("var", spread<var>("var"), axis, dtype, out, ddof, keepdims)
      .def("std", spread<stddev>("std"), axis, dtype, out, ddof, keepdims);
  // With initial= an empty row is no error.
  type.def("_extreme", [](const Value& x, bool is_max, const py::object& axes,
                          const py::object& kept) {
    return ProgramBuilder::reduce(is_max ? Op::Max : Op::Min, x, axes_of(axes),
                                  truth_of(kept), true);
  });
  // These overloads take where=, initial= or correction=.
  for (const char* name :
       {"max", "min", "any", "all", "sum", "prod", "mean", "var", "std"})
    type.def(name, [name](const py::object& x, const py::args& args,
                          const py::kwargs& keywords) {
      return python_module("gpuos.numpy_functions")
          .attr("reduce")(name, x, args, keywords);
    });
}

std::vector<int> order_of(const py::args& axes) {
  if (axes.size() == 1 && PyIndex_Check(py::object(axes[0]).ptr()) == 0)
    return axes_of(axes[0]).value();
  return axes_of(axes).value();
}

Value transposed(const Value& x, const py::args& axes) {
  if (axes.empty() || (axes.size() == 1 && axes[0].is_none()))
    return transpose(x);
  return transpose(x, order_of(axes));
}

Shape shape_asked(const Value& x) { return ProgramBuilder::shape_of(x); }

std::int64_t size_asked(const Value& x) {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape_asked(x)) size *= extent;
  return size;
}

std::int64_t length_asked(const Value& x) {
  if (x.rank() == 0)
    throw py::type_error("len: expected a value with axes, got one without");
  return shape_asked(x)[0];
}

// A call could have at most so many arguments, and each row is a view of one.
constexpr std::int64_t kMostRows = 64;

py::object rows(const py::object& x) {
  const std::int64_t length = length_asked(value_of(x.ptr(), "iter"));
  if (length > kMostRows) refuse("__iter__", kNoElements);
  py::list all;
  for (std::int64_t i = 0; i < length; ++i) all.append(x[py::int_(i)]);
  return py::iter(all);
}

auto attribute(const char* name, Value (*of)(const Operand&)) {
  return [name, of](const py::object& x) {
    const py::str text(name);
    PyObject* const operands[] = {x.ptr(), text.ptr()};
    const py::object getter = py::module_::import("builtins").attr("getattr");
    const py::object made = number_result(getter, operands);
    return made ? made : make_value(of(value_of(x.ptr(), name)));
  };
}

// Calls a number's method of its own type.
auto conjugated(const char* name) {
  return [name](const py::object& x) {
    PyObject* const operands[] = {x.ptr()};
    const py::object method =
        python_module("operator").attr("methodcaller")(name);
    const py::object made = number_result(method, operands);
    return made ? made : make_value(conjugate(value_of(x.ptr(), "conjugate")));
  };
}

// Calls Python's function of this name with a number.
auto rounder(const char* module, const char* name) {
  return [module, name](const py::args& args) {
    std::vector<PyObject*> operands;
    for (const py::handle each : args) operands.push_back(each.ptr());
    const py::object function = py::module_::import(module).attr(name);
    if (py::object made = number_result(function, operands)) return made;
    throw py::type_error(std::string(name) +
                         ": expected a number, got an array; call np." + name);
  };
}

// Returns the type of a number, so that isinstance(k, int) is right.
py::object class_of(const py::object& self) {
  const py::object type = type_of_number(self.cast<const Value&>());
  return type ? type : py::object(py::type::of(self));
}

// Adds the property to the dict. An assignment would set the class of the type.
void add_class_property(const py::handle& type) {
  auto* const object = reinterpret_cast<PyTypeObject*>(type.ptr());
  const py::object property = builtin("property")(py::cpp_function(&class_of));
  if (PyDict_SetItemString(object->tp_dict, "__class__", property.ptr()) != 0)
    throw py::error_already_set();
  PyType_Modified(object);
}

std::string value_repr(const Value& x) {
  if (const py::object number = tell_number(x))
    return py::repr(number).cast<std::string>();
  return "gpuos.Value(dtype=" + std::string(name_of(x.dtype())) +
         ", ndim=" + std::to_string(x.rank()) +
         (x.is_weak() ? ", a number)" : ")");
}

template <typename Class>
void add_attributes(Class& type) {
  type.def_property_readonly(
          "dtype", [](const Value& x) { return numpy_dtype(x.dtype()); })
      .def_property_readonly("ndim", &Value::rank)
      .def_property_readonly("_is_number", &Value::is_weak)
      .def("_told",
           [](const Value& x) {
             if (py::object number = tell_number(x)) return number;
             throw py::key_error("a value that is no number");
           })
      .def_property_readonly("T", [](const Value& x) { return transpose(x); })
      .def_property_readonly("mT",
                             [](const Value& x) { return swapaxes(x, -2, -1); })
      .def_property_readonly("real", attribute("real", real))
      .def_property_readonly("imag", attribute("imag", imag))
      .def_property_readonly(
          "shape",
          [](const Value& x) { return py::tuple(py::cast(shape_asked(x))); })
      .def_property_readonly("size", &size_asked)
      .def("__len__", &length_asked)
      .def("__iter__", &rows)
      .def("__repr__", &value_repr);
}

template <typename Class>
void add_methods(Class& type) {
  type.def(
          "astype",
          [](const Value& x, const py::object& dtype, const py::kwargs&) {
            return astype(x, dtype_of(dtype));
          },
          py::arg("dtype"))
      .def("transpose", &transposed)
      .def("swapaxes", &swapaxes, py::arg("axis1"), py::arg("axis2"))
      .def("conj", conjugated("conj"))
      .def("conjugate", conjugated("conjugate"))
      .def("copy", [](const Value& x, const py::args&) { return x; })
      .def("__array_ufunc__",
           [](const Value&, const py::object& ufunc, const std::string& method,
              const py::args& inputs, const py::kwargs& keywords) {
             return call_ufunc(ufunc, method, inputs, keywords);
           })
      .def(
          "__array_function__",
          [](const Value&, const py::object& function, const py::object&,
             const py::object& args, const py::object& keywords) -> py::object {
            if (auto made = numbers_result(function, args, keywords))
              return made;
            return python_module("gpuos.numpy_functions")
                .attr("call")(function, args, keywords);
          });
  type.def("__round__", rounder("builtins", "round"));
  for (const char* name : {"floor", "ceil", "trunc"})
    type.def(("__" + std::string(name) + "__").c_str(), rounder("math", name));
  // These methods call NumPy's functions of these names.
  for (const char* name : {"clip", "round", "dot"})
    type.def(name, [name](const py::args& args, const py::kwargs& keywords) {
      return call_numpy(name, args, keywords);
    });
  // No value has these methods and attributes of NumPy's arrays.
  type.def(
      "__getattr__", [](const Value& x, const std::string& name) -> py::object {
        const bool is_special = name.starts_with("__");
        // A Python number may have the attribute, such as bit_length().
        const py::object number = is_special ? py::object() : tell_number(x);
        if (number && has_attribute(number, name.c_str()))
          return number.attr(name.c_str());
        throw py::attribute_error(name +
                                  ": a traced value has no such attribute" +
                                  (is_special ? "" : kOutside));
      });
}

template <typename Class>
void add_refusals(Class& type) {
  type.def("__bool__", &bool_of_value)
      .def("__int__", asker("__int__", kNoValue, "int"))
      .def("__float__", asker("__float__", kNoValue, "float"))
      .def("__complex__", asker("__complex__", kNoValue, "complex"))
      .def("__index__", &index_of)
      .def("__str__", &text_of_value)
      .def("__format__", &formatted);
  for (const char* name : {"item", "tolist"})
    type.def(name, method_asker(name));
  type.def("__contains__", refuser("__contains__", kNoElements));
  for (const char* name : {"__setitem__", "__delitem__"})
    type.def(name, refuser(name, kNoChange));
  type.def("__array__", &as_ndarray);
}

}  // namespace

void register_value(py::module_& module) {
  module.def("_operations", &operations);
  auto type = add_result_class<Value>(module, "Value");
  value_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  add_class_property(type);
  add_attributes(type);
  add_reductions(type);
  add_methods(type);
  add_views(type);
  add_refusals(type);
  add_operators(type);
}

}  // namespace gpuos::python
