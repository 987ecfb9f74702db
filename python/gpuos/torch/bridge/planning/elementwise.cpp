#include "planning/elementwise.h"

#include <ATen/ExpandUtils.h>
#include <ATen/native/TypeProperties.h>

#include <array>
#include <cmath>

#include "flush/costs.h"
#include "memory/outputs.h"
#include "memory/sharing.h"
#include "planning/fast_path.h"
#include "planning/parts.h"
#include "pytorch/keys.h"
#include "pytorch/private_parts.h"

namespace gpuos::bridge {
namespace {

std::optional<at::ScalarType> promoted_type(std::span<const Operand> operands) {
  at::native::ResultTypeState state;
  for (const Operand& operand : operands) {
    if (operand.is_number()) {
      if (operand.number.isComplex()) return std::nullopt;
      state = at::native::update_result_type_state(operand.number, state);
    } else {
      state = at::native::update_result_type_state(*operand.tensor, state);
    }
  }
  return at::native::result_type(state);
}

/// The operands that decide the dtype: not conditions and masks.
std::span<const Operand> typed_operands(Rule rule,
                                        std::span<const Operand> operands) {
  if (rule == Rule::Select) return operands.subspan(1);
  if (rule == Rule::Masked) return operands.first(1);
  if (rule == Rule::Fill) return operands.subspan(2);
  return operands;
}

/// Conditions and masks are bool. For other dtypes PyTorch warns or raises.
bool has_bool_condition(Rule rule, std::span<const Operand> operands) {
  if (rule != Rule::Select && rule != Rule::Masked) return true;
  const Operand& condition = operands[rule == Rule::Select ? 0 : 1];
  return !condition.is_number() && condition.tensor->scalar_type() == at::kBool;
}

/// Returns whether PyTorch refuses these operands or has special rules for
/// them.
bool needs_plan(const Elementwise& what, std::span<const Operand> operands) {
  const bool subtracts =
      what.recipe == Recipe::Subtract || what.recipe == Recipe::SubScaled;
  const bool clamps = what.recipe == Recipe::Clamp ||
                      what.recipe == Recipe::ClampMin ||
                      what.recipe == Recipe::ClampMax;
  const Tensor* first = operands[0].tensor;
  const bool rounds =
      what.recipe == Recipe::FloorDivide || what.recipe == Recipe::DivTrunc;
  for (const Operand& operand : operands) {
    if (subtracts && is_bool(operand)) return true;
    if (operand.is_number()) continue;
    const at::ScalarType type = operand.tensor->scalar_type();
    if (what.rule == Rule::Floating && !at::isFloatingType(type)) return true;
    // The meaning of bounds of another dtype depends on the device.
    if (clamps && first != nullptr && type != first->scalar_type()) return true;
    // The quotient is rounded to the half type, and that to a whole number.
    if (rounds && is_half(type)) return true;
  }
  return false;
}

bool are_on_one_device(std::span<const Operand> operands, const Tensor& out,
                       c10::Device& device) {
  bool is_first = true;
  for (const Operand& operand : operands) {
    if (operand.is_number()) continue;
    if (!is_usual_tensor(*operand.tensor) || !is_aligned(*operand.tensor))
      return false;
    if (is_first) device = operand.tensor->device();
    is_first = false;
    if (operand.tensor->device() != device) return false;
  }
  if (is_first) return false;
  return !out.defined() ||
         (is_usual_tensor(out) && is_aligned(out) && out.device() == device);
}

/// Returns whether others, such as NumPy, may access the operands or the output
/// while Python continues. Such an operation runs at once. For requests by name
/// the program decides when.
bool are_shared(std::span<const Operand> operands, const Tensor& out) {
  for (const Operand& operand : operands)
    if (!operand.is_number() && is_shared(*operand.tensor)) return true;
  return out.defined() && is_shared(out);
}

/// Returns whether PyTorch refuses a number, or computes it in a special way.
bool is_unusual(const c10::Scalar& number, const Elementwise& what,
                at::ScalarType common, c10::Device device) {
  if (!fits(number, common)) return true;
  if (what.recipe == Recipe::Power &&
      is_product_of_halves(number.toDouble(), common, device))
    return true;
  if (what.recipe == Recipe::Power || what.recipe == Recipe::TorchRemainder ||
      what.recipe == Recipe::Fmod)
    return !fits_as_rounded(number.toDouble(), common);
  const bool is_parameter = what.recipe == Recipe::Elu ||
                            what.recipe == Recipe::LeakyRelu ||
                            what.recipe == Recipe::Softplus;
  return is_parameter && !std::isfinite(number.toDouble());
}

/// Returns whether PyTorch casts a tensor of another dtype to the half type
/// `common` and so rounds it before it computes. On the CPU it treats factors
/// and divisors of one element as numbers. Operators that select an operand
/// round once.
bool is_rounded_first(const Elementwise& what,
                      std::span<const Operand> operands,
                      at::ScalarType common) {
  if (!is_half(common) || what.rule == Rule::Copy ||
      what.rule == Rule::Select || what.rule == Rule::Masked ||
      what.rule == Rule::Fill)
    return false;
  const bool keeps_last =
      what.recipe == Recipe::Multiply || what.recipe == Recipe::Divide;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].is_number()) continue;
    const Tensor& tensor = *operands[i].tensor;
    const at::ScalarType type = tensor.scalar_type();
    const bool is_number =
        tensor.is_cpu() && keeps_last && i == 1 && tensor.numel() == 1;
    if (type != common && c10::elementSize(type) > 1 && !is_number) return true;
  }
  return false;
}

