#include "planning/rows.h"

#include <bit>

#include "flush/costs.h"
#include "memory/outputs.h"
#include "memory/sharing.h"
#include "planning/parts.h"
#include "pytorch/keys.h"

namespace gpuos::bridge {
namespace {

/// A bit for each reduced dimension. Empty for dims that PyTorch refuses.
std::optional<std::uint8_t> axes_of(const Tensor& tensor,
                                    at::OptionalIntArrayRef dims) {
  const std::int64_t rank = tensor.dim();
  const auto all = static_cast<std::uint8_t>((1u << rank) - 1);
  if (!dims.has_value() || dims->empty()) return all;
  std::uint8_t axes = 0;
  for (std::int64_t dim : *dims) {
    if (dim < 0) dim += rank;
    // PyTorch accepts -1 and 0 for a 0-d tensor. PyTorch runs this case.
    if (dim < 0 || dim >= rank || (axes >> dim & 1) != 0) return std::nullopt;
    axes |= static_cast<std::uint8_t>(1u << dim);
  }
  return axes;
}

struct RowTypes {
  at::ScalarType compute{};
  at::ScalarType result{};
};

std::optional<RowTypes> types_of_rows(const Rows& what, const Tensor& tensor,
                                      std::optional<at::ScalarType> wanted,
                                      bool is_by_name) {
  const at::ScalarType type = tensor.scalar_type();
  const bool floating = at::isFloatingType(type);
  // PyTorch casts the elements first, which changes their values.
  if (wanted && is_half(*wanted) && type != *wanted && !is_by_name)
    return std::nullopt;
  switch (what.function) {
    case Function::Argmax:
    case Function::Argmin:
      if (type == at::kBool) return std::nullopt;
      return RowTypes{opmath_of(type), at::kLong};
    case Function::Any:
    case Function::All:
      // PyTorch gives uint8 for uint8.
      if (type == at::kByte) return std::nullopt;
      return RowTypes{opmath_of(type), at::kBool};
    case Function::Amax:
    case Function::Amin:
      if (type == at::kBool) return std::nullopt;
      return RowTypes{opmath_of(type), type};
    case Function::Prod:
      // PyTorch's CPU kernels round each product of elements to a half type.
      if (is_half(wanted.value_or(type)) && tensor.is_cpu() && !is_by_name)
        return std::nullopt;
      [[fallthrough]];
    case Function::Sum: {
      const auto result =
          wanted.value_or(floating ? type : at::ScalarType::Long);
      if (!dtype_of(result) || result == at::kBool ||
          (floating && !at::isFloatingType(result)))
        return std::nullopt;
      return RowTypes{opmath_of(result), result};
    }
    default: {
      const auto result = wanted.value_or(type);
      // It refuses a norm of whole numbers, and some dtypes of others.
      if (what.function == Function::Norm && result != type && !is_by_name)
        return std::nullopt;
      if (!at::isFloatingType(result)) return std::nullopt;
      return RowTypes{opmath_of(result), result};
    }
  }
}

Dims result_shape(const Tensor& tensor, std::uint8_t axes, bool keepdims) {
  Dims shape;
  for (std::int64_t d = 0; d < tensor.dim(); ++d) {
    if ((axes >> d & 1) == 0)
      shape.push_back(tensor.size(d));
    else if (keepdims)
      shape.push_back(1);
  }
  return shape;
}

void add_array(Deferred& deferred, const Tensor& tensor) {
  Request& request = deferred.request;
  const std::size_t i = request.operands++;
  const DType dtype = *dtype_of(tensor.scalar_type());
  put_array(request, i, tensor, dtype, address_of(tensor));
  deferred.needs.add(tensor);
  deferred.views.push_back(
      view_of(address_of(tensor), dtype, tensor.sizes(), tensor.strides()));
}

void add_number(Request& request, double number) {
  const std::size_t i = request.operands++;
  request.numbers |= static_cast<std::uint8_t>(1u << i);
  request.dtypes[i] = DType::Float64;
  request.values[i] = std::bit_cast<std::uint64_t>(number);
}

bool is_usable(const Tensor& extra, const Tensor& tensor) {
  return !extra.defined() || (is_usual_tensor(extra) && is_aligned(extra) &&
                              extra.device() == tensor.device() &&
                              extra.scalar_type() == tensor.scalar_type());
}

bool are_shared(const Tensor& tensor, const RowArguments& arguments) {
  return is_shared(tensor) ||
         (arguments.weight.defined() && is_shared(arguments.weight)) ||
         (arguments.bias.defined() && is_shared(arguments.bias));
}

/// Returns whether the elements of a row do not follow each other in memory.
bool has_strided_rows(const Tensor& tensor, std::uint8_t axes) {
  for (std::int64_t d = tensor.dim(); d-- > 0;)
    if (tensor.size(d) > 1) return (axes >> d & 1) == 0;
  return false;
}

std::int64_t rows_of(const Tensor& tensor, std::uint8_t axes) {
  std::int64_t rows = 1;
  for (std::int64_t d = 0; d < tensor.dim(); ++d)
    if ((axes >> d & 1) == 0) rows *= tensor.size(d);
  return rows;
}

/// Returns whether PyTorch raises or warns.
bool is_refused(Function function, const Tensor& tensor, std::uint8_t axes,
                const RowArguments& arguments) {
  switch (function) {
    case Function::Logsumexp:
      return !arguments.dims.has_value() || arguments.dims->empty();
    case Function::Var:
    case Function::Std: {
      const std::int64_t elems = tensor.numel() / rows_of(tensor, axes);
      return !(static_cast<double>(elems) > arguments.number.value_or(0));
    }
    default:
      return false;
  }
}

}  // namespace

std::optional<Planned> plan_rows(const Rows& what, const Tensor& tensor,
                                 const RowArguments& arguments,
                                 const Tensor& given, std::int64_t most) {
  if (!is_usual_tensor(tensor) || !is_aligned(tensor) ||
      !is_usable(arguments.weight, tensor) ||
      !is_usable(arguments.bias, tensor))
    return std::nullopt;
  if (tensor.numel() == 0) return std::nullopt;
  const auto axes = axes_of(tensor, arguments.dims);
  const bool is_by_name = most == kAnySize;
  const auto types = types_of_rows(what, tensor, arguments.type, is_by_name);
  if (!axes || !types) return std::nullopt;
  if (!is_by_name && is_refused(what.function, tensor, *axes, arguments))
    return std::nullopt;
  const Priced price{.function = what.function,
                     .type = tensor.scalar_type(),
                     .elems = tensor.numel(),
                     .is_cpu = tensor.is_cpu(),
                     .reads_pending = is_marked(tensor),
                     .has_strided_rows = has_strided_rows(tensor, *axes),
                     .rows = rows_of(tensor, *axes)};
  if (tensor.numel() > most ||
      (most != kAnySize &&
       (is_too_costly(price) || are_shared(tensor, arguments)))) {
    is_passed_to_pytorch = true;
    return std::nullopt;
  }

  Planned planned;
  planned.loss = loss_of(price);
  planned.site = &current_site(tensor.device());
  const Dims shape = keeps_rows(what.function)
                         ? Dims(tensor.sizes().begin(), tensor.sizes().end())
                         : result_shape(tensor, *axes, arguments.keepdims);
  if (given.defined()) {
    if (!is_usual_tensor(given) || given.sizes() != at::IntArrayRef(shape) ||
        given.scalar_type() != types->result ||
        given.device() != tensor.device() || overlaps_itself(given) ||
        may_share_memory(given, tensor) || !is_aligned(given))
      return std::nullopt;
    planned.out = given;
  } else {
    planned.out = make_output(shape, {}, types->result, *planned.site);
  }
  Deferred& deferred = planned.deferred;
  Request& request = deferred.request;
  request.function = function_of(what.function);
  request.compute = *dtype_of(types->compute);
  request.out_dtype = *dtype_of(types->result);
  request.axes = *axes;
  request.keepdims = arguments.keepdims;
  put_out(request, planned.out, !given.defined(), address_of(planned.out));
  deferred.views.push_back(view_of(request.out, request.out_dtype,
                                   planned.out.sizes(), planned.out.strides()));
  add_array(deferred, tensor);
  if (arguments.weight.defined()) add_array(deferred, arguments.weight);
  if (arguments.bias.defined()) add_array(deferred, arguments.bias);
  if (arguments.number) add_number(request, *arguments.number);
  deferred.needs.add_out(planned.out);
  return planned;
}

Tensor defer_rows(const Rows& what, const Tensor& tensor,
                  const RowArguments& arguments) {
  auto planned = plan_rows(what, tensor, arguments);
  if (!planned) return {};
  pending.add(planned->deferred, *planned->site);
  pending.correct_saved(-planned->loss);
  return std::move(planned->out);
}

bool defer_rows_into(const Rows& what, const Tensor& tensor,
                     const RowArguments& arguments, const Tensor& out) {
  const auto planned = plan_rows(what, tensor, arguments, out, kAnySize);
  if (planned) pending.add(planned->deferred, *planned->site);
  return planned.has_value();
}

}  // namespace gpuos::bridge
