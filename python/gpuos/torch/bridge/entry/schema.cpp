#include "entry/schema.h"

#include <algorithm>

namespace gpuos::bridge {
namespace {

constexpr std::string_view kForeach = "_foreach_";

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

std::optional<Argument> kind_of(const c10::Argument& argument,
                                const ElementwiseName& what) {
  const std::string& name = argument.name();
  const std::string type = argument.type()->annotation_str();
  if (argument.is_out()) return Argument::Out;
  if (type == "Tensor" || type == "Optional[Tensor]") return Argument::Tensor;
  if (type == "List[Tensor]") return Argument::Tensors;
  if (type == "number" || type == "Optional[number]")
    // The alpha of elu and celu is an operand.
    return name == "alpha" && what.rule == Rule::Arithmetic ? Argument::Alpha
                                                            : Argument::Number;
  if (type == "List[number]") return Argument::Numbers;
  if (name == "rounding_mode") return Argument::RoundingMode;
  if (name == "approximate") return Argument::Approximate;
  if (name == "dtype") return Argument::Type;
  if (name == "memory_format") return Argument::Format;
  if (name == "non_blocking") return Argument::Ignored;
  if (name == "layout" || name == "device" || name == "pin_memory")
    return Argument::MustBeAbsent;
  return std::nullopt;
}

/// The name without the form: "add" of "_foreach_add_".
std::string_view base_name(std::string_view name) {
  if (name.starts_with(kForeach)) name.remove_prefix(kForeach.size());
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

/// Names whose operands finish() arranges.
bool has_own_shape(std::string_view name) { return name == "clamp"; }

/// Returns whether the second operand is a number, not a tensor made of one.
bool has_number(const OverloadForm& form) {
  return form.arguments.size() > 1 && (form.arguments[1] == Argument::Number ||
                                       form.arguments[1] == Argument::Numbers);
}

/// Reads one argument for the item with this number.
class Reader {
 public:
  Reader(const OverloadForm& form, OverloadCall& call)
      : form_(form), call_(call) {}

  bool read(Argument kind, const c10::IValue& value, bool is_first,
            std::size_t item) {
    OverloadCall::Item& to = call_.items[item];
    switch (kind) {
      case Argument::Tensor:
        if (value.isNone()) return add_missing(to);
        return add_tensor(value.toTensor(), is_first, to);
      case Argument::Tensors: {
        const auto list = value.toTensorList();
        if (item >= list.size()) return false;
        return add_tensor(list.get(item), is_first, to);
      }
      case Argument::Number:
        if (value.isNone()) return add_missing(to);
        return add_number(value.toScalar(), to);
      case Argument::Numbers: {
        const auto list = value.toListRef();
        if (item >= list.size()) return false;
        return add_number(list[item].toScalar(), to);
      }
      case Argument::Alpha:
        alpha_ = value.toScalar();
        return true;
      case Argument::RoundingMode:
        return set_rounding(value, to);
      case Argument::Approximate:
        if (value.toStringRef() == "tanh")
          to.what.function = Function::GeluTanh;
        return value.toStringRef() == "tanh" || value.toStringRef() == "none";
      case Argument::Type:
        if (!value.isNone()) to.type = value.toScalarType();
        return true;
      case Argument::Format:
        return value.isNone() ||
               value.toMemoryFormat() == at::MemoryFormat::Preserve;
      case Argument::MustBeAbsent:
        return value.isNone();
      case Argument::Ignored:
        return true;
      case Argument::Out:
        to.out = value.toTensor();
        return true;
    }
    return false;
  }

  /// To be called after the last argument.
  bool finish(std::size_t item) {
    OverloadCall::Item& to = call_.items[item];
    const std::string_view name = form_.what->name;
    // PyTorch's mul_() of a number has that first.
    if (name == "rsub" ||
        (name == "mul" && form_.is_in_place && has_number(form_)))
      std::swap(to.operands[0], to.operands[1]);
    if (name == "clamp" && !finish_clamp(to)) return false;
    if ((name == "fill" || name == "zero") && !finish_fill(name, to))
      return false;
    if (name == "copy") to.operands = {to.operands[1]};
    if (to.operands.size() != operands_of(form_.what->function) &&
        !has_own_shape(name))
      return false;
    if (name == "lerp" && !have_one_type(to)) return false;
    if (name == "pow") simplify_power(to);
    if (name == "masked_fill" && !to.operands[2].is_number() &&
        to.operands[2].tensor->dim() != 0)
      return false;
    const bool is_one =
        alpha_.isIntegral(/*includeBool=*/false) && alpha_.equal(1);
    return is_one || finish_alpha(to);
  }

 private:
  bool add_tensor(const Tensor& tensor, bool is_first, OverloadCall::Item& to) {
    if (!tensor.defined()) return false;
    if (form_.is_in_place && is_first) to.out = tensor;
    if (const auto number = wrapped_number(tensor))
      return add_number(*number, to);
    if (to.operands.size() == kMaxRequestOperands) return false;
    call_.tensors.push_back(tensor);  // reserved: does not move
    to.operands.push_back({.tensor = &call_.tensors.back()});
    return true;
  }
  static bool add_number(const c10::Scalar& number, OverloadCall::Item& to) {
    if (number.isComplex() || number.isSymbolic() ||
        to.operands.size() == kMaxRequestOperands)
      return false;
    to.operands.push_back({.tensor = nullptr, .number = number});
    return true;
  }
  /// An absent bound. Only `clamp` has such.
  bool add_missing(OverloadCall::Item& to) {
    if (form_.what->name != "clamp") return false;
    missing_ |= 1u << to.operands.size();
    to.operands.push_back({});
    return true;
  }
  static bool set_rounding(const c10::IValue& value, OverloadCall::Item& to) {
    if (value.isNone()) return true;
    const std::string& mode = value.toStringRef();
    to.what.function =
        mode == "floor" ? Function::FloorDivide : Function::DivTrunc;
    to.what.rule = Rule::Floating;
    return mode == "floor" || mode == "trunc";
  }
  bool finish_clamp(OverloadCall::Item& to) const {
    const bool has_low = (missing_ & 2) == 0;
    const bool has_high = to.operands.size() > 2 && (missing_ & 4) == 0;
    if (has_low && has_high) return true;
    if (!has_low && !has_high) return false;
    if (!has_low) std::swap(to.operands[1], to.operands[2]);
    to.operands.resize(2);
    to.what.function = has_low ? Function::ClampMin : Function::ClampMax;
    return true;
  }
  /// where(true, value, self), which takes its shape from the tensor.
  static bool finish_fill(std::string_view name, OverloadCall::Item& to) {
    if (name == "zero") to.operands.push_back({.number = c10::Scalar(0)});
    if (to.operands.size() != 2 || !to.operands[1].is_number() ||
        to.operands[0].is_number() || !to.out.defined())
      return false;
    to.operands = {TorchOperand{.number = c10::Scalar(1)}, to.operands[1],
                   to.operands[0]};
    return true;
  }
  static void simplify_power(OverloadCall::Item& to) {
    if (to.operands[0].is_number() || !to.operands[1].is_number()) return;
    const auto simpler = simpler_power(to.operands[1].number.toDouble(),
                                       to.operands[0].tensor->scalar_type());
    if (!simpler) return;
    to.what.function = *simpler;
    to.operands.resize(1);
  }
  static bool have_one_type(const OverloadCall::Item& to) {
    const Tensor* first = nullptr;
    for (const TorchOperand& operand : to.operands) {
      if (operand.is_number()) continue;
      if (first == nullptr) first = operand.tensor;
      if (operand.tensor->scalar_type() != first->scalar_type()) return false;
    }
    return true;
  }
  bool finish_alpha(OverloadCall::Item& to) const {
    if (alpha_.isComplex() || alpha_.isBoolean() || to.operands.size() != 2)
      return false;
    if (std::all_of(to.operands.begin(), to.operands.end(), is_bool))
      return false;  // a logical operation, whatever alpha is
    if (alpha_.isFloatingPoint() &&
        std::none_of(to.operands.begin(), to.operands.end(),
                     [](const TorchOperand& operand) {
                       return operand.is_number()
                                  ? operand.number.isFloatingPoint()
                                  : at::isFloatingType(
                                        operand.tensor->scalar_type());
                     }))
      return false;
    to.what.function = with_factor(to.what.function);
    to.operands.push_back({.number = alpha_});
    return true;
  }

  const OverloadForm& form_;
  OverloadCall& call_;
  c10::Scalar alpha_{1};
  unsigned missing_ = 0;
};

std::size_t items_of(const OverloadForm& form,
                     c10::ArrayRef<c10::IValue> arguments) {
  if (!form.is_foreach) return 1;
  std::size_t count = 0;
  for (std::size_t i = 0; i < form.arguments.size(); ++i) {
    if (form.arguments[i] != Argument::Tensors) continue;
    const std::size_t size = arguments[i].toTensorList().size();
    if (count != 0 && size != count) return 0;
    count = size;
  }
  return count;
}

void read_dims(const c10::IValue& value, RowCall& call) {
  if (value.isNone()) return;
  if (value.isInt())
    call.dims = {value.toInt()};
  else
    call.dims = value.toIntVector();
  call.arguments.dims = call.dims;
}

bool read_normalized_shape(const c10::IValue& value, RowCall& call) {
  if (!is_usual_tensor(call.tensor)) return false;  // it may have no sizes
  const auto shape = value.toIntVector();
  const auto rank = static_cast<std::size_t>(call.tensor.dim());
  if (shape.empty() || shape.size() > rank) return false;
  const auto sizes = call.tensor.sizes();
  if (!std::equal(shape.rbegin(), shape.rend(), sizes.rbegin())) return false;
  for (std::size_t d = rank - shape.size(); d < rank; ++d)
    call.dims.push_back(static_cast<std::int64_t>(d));
  call.arguments.dims = call.dims;
  return true;
}

bool read_row_argument(std::string_view name, const c10::IValue& value,
                       RowCall& call) {
  RowArguments& to = call.arguments;
  if (name == "self" || name == "input") {
    call.tensor = value.toTensor();
  } else if (name == "dim") {
    read_dims(value, call);
  } else if (name == "keepdim") {
    to.keepdims = value.toBool();
  } else if (name == "dtype") {
    if (!value.isNone()) to.type = value.toScalarType();
  } else if (name == "correction") {
    const c10::Scalar number = value.isNone() ? 1 : value.toScalar();
    if (number.isComplex()) return false;
    to.number = number.toDouble();
  } else if (name == "ord") {
    const c10::Scalar order = value.toScalar();
    return !order.isComplex() && order.toDouble() == 2.0;
  } else if (name == "half_to_float") {
    if (value.toBool()) to.type = at::kFloat;
  } else if (name == "normalized_shape") {
    return read_normalized_shape(value, call);
  } else if (name == "weight") {
    if (!value.isNone()) to.weight = value.toTensor();
  } else if (name == "bias") {
    if (!value.isNone()) to.bias = value.toTensor();
  } else if (name == "eps") {
    if (value.isNone()) return false;
    to.number = value.toDouble();
  } else if (name != "cudnn_enable") {
    return false;
  }
  return true;
}

}  // namespace

std::optional<Function> simpler_power(double exponent, at::ScalarType type) {
  if (exponent == 2.0) return Function::Square;
  if (exponent == 0.5) return Function::Sqrt;
  if (exponent == -0.5) return Function::Rsqrt;
  if (exponent == -1.0) return Function::Reciprocal;
  // PyTorch may round a product of half types before the next one.
  const bool is_rounded_between = is_half(type);
  if (exponent == 3.0 && !is_rounded_between) return Function::Cube;
  if (exponent == -2.0 && !is_rounded_between) return Function::InverseSquare;
  return std::nullopt;
}

std::optional<OverloadForm> form_of(const c10::FunctionSchema& schema) {
  std::string_view name = schema.name();
  constexpr std::string_view kSpace = "aten::";
  if (!name.starts_with(kSpace)) return std::nullopt;
  name.remove_prefix(kSpace.size());
  OverloadForm form;
  form.is_foreach = name.starts_with(kForeach);
  form.what = find_name(base_name(name));
  if (form.what == nullptr || schema.arguments().empty()) return std::nullopt;
  for (const c10::Argument& argument : schema.arguments()) {
    const auto kind = kind_of(argument, *form.what);
    if (!kind) return std::nullopt;
    // A tensor next to lists means something else for each name.
    if (form.is_foreach && *kind == Argument::Tensor) return std::nullopt;
    form.arguments.push_back(*kind);
  }
  // _foreach forms with an `out` list are left to PyTorch.
  const bool has_out = schema.arguments().back().is_out();
  if (form.is_foreach && has_out) return std::nullopt;
  // PyTorch uses the dtype of the other tensor for a copy into it.
  if (has_out && form.what->rule == Rule::Copy) return std::nullopt;
  form.is_in_place = !has_out && is_written(schema.arguments().front());
  if (!form.is_in_place &&
      (form.what->name == "copy" || form.what->name == "fill" ||
       form.what->name == "zero"))
    return std::nullopt;
  if (!form.is_foreach &&
      (schema.returns().size() != 1 ||
       schema.returns()[0].type()->kind() != c10::TypeKind::TensorType))
    return std::nullopt;
  return form;
}

bool read_call(const OverloadForm& form, c10::ArrayRef<c10::IValue> arguments,
               OverloadCall& call) {
  const std::size_t count = items_of(form, arguments);
  if (count == 0) return false;
  call.items.resize(count);
  call.tensors.reserve(count * kMaxRequestOperands);
  for (std::size_t item = 0; item < count; ++item) {
    call.items[item].what = {form.what->function, form.what->rule};
    Reader reader(form, call);
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (!reader.read(form.arguments[i], arguments[i], i == 0, item))
        return false;
    if (!reader.finish(item)) return false;
  }
  return true;
}

bool read_row_call(const RowName& name, const c10::FunctionSchema& schema,
                   c10::ArrayRef<c10::IValue> arguments, RowCall& call) {
  call.what.function = name.function;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (!read_row_argument(schema.arguments()[i].name(), arguments[i], call))
      return false;
  if (name.function == Function::LayerNorm ||
      name.function == Function::RmsNorm) {
    const bool has_weight = call.arguments.weight.defined();
    const bool has_bias = call.arguments.bias.defined();
    if (name.function == Function::LayerNorm && has_weight != has_bias)
      return false;
    if (!has_weight)
      call.what.function = name.function == Function::LayerNorm
                               ? Function::LayerNormPlain
                               : Function::RmsNormPlain;
  }
  if ((name.function == Function::Var || name.function == Function::Std) &&
      !call.arguments.number)
    return false;
  return true;
}

}  // namespace gpuos::bridge