/// Returns whether all operands have one dense layout, which the result will
/// have too.
bool are_of_one_layout(std::span<const Operand> operands,
                       at::IntArrayRef shape) {
  const Tensor* first = nullptr;
  for (const Operand& operand : operands) {
    if (operand.is_number()) continue;
    if (first == nullptr) first = operand.tensor;
    if (operand.tensor->sizes() != shape ||
        operand.tensor->strides() != first->strides())
      return false;
  }
  return first == nullptr || first->is_non_overlapping_and_dense();
}

/// Returns the number of runs in a walk over `shape`, or 0 for one run. Within
/// a run each operand has a constant stride. The result's layout is not known
/// yet.
std::int64_t runs_of(std::span<const Operand> operands, at::IntArrayRef shape) {
  if (are_of_one_layout(operands, shape)) return 0;
  constexpr std::int64_t kUnknown = -1;
  std::array<std::int64_t, kMaxRequestOperands> steps;
  steps.fill(kUnknown);
  std::int64_t run = 1;
  bool goes_on = true;
  std::int64_t runs = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    for (std::size_t i = 0; i < operands.size() && goes_on; ++i) {
      if (operands[i].is_number()) continue;
      const Tensor& tensor = *operands[i].tensor;
      const std::int64_t from_last =
          static_cast<std::int64_t>(shape.size() - d);
      const bool is_repeated = from_last > tensor.dim() ||
                               tensor.size(tensor.dim() - from_last) == 1;
      const std::int64_t stride =
          is_repeated ? 0 : tensor.stride(tensor.dim() - from_last);
      if (steps[i] == kUnknown) steps[i] = stride;
      goes_on = stride == steps[i] * run;
    }
    if (goes_on)
      run *= shape[d];
    else
      runs *= shape[d];
  }
  return runs == 1 ? 0 : runs;
}

/// PyTorch's kernels of the CPU add a product of float32 without rounding it.
/// In float64 the product is exact.
at::ScalarType computed_type(Recipe recipe, at::ScalarType common,
                             bool is_cpu) {
  const bool adds_product =
      recipe == Recipe::AddScaled || recipe == Recipe::SubScaled;
  return is_cpu && adds_product && common == at::kFloat ? at::kDouble
                                                        : opmath_of(common);
}

