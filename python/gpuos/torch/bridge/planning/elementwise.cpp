#include "planning/elementwise.h"

#include <array>

#include "flush/costs.h"
#include "memory/outputs.h"
#include "memory/sharing.h"
#include "planning/alike.h"
#include "planning/parts.h"
#include "pytorch/keys.h"
#include "pytorch/private_parts.h"

namespace gpuos::bridge {
namespace {

// ---- The first branch takes tensors of one floating dtype, kind and shape in
// C order, and numbers. For them a few comparisons decide all that plan() does.
// Each function is a template of the operands: tensors, a number, a condition.

/// The condition of where().
struct Condition {
  const Tensor& tensor;
};

/// Returns whether `operand` fits the simple tensor `first` in every respect.
[[gnu::always_inline]] inline bool is_alike(const Elementwise&,
                                            const Tensor& first,
                                            const Tensor& operand) {
  return &first == &operand || is_like(first, operand);
}
[[gnu::always_inline]] inline bool is_alike(const Elementwise& what,
                                            const Tensor& first,
                                            double number) {
  return C10_LIKELY(takes_any_number(what.function)) ||
         !is_unusual(number, what, first.scalar_type(), first.device());
}
bool is_alike(const Elementwise&, const Tensor& first,
              const Condition& condition) {
  const Tensor& tensor = condition.tensor;
  return is_usual_tensor(tensor) && !is_shared(tensor) &&
         tensor.scalar_type() == at::kBool && tensor.is_contiguous() &&
         has_usual_strides(tensor) && tensor.sizes() == first.sizes() &&
         tensor.device() == first.device();
}

[[gnu::noinline]] bool is_costly_here(const Elementwise& what,
                                      const Tensor& tensor) {
  return is_too_costly({what.function, tensor.scalar_type(), tensor.numel(),
                        tensor.is_cpu(), is_marked(tensor)});
}
/// plan() looks closer, and says so.
[[gnu::always_inline]] inline bool is_costly(const Elementwise& what,
                                             const Tensor& tensor) {
  return C10_UNLIKELY(Fields::numel_of(tensor) >
                      max_profitable_elems(what.function)) &&
         is_costly_here(what, tensor);
}

/// Returns whether `out` may be written while `in` is read. It compares
/// addresses unless `out` has a separate block. Otherwise two storages may
/// share memory, as those of two views of a NumPy array do.
[[gnu::always_inline]] inline bool may_write_alike(const Tensor& out,
                                                   bool has_own_block,
                                                   const Tensor& in) {
  return &out == &in ||
         C10_LIKELY(has_own_block && storage_of(out) != storage_of(in)) ||
         may_write_beside(out, in);
}
inline bool may_write_alike(const Tensor&, bool, double) { return true; }

inline void need(Needs& needs, const Tensor& tensor) { needs.add(tensor); }
inline void need(Needs&, double) {}
inline void need(Needs& needs, const Condition& condition) {
  needs.add(condition.tensor);
}

/// The parts of a request that are the same for all of its operands.
struct Alike {
  const Elementwise& what;
  const Kind& kind;
  at::ScalarType type;
  bool is_cpu;
  Request& request;

