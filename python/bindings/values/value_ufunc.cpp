// Implements NumPy's functions on the values of a fused function.

#include <algorithm>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "convert/native.h"
#include "convert/numpy_dtype.h"
#include "convert/reading.h"
#include "convert/view_checks.h"
#include "fused/fused_numbers.h"
#include "gpuos/error.h"
#include "module/operator_slots.h"
#include "module/pybind_objects.h"
#include "module/python_module.h"
#include "values/value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

using Given = const std::vector<Operand>&;
struct Function {
  std::size_t operands;
  std::function<Value(Given)> compute;
};
using Functions = std::unordered_map<std::string_view, Function>;

const Value& only(Given x) { return x[0].value(); }

// Returns the value in the dtype that NumPy's functions of floats use for it.
Value as_float(Given x, const char* name) {
  const DType dtype = only(x).dtype();
  if (is_complex(dtype))
    throw WrongType(std::string(name) + ": expected a real dtype, got " +
                    std::string(name_of(dtype)));
  return is_floating(dtype) ? only(x) : rint(x[0]);
}

void add_operations(Functions& functions) {
  for (std::size_t i = 0; i < std::size(kOpInfos); ++i) {
    const auto op = static_cast<Op>(i);
    const OpRule rule = info_of(op).rule;
    if (rule == OpRule::Leaf || rule == OpRule::Reduction ||
        rule == OpRule::Select)
      continue;
    functions.emplace(info_of(op).name,
                      Function{info_of(op).operands,
                               [op](Given x) { return elementwise(op, x); }});
  }
}

void add_others(Functions& f) {
  constexpr double kDegree = std::numbers::pi / 180;
  f["greater"] = {2, [](Given x) { return greater(x[0], x[1]); }};
  f["greater_equal"] = {2, [](Given x) { return greater_equal(x[0], x[1]); }};
  f["logical_and"] = {2, [](Given x) { return logical_and(x[0], x[1]); }};
  f["logical_or"] = {2, [](Given x) { return logical_or(x[0], x[1]); }};
  f["logical_xor"] = {2, [](Given x) { return logical_xor(x[0], x[1]); }};
  f["logical_not"] = {1, [](Given x) { return logical_not(x[0]); }};
  f["true_divide"] = {2,
                      [](Given x) { return divide(x[0], x[1]); }};  // NumPy 1
  f["positive"] = {1, [](Given x) { return positive(only(x)); }};
  f["fabs"] = {1, [](Given x) { return absolute(as_float(x, "fabs")); }};
  for (const char* name : {"deg2rad", "radians"})
    f[name] = {
        1, [name](Given x) { return multiply(as_float(x, name), kDegree); }};
  for (const char* name : {"rad2deg", "degrees"})
    f[name] = {1, [name](Given x) {
                 return multiply(as_float(x, name), 1 / kDegree);
               }};
  f["float_power"] = {
      2, [](Given x) {
        const auto wide = [&](const Operand& y) {
          return astype(literal_of(y, x[x[0].is_number() ? 1 : 0].value()),
                        DType::Float64);
        };
        return power(wide(x[0]), wide(x[1]));
      }};
  // These are names of SciPy.
  f["expit"] = {1, [](Given x) { return sigmoid(x[0]); }};
  f["gammaln"] = {1, [](Given x) { return lgamma(x[0]); }};
}

const Functions& known_functions() {
  static const Functions functions = [] {
    Functions all;
    add_operations(all);
    add_others(all);
    return all;
  }();
  return functions;
}

// Checks the number of operands. NumPy counts them, but a direct call of
// __array_ufunc__ does not.
void check_count(const std::string& name, std::size_t wanted,
                 std::size_t given) {
  if (given == wanted) return;
  throw InvalidArgument(name + ": expected " + std::to_string(wanted) +
                        " operands, got " + std::to_string(given));
}

// Accepts only dtype=, which has a value. NumPy omits an out of None.
void check_keywords(const std::string& name, const py::kwargs& keywords) {
  for (const auto& [key, value] : keywords) {
    const std::string keyword = shown(key);
    if (keyword == "dtype") continue;
    std::string text = name;
    text += ": expected no " + keyword + "= in a fused function; ";
    if (keyword == "out")
      text += "return what is computed, and give out= to the call";
    else if (keyword == "where")
      text += "return what is computed of where()";
    else
      text += "values come by their place";
    throw InvalidArgument(text);
  }
}

// Returns NumPy's casting="same_kind".
bool can_cast(DType from, DType to) noexcept {
  return kind_of(from) <= kind_of(to);
}