/// Returns whether an operand has too many elements. A result has at least as
/// many elements as each operand, unless it is empty.
bool is_too_large(std::span<const Operand> operands, std::int64_t most) {
  bool is_large = false;
  for (const Operand& operand : operands) {
    if (operand.is_number()) continue;
    // Tensors that PyTorch reads by pointers to their parts are left to it.
    if (operand.tensor->key_set().has_any(kMadeOfOthers)) return false;
    is_large = is_large || Fields::numel_of(*operand.tensor) > most;
  }
  return is_large;
}

bool reads_pending(std::span<const Operand> operands) {
  for (const Operand& operand : operands)
    if (!operand.is_number() && is_marked(*operand.tensor)) return true;
  return false;
}

/// All arrays are the same elements in the same order of memory.
bool is_flat(std::span<const Operand> operands, const Tensor& out) {
  const bool is_contiguous = out.is_contiguous();
  if (!is_contiguous && !out.is_non_overlapping_and_dense()) return false;
  for (const Operand& operand : operands) {
    if (operand.is_number()) continue;
    const Tensor& tensor = *operand.tensor;
    if (tensor.sizes() != out.sizes()) return false;
    if (is_contiguous ? !tensor.is_contiguous()
                      : tensor.strides() != out.strides())
      return false;
  }
  return true;
}

/// Returns whether PyTorch casts one of them before it computes, as it does on
/// the CPU and for where() everywhere, and finds other strides for the result
/// by the copy: gaps are gone in it, and where the size is 1, or elements were
/// the same one, steps are new.
bool is_cast_otherwise(const Elementwise& what,
                       std::span<const Operand> operands,
                       at::ScalarType common) {
  if (what.rule == Rule::Copy) return false;
  const bool is_everywhere = what.rule == Rule::Select;
  for (const Operand& operand : typed_operands(what.rule, operands)) {
    if (operand.is_number()) continue;
    const Tensor& tensor = *operand.tensor;
    if (tensor.scalar_type() == common || !(tensor.is_cpu() || is_everywhere) ||
        tensor.dim() < 2 || tensor.is_non_overlapping_and_dense())
      continue;
    for (std::int64_t d = 0; d < tensor.dim(); ++d)
      if (tensor.size(d) == 1 || tensor.stride(d) == 0) return true;
  }
  return false;
}

/// Returns whether PyTorch makes a tensor of the number that is operand `i`.
bool is_made_a_tensor(Recipe recipe, std::size_t i) {
  switch (recipe) {
    case Recipe::AddScaled:
    case Recipe::SubScaled:
      return i < 2;
    case Recipe::Add:
    case Recipe::Subtract:
    case Recipe::Multiply:
    case Recipe::Divide:
    case Recipe::FloorDivide:
    case Recipe::DivTrunc:
    case Recipe::TorchRemainder:
    case Recipe::Fmod:
    case Recipe::Copysign:
    case Recipe::Less:
    case Recipe::LessEqual:
    case Recipe::Greater:
    case Recipe::GreaterEqual:
    case Recipe::Equal:
    case Recipe::NotEqual:
    case Recipe::BitwiseAnd:
    case Recipe::BitwiseOr:
    case Recipe::BitwiseXor:
    case Recipe::Where:
      return true;
    default:
      return false;
  }
}

/// Returns the strides of a new result.
Dims strides_of(Recipe recipe, std::span<const Operand> operands,
                at::IntArrayRef shape) {
  const Operand& first = operands[0];
  const bool is_log_sigmoid = recipe == Recipe::LogSigmoid;
  // PyTorch's own makes the results of these in C order,
  if ((is_log_sigmoid && first.tensor->is_cpu()) ||
      recipe == Recipe::MaskedFill ||
      (recipe == Recipe::Power && first.is_number()))
    return {};
  // and those of these as empty_like() does.
  if ((recipe == Recipe::Copy || recipe == Recipe::Hardtanh ||
       is_log_sigmoid) &&
      first.tensor->is_non_overlapping_and_dense()) {
    const auto strides = first.tensor->strides();
    return {strides.begin(), strides.end()};
  }
  bool counts_numbers = false;
  for (std::size_t i = 0; i < operands.size(); ++i)
    counts_numbers = counts_numbers ||
                     (operands[i].is_number() && is_made_a_tensor(recipe, i));
  return output_strides(operands, shape, counts_numbers);
}