  void put(std::size_t i, const Tensor& tensor) const {
    put_array(request, i, tensor, kind.dtype, start_of(tensor, kind));
  }
  void put(std::size_t i, double number) const {
    put_real(request, i, number, what, type, is_cpu);
  }
  void put(std::size_t i, const Condition& condition) const {
    const Tensor& tensor = condition.tensor;
    put_array(request, i, tensor, DType::Bool, address_of(tensor));
  }
};

/// A new result of the shape of `tensor`, which is of some kind.
Tensor make_alike(const Elementwise& what, const Tensor& tensor,
                  const Site& site) {
  const auto& layout = Fields::layout_of(tensor);
  return make_contiguous_output(
      at::IntArrayRef(layout.sizes_data(), layout.size()),
      static_cast<std::size_t>(Fields::numel_of(tensor)),
      gives_bool(what.rule) ? at::kBool : tensor.scalar_type(), site);
}

/// Defers an operation of operands that are alike. `first` is one of the
/// tensors, or `out`. A constant `out` is written, another one is made.
/// `objects` are the Python objects of two tensors and `out`, under the GIL, or
/// null. False: plan() looks closer.
template <typename Out, typename... Operands>
[[gnu::always_inline]] inline bool try_alike(const Elementwise& what,
                                             const Tensor& first, Out& out,
                                             PyObject* const* objects,
                                             const Operands&... operands) {
  constexpr bool kIsFresh = !std::is_const_v<Out>;
  constexpr bool kHasNumber = (std::is_same_v<Operands, double> || ...);
  if (what.rule == Rule::Bitwise || rounds_quotient(what.function) ||
      (!kIsFresh && gives_bool(what.rule)) || !is_simple(first) ||
      (kIsFresh && kHasNumber && !has_usual_strides(first)) ||
      !(is_alike(what, first, operands) && ...) || is_costly(what, first))
    return false;
  const Kind of = kind;
  const Site& site = current_site(first.device());
  if constexpr (kIsFresh) {
    out = make_alike(what, first, site);
  } else {
    const bool is_own = has_own_block(*storage_of(out), site);
    if (!(may_write_alike(out, is_own, operands) && ...)) return false;
  }
  Needs needs;
  needs.objects = objects;
  (need(needs, operands), ...);
  needs.add_out(out);
  pending.add(needs, site, [&](Request& request) {
    request.function = function_of(what.function);
    request.compute = of.compute;
    request.out_dtype = gives_bool(what.rule) ? DType::Bool : of.dtype;
    request.operands = sizeof...(operands);
    const Alike alike{what, of, first.scalar_type(), site.is_cpu(), request};
    std::size_t i = 0;
    (alike.put(i++, operands), ...);
    put_out(request, out, kIsFresh, start_of(out, of));
  });
  return true;
}

/// Overload for where(), whose operands are in an array.
bool try_alike_where(const Elementwise& what,
                     std::span<const TorchOperand> operands, Tensor& out) {
  const Condition condition{*operands[0].tensor};
  const Tensor* a = operands[1].tensor;
  const Tensor* b = operands[2].tensor;
  if (operands[1].number.isComplex() || operands[2].number.isComplex())
    return false;
  if (a != nullptr && b != nullptr)
    return try_alike(what, *a, out, nullptr, condition, *a, *b);
  if (a != nullptr)
    return try_alike(what, *a, out, nullptr, condition, *a,
                     operands[2].number.toDouble());
  return b != nullptr && try_alike(what, *b, out, nullptr, condition,
                                   operands[1].number.toDouble(), *b);
}

// ---- The second branch, plan(), takes everything else.

bool are_on_one_device(std::span<const TorchOperand> operands,
                       const Tensor& out, c10::Device& device) {
  bool is_first = true;
  for (const TorchOperand& operand : operands) {
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
bool are_shared(std::span<const TorchOperand> operands, const Tensor& out) {
  for (const TorchOperand& operand : operands)
    if (!operand.is_number() && is_shared(*operand.tensor)) return true;
  return out.defined() && is_shared(out);
}

/// Returns whether an operand has too many elements. A result has at least as
/// many elements as each operand, unless it is empty.
bool is_too_large(std::span<const TorchOperand> operands, std::int64_t most) {
  bool is_large = false;
  for (const TorchOperand& operand : operands) {
    if (operand.is_number()) continue;
    // Tensors that PyTorch reads by pointers to their parts are left to it.
    if (operand.tensor->key_set().has_any(kMadeOfOthers)) return false;
    is_large = is_large || Fields::numel_of(*operand.tensor) > most;
  }
  return is_large;
}

bool reads_pending(std::span<const TorchOperand> operands) {
  for (const TorchOperand& operand : operands)
    if (!operand.is_number() && is_marked(*operand.tensor)) return true;
  return false;
}

/// Returns whether PyTorch casts one of them before it computes, as it does on
/// the CPU and for where() everywhere, and finds other strides for the result
/// by the copy: gaps are gone in it, and where the size is 1, or elements were
/// the same one, steps are new.
bool is_cast_otherwise(const Elementwise& what,
                       std::span<const TorchOperand> operands,
                       at::ScalarType common) {
  if (what.rule == Rule::Copy) return false;
  const bool is_everywhere = what.rule == Rule::Select;
  for (const TorchOperand& operand : typed_operands(what.rule, operands)) {
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
bool is_made_a_tensor(Function function, std::size_t i) {
  switch (function) {
    case Function::AddScaled:
    case Function::SubScaled:
      return i < 2;
    case Function::Add:
    case Function::Subtract:
    case Function::Multiply:
    case Function::Divide:
    case Function::FloorDivide:
    case Function::DivTrunc:
    case Function::TorchRemainder:
    case Function::Fmod:
    case Function::Copysign:
    case Function::Less:
    case Function::LessEqual:
    case Function::Greater:
    case Function::GreaterEqual:
    case Function::Equal:
    case Function::NotEqual:
    case Function::BitwiseAnd:
    case Function::BitwiseOr:
    case Function::BitwiseXor:
    case Function::Where:
      return true;
    default:
      return false;
  }
}

/// Returns the strides of a new result.
Dims strides_of(Function function, std::span<const TorchOperand> operands,
                const Broadcast& all) {
  const TorchOperand& first = operands[0];
  const bool is_log_sigmoid = function == Function::LogSigmoid;
  // PyTorch's own makes the results of these in C order,
  if ((is_log_sigmoid && first.tensor->is_cpu()) ||
      function == Function::MaskedFill ||
      (function == Function::Power && first.is_number()))
    return {};
  // and those of these as empty_like() does.
  if ((function == Function::Copy || function == Function::Hardtanh ||
       is_log_sigmoid) &&
      first.tensor->is_non_overlapping_and_dense()) {
    const auto strides = first.tensor->strides();
    return {strides.begin(), strides.end()};
  }
  bool counts_numbers = false;
  for (std::size_t i = 0; i < operands.size(); ++i)
    counts_numbers = counts_numbers ||
                     (operands[i].is_number() && is_made_a_tensor(function, i));
  return all.output_strides(counts_numbers);
}

/// Returns whether `out` accepts a result of that dtype. PyTorch casts in-place
/// results, and requests by name do the same. For other outputs each operator
/// of PyTorch has its own rules.
bool may_hold(const Tensor& out, at::ScalarType result,
              std::span<const TorchOperand> operands, bool is_by_name) {
  const Tensor* first = operands[0].tensor;
  const bool is_in_place = first != nullptr && first->unsafeGetTensorImpl() ==
                                                   out.unsafeGetTensorImpl();
  return out.scalar_type() == result ||
         ((is_in_place || is_by_name) &&
          at::canCast(result, out.scalar_type()));
}

bool may_write(const Tensor& out, std::span<const TorchOperand> operands) {
  if (overlaps_itself(out)) return false;
  for (const TorchOperand& operand : operands)
    if (!operand.is_number() && !may_write_beside(out, *operand.tensor))
      return false;
  return true;
}

/// Fills in the request of operands that plan() accepted.
void write(Deferred& deferred, const Elementwise& what,
           std::span<const TorchOperand> operands, const Broadcast& all,
           at::ScalarType common, const Tensor& out, bool is_fresh) {
  Request& request = deferred.request;
  request.function = function_of(what.function);
  request.operands = static_cast<std::uint8_t>(operands.size());
  request.compute = compute_type(what.function, common, out.is_cpu());
  request.out_dtype = *dtype_of(out.scalar_type());
  put_out(request, out, is_fresh, address_of(out));
  const bool is_flat = all.is_flat(out);
  if (!is_flat)
    deferred.views.push_back(
        view_of(request.out, request.out_dtype, all.shape, out.strides()));
  const Dims* strides = all.strides.begin();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].is_number()) {
      put_number(request, i, operands[i].number, what, common, out.is_cpu());
      continue;
    }
    const Tensor& tensor = *operands[i].tensor;
    void* address = address_of(tensor);
    const DType dtype = *dtype_of(tensor.scalar_type());
    put_array(request, i, tensor, dtype, address);
    deferred.needs.add(tensor);
    if (!is_flat)
      deferred.views.push_back(view_of(address, dtype, all.shape, *strides));
    ++strides;
  }
  deferred.needs.add_out(out);
}

Tensor defer_planned(const Elementwise& what,
                     std::span<const TorchOperand> operands,
                     const Tensor& out = {},
                     std::int64_t most = size_threshold()) {
  auto planned = plan(what, operands, out, std::nullopt, most);
  if (!planned) return {};
  pending.add(planned->deferred, *planned->site);
  // The first branch of the planner would have taken that much less time.
  constexpr std::int64_t kPlanNs = 500;
  pending.correct_saved(-planned->loss - kPlanNs);
  return std::move(planned->out);
}
[[gnu::noinline]] Tensor defer_planned(const Elementwise& what,
                                       const TorchOperand& one) {
  return defer_planned(what, {&one, 1});
}
[[gnu::noinline]] Tensor defer_planned(const Elementwise& what,
                                       const TorchOperand& one,
                                       const TorchOperand& other,
                                       const Tensor& out = {}) {
  const TorchOperand operands[] = {one, other};
  return defer_planned(what, operands, out);
}

}  // namespace

std::optional<Planned> plan(const Elementwise& what,
                            std::span<const TorchOperand> operands,
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
  const auto types = types_of(what, operands, device);
  if (!types) return std::nullopt;
  const at::ScalarType result = type.value_or(types->result);
  if (!dtype_of(out.defined() ? out.scalar_type() : result))
    return std::nullopt;
  // A copy fits its source to the target, dtype and shape.
  const bool fits_out = what.rule == Rule::Copy && out.defined();
  Broadcast all;
  if (fits_out) all.shape = Dims(out.sizes().begin(), out.sizes().end());
  if (!broadcast(operands, all)) return std::nullopt;
  const std::int64_t elems = out.defined() ? out.numel() : all.elems();
  if (elems == 0) return std::nullopt;

  const Priced price{.function = what.function,
                     .type = types->promoted,
                     .elems = elems,
                     .is_cpu = device.is_cpu(),
                     .reads_pending = reads_pending(operands),
                     .runs = device.is_cpu() ? all.runs() : 0};
  if (elems > most || (most != kAnySize && is_too_costly(price))) {
    is_passed_to_pytorch = true;
    return std::nullopt;
  }
  Planned planned;
  planned.site = &current_site(device);
  planned.loss = loss_of(price);
  if (out.defined()) {
    if (out.sizes() != at::IntArrayRef(all.shape) ||
        !(fits_out || may_hold(out, result, operands, most == kAnySize)) ||
        !may_write(out, operands))
      return std::nullopt;
    planned.out = out;
  } else if (is_cast_otherwise(what, operands, types->common)) {
    return std::nullopt;
  } else {
    planned.out =
        make_output(all.shape, strides_of(what.function, operands, all), result,
                    *planned.site);
  }
  write(planned.deferred, what, operands, all, types->common, planned.out,
        !out.defined());
  return planned;
}

Tensor defer(const Elementwise& what, std::span<const TorchOperand> operands,
             const Tensor& out, std::int64_t most) {
  const Tensor* first = operands[0].tensor;
  if (first != nullptr && operands.size() <= 2 && out.defined()) {
    if (operands.size() == 1
            ? try_alike(what, out, out, nullptr, *first)
            : !operands[1].is_number() &&
                  defer_alike(what, *first, *operands[1].tensor, out))
      return out;
  } else if (first != nullptr && what.rule == Rule::Select && !out.defined()) {
    Tensor made;
    if (C10_LIKELY(try_alike_where(what, operands, made))) return made;
  }
  return defer_planned(what, operands, out, most);
}

Tensor defer(const Elementwise& what, const Tensor& tensor) {
  Tensor out;
  if (C10_LIKELY(try_alike(what, tensor, out, nullptr, tensor))) return out;
  return defer_planned(what, {.tensor = &tensor});
}

Tensor defer(const Elementwise& what, const Tensor& tensor,
             const Tensor& other) {
  Tensor out;
  if (C10_LIKELY(try_alike(what, tensor, out, nullptr, tensor, other)))
    return out;
  return defer_planned(what, {.tensor = &tensor}, {.tensor = &other});
}

Tensor defer(const Elementwise& what, const Tensor& tensor, double number,
             bool is_number_first) {
  Tensor out;
  if (is_number_first) {
    if (C10_LIKELY(try_alike(what, tensor, out, nullptr, number, tensor)))
      return out;
    return defer_planned(what, {.number = number}, {.tensor = &tensor});
  }
  if (C10_LIKELY(try_alike(what, tensor, out, nullptr, tensor, number)))
    return out;
  return defer_planned(what, {.tensor = &tensor}, {.number = number});
}

Tensor defer(const Elementwise& what, const Tensor& tensor,
             const c10::Scalar& number) {
  if (number.isComplex()) return {};
  // It keeps whole numbers apart, which matters to whole tensors alone.
  if (at::isFloatingType(tensor.scalar_type()))
    return defer(what, tensor, number.toDouble());
  return defer_planned(what, {.tensor = &tensor}, {.number = number});
}

bool defer_alike(const Elementwise& what, const Tensor& tensor,
                 const Tensor& other, const Tensor& out,
                 PyObject* const* objects) {
  return try_alike(what, out, out, objects, tensor, other);
}

bool defer_into(const Elementwise& what, const Tensor& out,
                const Tensor& other) {
  return C10_LIKELY(defer_alike(what, out, other, out)) ||
         defer_planned(what, {.tensor = &out}, {.tensor = &other}, out)
             .defined();
}

bool defer_into(const Elementwise& what, const Tensor& out,
                const c10::Scalar& number) {
  if (number.isComplex()) return false;
  return try_alike(what, out, out, nullptr, out, number.toDouble()) ||
         defer_planned(what, {.tensor = &out}, {.number = number}, out)
             .defined();
}

}  // namespace gpuos::bridge
