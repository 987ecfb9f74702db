// Binds gpuos.functions: the functions of programs that NumPy lacks, and those
// that implement NumPy's.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "convert/reading.h"
#include "module/registrations.h"
#include "values/value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// Names a class for its functions. It has no instances.
struct Functions {};
using Table = py::class_<Functions>;

constexpr double kBeyond = std::numeric_limits<double>::infinity();

Value of(const py::object& x, const char* name) {
  return value_of(x.ptr(), name);
}

Operand number_or_value(const py::object& x, const Value& like,
                        const char* name) {
  return operands_of({py::cast(like).ptr(), x.ptr()}, name)[1];
}

std::optional<Operand> bound(const py::object& x, const Value& like,
                             bool is_low) {
  if (x.is_none()) return {};
  const std::vector<Operand> both =
      operands_of({py::cast(like).ptr(), x.ptr()}, "clip", true);
  // The bound is an integer that no dtype has.
  const bool is_beyond = both[1].is_number() && PyLong_Check(x.ptr()) &&
                         !both[1].number().is_integer() &&
                         both[1].number().real() == (is_low ? -1 : 1) * kBeyond;
  return is_beyond ? std::nullopt : std::optional(both[1]);
}

std::vector<int> some_axes_of(const py::object& axis, const char* name) {
  if (axis.is_none())
    throw py::type_error(std::string(name) +
                         ": expected an axis or several, got None");
  return *axes_of(axis);
}

template <auto kFunction>
void def_unary(Table& m, const char* name) {
  m.def_static(
      name, [name](const py::object& x) { return kFunction(of(x, name)); },
      py::arg("x"));
}

template <Value (*kFunction)(const Value&, const Operand&)>
void def_scaled(Table& m, const char* name, const char* number,
                double otherwise) {
  m.def_static(
      name,
      [name](const py::object& x, const py::object& parameter) {
        const Value value = of(x, name);
        return kFunction(value, number_or_value(parameter, value, name));
      },
      py::arg("x"), py::arg_v(number, otherwise));
}

void def_activations(Table& m) {
  def_unary<relu>(m, "relu");
  def_unary<selu>(m, "selu");
  def_unary<logsigmoid>(m, "logsigmoid");
  def_unary<mish>(m, "mish");
  def_unary<softsign>(m, "softsign");
  def_unary<hardsigmoid>(m, "hardsigmoid");
  def_unary<hardswish>(m, "hardswish");
  def_scaled<leaky_relu>(m, "leaky_relu", "negative_slope", 0.01);
  def_scaled<elu>(m, "elu", "alpha", 1.0);
  def_scaled<celu>(m, "celu", "alpha", 1.0);
  def_unary<sigmoid>(m, "sigmoid");
  def_unary<silu>(m, "silu");
  def_unary<erf>(m, "erf");
  def_unary<erfc>(m, "erfc");
  def_unary<lgamma>(m, "lgamma");
  def_unary<rsqrt>(m, "rsqrt");
}

void def_more_activations(Table& m) {
  m.def_static(
      "gelu",
      [](const py::object& x, const std::string& approximate) {
        if (approximate != "none" && approximate != "tanh")
          throw py::value_error(
              "gelu: expected approximate 'none' or 'tanh', got '" +
              approximate + "'");
        const Value value = of(x, "gelu");
        return approximate == "tanh" ? gelu_tanh(value) : gelu(value);
      },
      py::arg("x"), py::arg("approximate") = "none");
  m.def_static(
      "softplus",
      [](const py::object& x, const py::object& beta,
         const py::object& threshold) {
        const Value value = of(x, "softplus");
        return softplus(value, number_or_value(beta, value, "softplus"),
                        number_or_value(threshold, value, "softplus"));
      },
      py::arg("x"), py::arg("beta") = 1.0, py::arg("threshold") = 20.0);
  m.def_static(
      "hardtanh",
      [](const py::object& x, const py::object& low, const py::object& high) {
        const Value value = of(x, "hardtanh");
        return hardtanh(value, number_or_value(low, value, "hardtanh"),
                        number_or_value(high, value, "hardtanh"));
      },
      py::arg("x"), py::arg("min_val") = -1.0, py::arg("max_val") = 1.0);
}