void put_views(Deferred& deferred, std::span<const Operand> operands,
               const Tensor& out) {
  const Request& request = deferred.request;
  deferred.views.push_back(
      view_of(request.out, request.out_dtype, out.sizes(), out.strides()));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].is_number()) continue;
    deferred.views.push_back(view_of(
        reinterpret_cast<void*>(request.values[i]), request.dtypes[i],
        out.sizes(), expanded_strides(*operands[i].tensor, out.sizes())));
  }
}

/// Returns whether `out` accepts a result of that dtype. PyTorch casts in-place
/// results, and requests by name do the same. For other outputs each operator
/// of PyTorch has its own rules.
bool may_hold(const Tensor& out, at::ScalarType result,
              std::span<const Operand> operands, bool is_by_name) {
  const Tensor* first = operands[0].tensor;
  const bool is_in_place = first != nullptr && first->unsafeGetTensorImpl() ==
                                                   out.unsafeGetTensorImpl();
  return out.scalar_type() == result ||
         ((is_in_place || is_by_name) &&
          at::canCast(result, out.scalar_type()));
}

bool may_write(const Tensor& out, std::span<const Operand> operands) {
  if (overlaps_itself(out)) return false;
  for (const Operand& operand : operands)
    if (!operand.is_number() && !may_write_beside(out, *operand.tensor))
      return false;
  return true;
}

}  // namespace

std::optional<Planned> plan(const Elementwise& what,
                            std::span<const Operand> operands,
                            const Tensor& out,
                            std::optional<at::ScalarType> type,
                            std::int64_t most) {
  // This check comes first because it finds most operations that are left to
  // PyTorch. The remaining checks take as long as a launch.
  if (is_too_large(operands, most)) {
    is_passed_to_pytorch = true;
    return std::nullopt;
  }
  c10::Device device{c10::kCPU};
  if (!are_on_one_device(operands, out, device)) return std::nullopt;
  if (most != kAnySize && are_shared(operands, out)) {
    is_passed_to_pytorch = true;
    return std::nullopt;
  }
  if (!has_bool_condition(what.rule, operands) || needs_plan(what, operands))
    return std::nullopt;
  const auto promoted = promoted_type(typed_operands(what.rule, operands));
  if (!promoted) return std::nullopt;
  const auto types = types_of(what.rule, *promoted);
  if (!types) return std::nullopt;
  for (const Operand& operand : operands)
    if (operand.is_number() &&
        is_unusual(operand.number, what, types->common, device))
      return std::nullopt;
  if (is_rounded_first(what, operands, types->common)) return std::nullopt;
  const auto shape = broadcast_shape(operands);
  if (!shape) return std::nullopt;
  const at::ScalarType result = type.value_or(types->result);
  if (!dtype_of(out.defined() ? out.scalar_type() : result))
    return std::nullopt;

  Planned planned;
  planned.site = &current_site(device);
  std::int64_t elements = 1;
  for (const std::int64_t size : *shape) elements *= size;
  if (out.defined()) elements = out.numel();
  if (elements == 0) return std::nullopt;
  const Priced price{.recipe = what.recipe,
                     .type = *promoted,
                     .elems = elements,
                     .is_cpu = device.is_cpu(),
                     .reads_pending = reads_pending(operands),
                     .runs = device.is_cpu() ? runs_of(operands, *shape) : 0};
  if (elements > most || (most != kAnySize && is_too_costly(price))) {
    is_passed_to_pytorch = true;
    return std::nullopt;
  }
  if (out.defined()) {
    // A copy fits its source to the target, dtype and shape.
    const bool is_copy = what.rule == Rule::Copy;
    if (!(is_copy ? at::is_expandable_to(*shape, out.sizes())
                  : out.sizes() == at::IntArrayRef(*shape)) ||
        !(is_copy || may_hold(out, result, operands, most == kAnySize)) ||
        !may_write(out, operands))
      return std::nullopt;
    planned.out = out;
  } else if (is_cast_otherwise(what, operands, types->common)) {
    return std::nullopt;
  } else {
    planned.out = make_output(*shape, strides_of(what.recipe, operands, *shape),
                              result, *planned.site);
  }

  planned.loss = loss_of(price);
  Deferred& deferred = planned.deferred;
  Request& request = deferred.request;
  request.function = function_of(what.recipe);
  request.operands = static_cast<std::uint8_t>(operands.size());
  request.compute =
      *dtype_of(computed_type(what.recipe, types->common, device.is_cpu()));
  request.out_dtype = *dtype_of(planned.out.scalar_type());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].is_number()) {
      put_number(request, i, operands[i].number, what, types->common,
                 device.is_cpu());
      continue;
    }
    const Tensor& tensor = *operands[i].tensor;
    put_tensor(request, i, tensor, *dtype_of(tensor.scalar_type()));
    deferred.needs.add(tensor);
  }
  put_out(request, planned.out, !out.defined());
  deferred.needs.add_out(planned.out);
  if (!is_flat(operands, planned.out))
    put_views(deferred, operands, planned.out);
  return planned;
}

