// Binds the functions of values, which gpuos.functions and the implementations
// of NumPy's call by name.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "convert/numpy_dtype.h"
#include "convert/reading.h"
#include "module/operator_slots.h"
#include "module/registrations.h"
#include "values/value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

using Operands = std::span<const Operand>;
struct Function {
  std::string_view name;
  std::size_t operands;
  Value (*of)(Operands);
};

// These macros write the row of a function by its operands.
#define GPUOS_ONE(name) \
  {#name, 1, [](Operands x) { return gpuos::name(x[0].value()); }}
#define GPUOS_TWO(name) \
  {#name, 2, [](Operands x) { return gpuos::name(x[0], x[1]); }}
#define GPUOS_SCALED(name) \
  {#name, 2, [](Operands x) { return gpuos::name(x[0].value(), x[1]); }}
#define GPUOS_SCALED_TWICE(name) \
  {#name, 3, [](Operands x) { return gpuos::name(x[0].value(), x[1], x[2]); }}
#define GPUOS_THREE(name) \
  {#name, 3, [](Operands x) { return gpuos::name(x[0], x[1], x[2]); }}

// Returns the value in the dtype that NumPy's functions of floats use for it.
Value as_float(Operands x, const char* name) {
  const Value& value = x[0].value();
  const DType dtype = value.dtype();
  if (is_complex(dtype))
    throw WrongType(std::string(name) + ": expected a real dtype, got " +
                    std::string(name_of(dtype)));
  return is_floating(dtype) ? value : rint(value);
}

constexpr double kDegree = std::numbers::pi / 180;
#define GPUOS_ANGLE(name, factor) \
  {#name, 1, [](Operands x) { return multiply(as_float(x, #name), factor); }}

Value float_power(Operands x) {
  const Value& like = x[x[0].is_number() ? 1 : 0].value();
  const auto wide = [&](const Operand& y) {
    return astype(literal_of(y, like), DType::Float64);
  };
  return power(wide(x[0]), wide(x[1]));
}

// NumPy's and SciPy's functions that are no operations of their own.
constexpr Function kNumPys[] = {
    GPUOS_TWO(greater),
    GPUOS_TWO(greater_equal),
    GPUOS_TWO(logical_and),
    GPUOS_TWO(logical_or),
    GPUOS_TWO(logical_xor),
    GPUOS_ANGLE(deg2rad, kDegree),
    GPUOS_ANGLE(radians, kDegree),
    GPUOS_ANGLE(rad2deg, 1 / kDegree),
    GPUOS_ANGLE(degrees, 1 / kDegree),
    {"true_divide", 2, [](Operands x) { return divide(x[0], x[1]); }},
    {"logical_not", 1, [](Operands x) { return logical_not(x[0]); }},
    {"positive", 1, [](Operands x) { return positive(x[0].value()); }},
    {"fabs", 1, [](Operands x) { return absolute(as_float(x, "fabs")); }},
    {"float_power", 2, float_power},
    {"expit", 1, [](Operands x) { return sigmoid(x[0]); }},
    {"gammaln", 1, [](Operands x) { return lgamma(x[0]); }},
};

constexpr Function kOthers[] = {
    GPUOS_ONE(relu),
    GPUOS_ONE(selu),
    GPUOS_ONE(logsigmoid),
    GPUOS_ONE(mish),
    GPUOS_ONE(softsign),
    GPUOS_ONE(hardsigmoid),
    GPUOS_ONE(hardswish),
    GPUOS_SCALED(leaky_relu),
    GPUOS_SCALED(elu),
    GPUOS_SCALED(celu),
    GPUOS_SCALED_TWICE(softplus),
    GPUOS_SCALED_TWICE(hardtanh),
    GPUOS_THREE(where),
    GPUOS_THREE(add),
    GPUOS_THREE(subtract),
};

bool is_operation(const OpInfo& info) {
  return info.rule != OpRule::Leaf && info.rule != OpRule::Reduction &&
         info.rule != OpRule::Select;
}

Value computed(const std::string& name, std::span<PyObject* const> objects) {
  const std::vector<Operand> x =
      operands_of(objects, name, is_comparison(name));
  for (const OpInfo& info : kOpInfos)
    if (info.operands == x.size() && info.name == name && is_operation(info))
      return elementwise(info.op, x);
  for (const std::span<const Function> functions :
       {std::span<const Function>(kNumPys), std::span<const Function>(kOthers)})
    for (const Function& function : functions)
      if (function.name == name && function.operands == x.size())
        return function.of(x);
  throw InvalidArgument(name + ": expected another number of operands, got " +
                        std::to_string(x.size()));
}

// Returns NumPy's functions of elements and their numbers of operands.
std::map<std::string_view, std::size_t> operations() {
  std::map<std::string_view, std::size_t> found;
  for (const OpInfo& info : kOpInfos)
    if (is_operation(info)) found.emplace(info.name, info.operands);
  for (const Function& function : kNumPys)
    found.emplace(function.name, function.operands);
  return found;
}

struct Reduction {
  std::string_view name;
  Value (*of)(const Value& x, const Axes& axes, bool keepdims, double number);
};

#define GPUOS_OVER(name)                                                \
  {#name, [](const Value& x, const Axes& axes, bool keepdims, double) { \
     return gpuos::name(x, axes, keepdims);                             \
   }}
#define GPUOS_NUMBERED(name, function)                                        \
  {name, [](const Value& x, const Axes& axes, bool keepdims, double number) { \
     return function(x, axes, number, keepdims);                              \
   }}
// With initial= an empty row is no error.
#define GPUOS_EXTREME(name, op)                                        \
  {name, [](const Value& x, const Axes& axes, bool keepdims, double) { \
     return ProgramBuilder::reduce(op, x, axes, keepdims, true);       \
   }}
#define GPUOS_ROWS(name)                                       \
  {#name, [](const Value& x, const Axes& axes, bool, double) { \
     return gpuos::name(x, axes);                              \
   }}

constexpr Reduction kReductions[] = {
    GPUOS_OVER(max),
    GPUOS_OVER(min),
    GPUOS_OVER(ptp),
    GPUOS_OVER(any),
    GPUOS_OVER(all),
    GPUOS_OVER(argmax),
    GPUOS_OVER(argmin),
    GPUOS_OVER(sum),
    GPUOS_OVER(prod),
    GPUOS_OVER(mean),
    GPUOS_OVER(logsumexp),
    GPUOS_OVER(count_nonzero),
    GPUOS_NUMBERED("var", var),
    GPUOS_NUMBERED("std", stddev),
    {"norm", [](const Value& x, const Axes& axes, bool keepdims,
                double ord) { return norm(x, ord, axes, keepdims); }},
    GPUOS_EXTREME("_max", Op::Max),
    GPUOS_EXTREME("_min", Op::Min),
    GPUOS_ROWS(softmax),
    GPUOS_ROWS(log_softmax),
};

Value reduced(const std::string& name, const py::object& x,
              const py::object& axis, const py::object& keepdims,
              const py::object& number) {
  const auto* const known =
      std::ranges::find(kReductions, name, &Reduction::name);
  if (known == std::end(kReductions)) throw py::key_error(name);
  return known->of(value_of(x.ptr(), name), axes_of(axis), truth_of(keepdims),
                   real_of(number, name.c_str()));
}

std::optional<Operand> bound(const py::object& x, const py::object& like,
                             bool is_low) {
  if (x.is_none()) return {};
  const Operand given = operands_of({like.ptr(), x.ptr()}, "clip", true)[1];
  // The bound is an integer that no dtype has.
  constexpr double kBeyond = std::numeric_limits<double>::infinity();
  const bool is_beyond = given.is_number() && PyLong_Check(x.ptr()) &&
                         !given.number().is_integer() &&
                         given.number().real() == (is_low ? -1 : 1) * kBeyond;
  return is_beyond ? std::nullopt : std::optional(given);
}

std::vector<int> some_axes_of(const py::object& axis, const char* name) {
  if (axis.is_none())
    throw py::type_error(std::string(name) +
                         ": expected an axis or several, got None");
  return *axes_of(axis);
}

const Value& of(const py::object& x, const char* name) {
  return value_of(x.ptr(), name);
}

using Object = const py::object&;

void add_views(py::module_& m) {
  m.def("_expand_dims", [](Object x, Object axis) {
    return expand_dims(of(x, "expand_dims"), some_axes_of(axis, "expand_dims"));
  });
  m.def("_concatenate", [](Object values, Object axis) {
    std::vector<Value> parts;
    for (const py::handle value : items_of(values, "concatenate"))
      parts.push_back(value_of(value.ptr(), "concatenate"));
    return ProgramBuilder::concatenate(parts, integer_as<int>(axis, "axis"));
  });
  m.def("_roll", [](Object x, Object shift, Object axis) {
    return roll(of(x, "roll"), integer_of(shift, "roll"),
                integer_as<int>(axis, "axis"));
  });
  m.def("_split", [](Object x, Object sections, Object axis) {
    return split(of(x, "split"), integer_as<int>(sections, "split"),
                 integer_as<int>(axis, "axis"));
  });
  m.def("_moveaxis", [](Object x, Object source, Object destination) {
    return moveaxis(of(x, "moveaxis"), some_axes_of(source, "moveaxis"),
                    some_axes_of(destination, "moveaxis"));
  });
}

}  // namespace

void register_functions(py::module_& module) {
  module.def("_operations", &operations);
  module.def("_apply", [](const std::string& name, const py::tuple& operands) {
    return computed(name, std::span(PySequence_Fast_ITEMS(operands.ptr()),
                                    operands.size()));
  });
  module.def("_reduce", &reduced, py::arg("name"), py::arg("x"),
             py::arg("axis"), py::arg("keepdims") = false,
             py::arg("number") = 0.0);
  module.def("_clip", [](Object x, Object low, Object high) {
    return clip(of(x, "clip"), bound(low, x, true), bound(high, x, false));
  });
  // NumPy's casting="same_kind".
  module.def("_can_cast", [](Object from, Object to) {
    return kind_of(dtype_of(from)) <= kind_of(dtype_of(to));
  });
  module.def("_real", [](Object number, const std::string& what) {
    return real_of(number, what.c_str());
  });
  module.def("_kind_shown", [](Object object) { return kind_shown(object); });
  add_views(module);
}

}  // namespace gpuos::python