template <Value (*kFunction)(const Value&, const Axes&, bool)>
void def_reduction(Table& m, const char* name) {
  m.def_static(
      name,
      [name](const py::object& x, const py::object& axis, bool keepdims) {
        return kFunction(of(x, name), axes_of(axis), keepdims);
      },
      py::arg("x"), py::arg("axis") = py::none(), py::arg("keepdims") = false);
}

template <Value (*kFunction)(const Value&, const Axes&)>
void def_rows(Table& m, const char* name) {
  m.def_static(
      name,
      [name](const py::object& x, const py::object& axis) {
        return kFunction(of(x, name), axes_of(axis));
      },
      py::arg("x"), py::arg("axis") = -1);
}

void def_reductions(Table& m) {
  def_reduction<logsumexp>(m, "logsumexp");
  def_reduction<count_nonzero>(m, "count_nonzero");
  def_rows<softmax>(m, "softmax");
  def_rows<log_softmax>(m, "log_softmax");
  m.def_static(
      "norm",
      [](const py::object& x, double ord, const py::object& axis,
         bool keepdims) {
        return norm(of(x, "norm"), ord, axes_of(axis), keepdims);
      },
      py::arg("x"), py::arg("ord") = 2.0, py::arg("axis") = py::none(),
      py::arg("keepdims") = false);
}

template <Value (*kFunction)(const Operand&, const Operand&, const Operand&)>
void def_sum(Table& m, const char* name) {
  m.def_static(
      name,
      [name](const py::object& x, const py::object& y,
             const py::object& alpha) {
        const auto given = operands_of({x.ptr(), y.ptr(), alpha.ptr()}, name);
        return kFunction(given[0], given[1], given[2]);
      },
      py::arg("x"), py::arg("y"), py::kw_only(), py::arg("alpha") = 1);
}

void def_choices(Table& m) {
  m.def_static(
      "where",
      [](const py::object& condition, const py::object& x,
         const py::object& y) {
        const auto given =
            operands_of({condition.ptr(), x.ptr(), y.ptr()}, "where");
        return where(given[0], given[1], given[2]);
      },
      py::arg("condition"), py::arg("x"), py::arg("y"));
  m.def_static(
      "clip",
      [](const py::object& x, const py::object& low, const py::object& high) {
        const Value value = of(x, "clip");
        return clip(value, bound(low, value, true), bound(high, value, false));
      },
      py::arg("x"), py::arg("min") = py::none(), py::arg("max") = py::none());
  def_sum<add>(m, "add");
  def_sum<subtract>(m, "subtract");
  m.def_static(
      "expand_dims",
      [](const py::object& x, const py::object& axis) {
        return expand_dims(of(x, "expand_dims"),
                           some_axes_of(axis, "expand_dims"));
      },
      py::arg("x"), py::arg("axis"));
  m.def_static(
      "_concatenate",
      [](const py::object& values, const py::object& axis) {
        std::vector<Value> parts;
        for (const py::handle value : items_of(values, "concatenate"))
          parts.push_back(value_of(value.ptr(), "concatenate"));
        return ProgramBuilder::concatenate(parts,
                                           integer_as<int>(axis, "axis"));
      },
      py::arg("values"), py::arg("axis") = 0);
  m.def_static(
      "_roll",
      [](const py::object& x, const py::object& shift, const py::object& axis) {
        return roll(of(x, "roll"), integer_of(shift, "roll"),
                    integer_as<int>(axis, "axis"));
      },
      py::arg("x"), py::arg("shift"), py::arg("axis"));
  m.def_static(
      "_split",
      [](const py::object& x, const py::object& sections,
         const py::object& axis) {
        return split(of(x, "split"), integer_as<int>(sections, "split"),
                     integer_as<int>(axis, "axis"));
      },
      py::arg("x"), py::arg("sections"), py::arg("axis") = 0);
  m.def_static(
      "_moveaxis",
      [](const py::object& x, const py::object& source,
         const py::object& destination) {
        return moveaxis(of(x, "moveaxis"), some_axes_of(source, "moveaxis"),
                        some_axes_of(destination, "moveaxis"));
      },
      py::arg("x"), py::arg("source"), py::arg("destination"));
}

}  // namespace

void register_functions(py::module_& module) {
  Table table =
      add_result_class<Functions>(module, "_Functions", "gpuos._core");
  def_activations(table);
  def_more_activations(table);
  def_reductions(table);
  def_choices(table);
}

}  // namespace gpuos::python