bool is_value(PyObject* object) { return Py_TYPE(object) == value_type; }

// Returns whether all results have one dtype. `made` is a value or a tuple of
// them.
bool are_of(const py::object& made, DType dtype) {
  const py::tuple all = PyTuple_Check(made.ptr())
                            ? py::tuple(made)
                            : py::tuple(py::make_tuple(made));
  return std::ranges::all_of(all, [dtype](py::handle one) {
    return is_value(one.ptr()) && native<Value>(one.ptr())->dtype() == dtype;
  });
}

// Computes with results of `dtype`, as NumPy does. The operands have this
// dtype, or one that leads to it, as bool is the result of comparisons.
// `compute` takes operands.
template <typename Compute>
py::object compute_in(DType dtype, const std::string& name,
                      const std::vector<PyObject*>& operands, Compute compute) {
  // A Python number has no dtype of its own, but an exponent has one.
  const auto is_cast = [&](PyObject* x) {
    return is_value(x) && !native<Value>(x)->is_weak() &&
           (name != "ldexp" || x == operands[0]);
  };
  const bool can_be_cast = std::ranges::all_of(operands, [&](PyObject* x) {
    return !is_cast(x) || can_cast(native<Value>(x)->dtype(), dtype);
  });
  if (can_be_cast) {
    std::vector<py::object> cast;
    std::vector<PyObject*> pointers;
    for (PyObject* x : operands) {
      cast.push_back(is_cast(x) ? make_value(astype(*native<Value>(x), dtype))
                                : py::reinterpret_borrow<py::object>(x));
      pointers.push_back(cast.back().ptr());
    }
    const py::object made = compute(pointers);
    if (are_of(made, dtype)) return made;
  }
  const py::object made = compute(operands);
  if (are_of(made, dtype)) return made;
  std::string given;
  for (PyObject* x : operands) {
    if (!given.empty()) given += ", ";
    given += is_value(x) ? std::string(name_of(native<Value>(x)->dtype()))
                         : type_text(x);
  }
  throw WrongType(name + ": expected operands that cast to " +
                  std::string(name_of(dtype)) + " by 'same_kind', got " +
                  given);
}

py::object compute_ufunc(const py::object& ufunc, const std::string& name,
                         const std::vector<PyObject*>& objects) {
  if (name == "divmod") {
    check_count(name, 2, objects.size());
    PyObject* both = PyNumber_Divmod(objects[0], objects[1]);
    if (both == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(both);
  }
  const auto known = known_functions().find(name);
  if (known == known_functions().end()) {
    py::tuple operands(objects.size());
    for (std::size_t i = 0; i < objects.size(); ++i)
      operands[i] = py::handle(objects[i]);
    return python_module("gpuos.numpy_functions")
        .attr("call")(ufunc, operands, py::dict());
  }
  check_count(name, known->second.operands, objects.size());
  return make_value(
      known->second.compute(operands_of(objects, name, is_comparison(name))));
}

}  // namespace

std::map<std::string, std::size_t> operations() {
  std::map<std::string, std::size_t> found;
  for (const auto& [name, function] : known_functions())
    found.emplace(name, function.operands);
  return found;
}

Value positive(const Value& x) {
  if (x.dtype() == DType::Bool)
    throw WrongType("positive: expected numbers, got bool");
  return x;
}

py::object call_ufunc(const py::object& ufunc, const std::string& method,
                      const py::args& inputs, const py::kwargs& keywords) {
  const std::string name =
      text_of(py::getattr(ufunc, "__name__", py::none()), "ufunc");
  if (method != "__call__")
    throw InvalidArgument(name + "." + method +
                          ": a fused function has no such method; for a "
                          "reduction call sum, prod, max, min, any or all");
  check_keywords(name, keywords);
  const bool has_dtype =
      keywords.contains("dtype") && !keywords["dtype"].is_none();
  const std::vector<PyObject*> objects = [&] {
    std::vector<PyObject*> all;
    for (const py::handle input : inputs) all.push_back(input.ptr());
    return all;
  }();
  if (known_functions().contains(name) || name == "divmod" || name == "modf" ||
      name == "frexp") {
    if (py::object made = numbers_result(ufunc, inputs, keywords)) return made;
  }
  const auto compute = [&](const std::vector<PyObject*>& operands) {
    return compute_ufunc(ufunc, name, operands);
  };
  if (!has_dtype) return compute(objects);
  return compute_in(dtype_of(keywords["dtype"]), name, objects, compute);
}

}  // namespace gpuos::python