Tensor defer_planned(const Elementwise& what, std::span<const Operand> operands,
                     const Tensor& out, std::int64_t most) {
  auto planned = plan(what, operands, out, std::nullopt, most);
  if (!planned) return {};
  pending.add(planned->deferred, *planned->site);
  if (planned->loss != 0) pending.correct_saved(-planned->loss);
  return std::move(planned->out);
}

Tensor defer(const Elementwise& what, std::span<const Operand> operands,
             const Tensor& out, std::int64_t most) {
  const Tensor* first = operands[0].tensor;
  if (first != nullptr && what.rule == Rule::Select && !out.defined()) {
    Tensor quick = defer_fast_where(*first, operands[1], operands[2]);
    if (C10_LIKELY(quick.defined())) return quick;
  } else if (first != nullptr && operands.size() <= 2 && out.defined()) {
    const Tensor none;
    const Tensor* other = operands.size() == 1 ? &none : operands[1].tensor;
    if (other != nullptr && defer_fast_out(what, *first, *other, out))
      return out;
  }
  return defer_planned(what, operands, out, most);
}

Tensor defer(const Elementwise& what, const Tensor& tensor,
             const c10::Scalar& number) {
  if (number.isComplex()) return {};
  // It keeps whole numbers apart, which matters to whole tensors alone.
  if (at::isFloatingType(tensor.scalar_type()))
    return defer(what, tensor, number.toDouble());
  const Operand operands[] = {{.tensor = &tensor}, {.number = number}};
  return defer_planned(what, operands);
}

bool defer_into(const Elementwise& what, const Tensor& out,
                const Tensor& other) {
  if (C10_LIKELY(defer_fast_into(what, out, other))) return true;
  const Operand operands[] = {{.tensor = &out}, {.tensor = &other}};
  return defer_planned(what, operands, out).defined();
}

bool defer_into(const Elementwise& what, const Tensor& out,
                const c10::Scalar& number) {
  if (number.isComplex()) return false;
  if (defer_fast_into(what, out, number.toDouble())) return true;
  const Operand operands[] = {{.tensor = &out}, {.number = number}};
  return defer_planned(what, operands, out).defined();
}

}  // namespace gpuos::bridge
