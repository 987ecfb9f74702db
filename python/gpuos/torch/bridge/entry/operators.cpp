#include "entry/setup.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>

#include "entry/redispatch_keys.h"
#include "entry/schema.h"
#include "flush/backoff.h"
#include "flush/costs.h"
#include "flush/followed.h"
#include "flush/pass_through.h"
#include "flush/pending.h"
#include "memory/outputs.h"
#include "planning/operands.h"
#include "planning/shapes.h"
#include "pytorch/keys.h"
#include "pytorch/modes.h"
#include "pytorch/private_parts.h"

namespace gpuos::bridge {
namespace {

using c10::OperatorHandle;
using torch::jit::Stack;

c10::ArrayRef<c10::IValue> arguments_of(const OperatorHandle& op,
                                        const Stack& stack) {
  return torch::jit::last(stack, op.schema().arguments().size());
}

void run_all_before(const OperatorHandle& op, const Stack& stack) {
  note_writes(op, arguments_of(op, stack));
  if (!pending.is_empty()) pending.flush(op.operator_name());
  for_each_tensor(arguments_of(op, stack), [](const Tensor& tensor) {
    if (is_marked(tensor)) unmark(tensor.unsafeGetTensorImpl());
  });
}

// ---- everything else

/// Returns whether it is dtype, device and sizes of its tensor that `op` asks
/// for.
bool asks_for_sizes_alone(std::string_view name) {
  return name == "aten::rand_like" || name == "aten::randn_like" ||
         name == "aten::randint_like";
}

/// Returns whether `op` may run before the pending requests: they write nothing
/// that it reads, and use nothing that it writes.
bool may_go_ahead(const OperatorHandle& op, DispatchKeySet keys,
                  c10::ArrayRef<c10::IValue> values) {
  const std::string& name = op.operator_name().name;
  if (keys.has_any(kMadeOfOthers | DispatchKeySet(DispatchKey::Python)) ||
      writes_in_silence(name))
    return false;
  if (asks_for_sizes_alone(name)) return true;
  // torch.tensor() ends with detach_(), which changes no element.
  const bool writes_no_memory = name == "aten::detach_";
  bool are_apart = true;
  for (std::size_t i = 0; i < values.size() && are_apart; ++i) {
    const c10::AliasInfo* alias = op.schema().arguments()[i].alias_info();
    const bool writes =
        alias != nullptr && alias->isWrite() && !writes_no_memory;
    for_each_tensor(values.slice(i, 1), [&](const Tensor& tensor) {
      if (tensor.defined() && are_apart)
        are_apart = !is_marked(tensor) && is_apart(tensor, writes);
    });
  }
  return are_apart;
}

/// Runs pending operations that must precede `op`. Operations that touch none
/// of its memory are not run: `op` may be long, and a flush costs as much as
/// several deferred operations.
void run_before(const OperatorHandle& op, DispatchKeySet& keys,
                const Stack& stack) {
  if (!pending.is_empty() && pending.may_wait() &&
      may_go_ahead(op, keys, arguments_of(op, stack))) {
    note_writes(op, arguments_of(op, stack));
    pending.start_if_large();
    keys = keys - kPendingKeys;
  } else {
    run_all_before(op, stack);
  }
}

void mode_barrier(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  pending.count_fallback();
  run_by_pytorch.add(op.operator_name());
  run_before(op, keys, *stack);
  note_left();
  const WithoutMode without;
  op.redispatchBoxed(keys & kBelowMode, stack);
}

/// The kernel of `_local_scalar_dense`. The host may know the value.
void read_element(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  const Tensor tensor = stack->back().toTensor();
  std::optional<c10::Scalar> known;
  if (is_usual_thread() && is_marked(tensor) && pending.may_wait() &&
      is_usual_tensor(tensor) && tensor.numel() == 1)
    known = pending.read(op.operator_name(), tensor);
  if (known) {
    torch::jit::drop(*stack, 1);
    stack->emplace_back(*known);
    return;
  }
  mode_barrier(op, keys, stack);
  pending.note_read(tensor, stack->back().toScalar());
}

/// The kernel of `equal`. The host may know the elements of both.
void compare_elements(const OperatorHandle& op, DispatchKeySet keys,
                      Stack* stack) {
  const auto arguments = arguments_of(op, *stack);
  const Tensor a = arguments[0].toTensor();
  const Tensor b = arguments[1].toTensor();
  const bool is_pending = is_marked(a) || is_marked(b);
  if (is_usual_thread() && is_pending && is_usual_tensor(a) &&
      is_usual_tensor(b) && a.device() == b.device() &&
      a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
      static_cast<std::uint64_t>(a.numel()) <= KnownValues::kMostElems &&
      !a.is_alias_of(b)) {
    torch::jit::drop(*stack, arguments.size());
    stack->emplace_back(a.eq(b).all().item().toBool());
    return;
  }
  mode_barrier(op, keys, stack);
}

void pending_barrier(const OperatorHandle& op, DispatchKeySet keys,
                     Stack* stack) {
  run_all_before(op, *stack);
  const WithoutMode without;
  op.redispatchBoxed(keys & kBehindPending, stack);
}

// The kernel of composite operators that may read elements, in threads outside
// of schedulers. It takes the place of autograd's kernel, before any that would
// stop it.
void composite_barrier(const OperatorHandle& op, DispatchKeySet keys,
                       Stack* stack) {
  run_all_before(op, *stack);
  op.redispatchBoxed(keys & kBehindComposite, stack);
}

// ---- operators that are taken

/// Returns whether a tensor among the arguments has too many elements.
bool is_too_large(c10::ArrayRef<c10::IValue> arguments) {
  bool is_large = false;
  for_each_tensor(arguments, [&](const Tensor& tensor) {
    is_large = is_large || (tensor.defined() &&
                            Fields::numel_of(tensor) > size_threshold());
  });
  return is_large;
}

bool is_on_cpu(c10::ArrayRef<c10::IValue> arguments) {
  bool is_cpu = false;
  for_each_tensor(arguments, [&](const Tensor& tensor) {
    is_cpu = is_cpu || (tensor.defined() && tensor.is_cpu());
  });
  return is_cpu;
}

bool is_on_cpu_without_pending(c10::ArrayRef<c10::IValue> arguments) {
  bool has_pending = false;
  for_each_tensor(arguments, [&](const Tensor& tensor) {
    has_pending = has_pending || is_marked(tensor);
  });
  return !has_pending && is_on_cpu(arguments);
}

/// Defers one call. Returns false if PyTorch must do it.
class Taker {
 public:
  virtual ~Taker() = default;
  /// Returns whether PyTorch has one launch, or one loop, for a list of
  /// tensors: to put each off saves nothing.
  virtual bool is_of_lists() const noexcept { return false; }
  /// Returns whether deferring a call with these arguments saves nothing. It is
  /// asked where costs decide, before the arguments are read.
  virtual bool is_left(
      c10::ArrayRef<c10::IValue> /*arguments*/) const noexcept {
    return false;
  }
  virtual bool take(c10::ArrayRef<c10::IValue> arguments, bool above_autograd,
                    std::vector<c10::IValue>& results) const = 0;
};

class ElementwiseTaker : public Taker {
 public:
  explicit ElementwiseTaker(OverloadForm form) : form_(std::move(form)) {}

  bool is_of_lists() const noexcept override { return form_.is_foreach; }
  // Processors fill new memory faster than a request can be written.
  bool is_left(c10::ArrayRef<c10::IValue> arguments) const noexcept override {
    return form_.what->rule == Rule::Fill && !form_.is_foreach &&
           is_on_cpu_without_pending(arguments);
  }
  bool take(c10::ArrayRef<c10::IValue> arguments, bool above_autograd,
            std::vector<c10::IValue>& results) const override {
    OverloadCall call;
    if (!read_call(form_, arguments, call)) return false;
    // A copy of a tensor of inference mode has its own steps.
    const bool is_copy = form_.what->rule == Rule::Copy && !form_.is_in_place;
    for (const Tensor& tensor : call.tensors)
      if ((above_autograd && !is_without_grad(tensor)) ||
          (is_copy && tensor.is_inference()))
        return false;
    std::vector<Deferred> requests;
    std::vector<Tensor> outs;
    const Site* site = nullptr;
    requests.reserve(call.items.size());
    for (const OverloadCall::Item& item : call.items) {
      if (item.out.defined() && !may_write(item.out, above_autograd))
        return false;
      auto planned = plan(item.what, item.operands, item.out, item.type);
      if (!planned) return false;
      if (site != nullptr && site != planned->site) return false;
      site = planned->site;
      requests.push_back(std::move(planned->deferred));
      outs.push_back(std::move(planned->out));
    }
    if (site != nullptr) add(requests, *site, above_autograd);
    // PyTorch's kernels of lists do this, not the layers above them.
    if (above_autograd || form_.is_foreach)
      for (const OverloadCall::Item& item : call.items)
        if (item.out.defined()) item.out.unsafeGetTensorImpl()->bump_version();
    if (!form_.is_foreach)
      results.emplace_back(std::move(outs.front()));
    else if (!form_.is_in_place)
      results.emplace_back(std::move(outs));
    return true;
  }

 private:
  static bool may_write(const Tensor& out, bool above_autograd) {
    return is_writable(out) && (!above_autograd || is_without_grad(out));
  }
  void add(std::span<const Deferred> requests, const Site& site,
           bool above_autograd) const {
    pending.add(requests, site);
    const EntryPoint entry =
        above_autograd ? EntryPoint::Boxed : EntryPoint::Below;
    const auto count = static_cast<std::int64_t>(requests.size());
    pending.correct_saved(count * saved_correction(entry, site.is_cpu()));
  }

  OverloadForm form_;
};

class RowTaker : public Taker {
 public:
  RowTaker(const RowName& name, const c10::FunctionSchema& schema)
      : name_(name), schema_(schema) {}

  bool take(c10::ArrayRef<c10::IValue> arguments, bool above_autograd,
            std::vector<c10::IValue>& results) const override {
    RowCall call;
    if (!read_row_call(name_, schema_, arguments, call)) return false;
    if (above_autograd &&
        !(is_without_grad(call.tensor) && has_no_grad(call.arguments.weight) &&
          has_no_grad(call.arguments.bias)))
      return false;
    Tensor out = defer_rows(call.what, call.tensor, call.arguments);
    if (!out.defined()) return false;
    const EntryPoint entry =
        above_autograd ? EntryPoint::Boxed : EntryPoint::Below;
    pending.correct_saved(saved_correction(entry, out.is_cpu()));
    results.emplace_back(std::move(out));
    return true;
  }

 private:
  static bool has_no_grad(const Tensor& tensor) {
    return !tensor.defined() || is_without_grad(tensor);
  }

  RowName name_;
  c10::FunctionSchema schema_;
};

class PlannedTaker : public Taker {
 public:
  explicit PlannedTaker(const PlannedName& name)
      : plan_(name.plan), saves_flushes_alone_(name.saves_flushes_alone) {}

  // On processors, PyTorch's operator costs as little.
  bool is_left(c10::ArrayRef<c10::IValue> arguments) const noexcept override {
    return saves_flushes_alone_ ? is_on_cpu_without_pending(arguments)
                                : is_on_cpu(arguments);
  }

  bool take(c10::ArrayRef<c10::IValue> arguments, bool above_autograd,
            std::vector<c10::IValue>& results) const override {
    bool is_free = true;
    for_each_tensor(arguments, [&](const Tensor& tensor) {
      is_free = is_free && (!above_autograd || is_without_grad(tensor));
    });
    if (!is_free) return false;
    std::vector<Deferred> requests;
    const Site* site = nullptr;
    Tensor out = plan_(arguments, requests, site);
    if (!out.defined()) return false;
    pending.add(requests, *site);
    const EntryPoint entry =
        above_autograd ? EntryPoint::Boxed : EntryPoint::Below;
    // All of them save one operator of PyTorch.
    const auto more = static_cast<std::int64_t>(requests.size()) - 1;
    pending.correct_saved(saved_correction(entry, site->is_cpu()) -
                          more * saved_by_each(site->is_cpu(), true));
    results.emplace_back(std::move(out));
    return true;
  }

 private:
  PlanCall plan_;
  bool saves_flushes_alone_;
};

void replace_arguments(const OperatorHandle& op, Stack* stack,
                       std::vector<c10::IValue> results) {
  torch::jit::drop(*stack, op.schema().arguments().size());
  for (c10::IValue& result : results) stack->push_back(std::move(result));
}

/// The kernel above autograd. It defers operations that autograd does not need
/// to see. The others come again below autograd, if deferring may help there.
class ModeKernel : public c10::OperatorKernel {
 public:
  ModeKernel(std::shared_ptr<const Taker> taker, bool is_to_copy)
      : taker_(std::move(taker)), is_to_copy_(is_to_copy) {}

  void operator()(const OperatorHandle& op, DispatchKeySet keys,
                  Stack* stack) const {
    const auto arguments = arguments_of(op, *stack);
    const bool is_usual = is_usual_thread();
    bool passes_through =
        is_usual && ((weighs_costs() &&
                      (taker_->is_of_lists() || taker_->is_left(arguments))) ||
                     is_too_large(arguments));
    if (is_usual && !passes_through) {
      std::vector<c10::IValue> results;
      if (taker_->take(arguments, true, results)) {
        replace_arguments(op, stack, std::move(results));
        return;
      }
      passes_through =
          take_rejection() || (weighs_costs() && is_on_cpu(arguments));
    }
    const Tensor source = is_to_copy_ && arguments[0].isTensor()
                              ? arguments[0].toTensor()
                              : Tensor();
    if (passes_through && !keys.has_any(kMadeOfOthers)) {
      const PassThrough pass(
          op.operator_name(),
          pending.is_empty() || may_go_ahead(op, keys, arguments));
      note_writes(op, arguments);
      op.redispatchBoxed(keys & kBelowMode, stack);
    } else {
      op.redispatchBoxed(RedispatchKeys(keys, op.operator_name()), stack);
    }
    if (source.defined()) pending.note_copied(source, stack->back().toTensor());
  }

 private:
  std::shared_ptr<const Taker> taker_;
  bool is_to_copy_;
};

/// Below autograd, for operators of this mode and for tensors that are pending.
class PendingKernel : public c10::OperatorKernel {
 public:
  explicit PendingKernel(std::shared_ptr<const Taker> taker)
      : taker_(std::move(taker)) {}

  void operator()(const OperatorHandle& op, DispatchKeySet keys,
                  Stack* stack) const {
    std::vector<c10::IValue> results;
    const auto arguments = arguments_of(op, *stack);
    const bool is_left = weighs_costs() && taker_->is_left(arguments);
    if (is_deferring_thread() && !is_left &&
        taker_->take(arguments, false, results)) {
      replace_arguments(op, stack, std::move(results));
      return;
    }
    if (take_rejection()) pending.count_left();
    run_by_pytorch.add(op.operator_name());
    run_before(op, keys, *stack);
    const WithoutMode without;
    op.redispatchBoxed(keys & kBehindPending, stack);
  }

 private:
  std::shared_ptr<const Taker> taker_;
};

std::string short_name(const c10::OperatorName& name) {
  std::string text = name.name.substr(6);  // without "aten::"
  return name.overload_name.empty() ? text : text + "." + name.overload_name;
}

std::shared_ptr<const Taker> taker_for(const c10::OperatorName& name) {
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  if (!handle) return nullptr;
  const c10::FunctionSchema& schema = handle->schema();
  for (const RowName& row : kRowNames) {
    const std::string full =
        schema.overload_name().empty()
            ? name.name.substr(6)
            : name.name.substr(6) + "." + schema.overload_name();
    if (full == row.name) return std::make_shared<RowTaker>(row, schema);
  }
  if (const PlannedName* planned = find_planned(short_name(name)))
    return std::make_shared<PlannedTaker>(*planned);
  if (auto form = form_of(schema))
    return std::make_shared<ElementwiseTaker>(std::move(*form));
  return nullptr;
}

template <typename Kernel>
torch::CppFunction boxed(std::unique_ptr<Kernel> kernel) {
  return torch::CppFunction::makeFromBoxedKernel(
      c10::BoxedKernel::makeFromFunctor(std::move(kernel)));
}

class Registration {
 public:
  explicit Registration(const OperatorLists& lists) {
    take_operators();
    mode_.impl("_local_scalar_dense",
               torch::CppFunction::makeFromBoxedFunction<&read_element>());
    mode_.impl("equal",
               torch::CppFunction::makeFromBoxedFunction<&compare_elements>());
    Names mode_names = taken_;
    pass(mode_, lists.composite, mode_names);
    pass(mode_, lists.views, mode_names);
    Names below_names = taken_;
    pass(below_, lists.views, below_names);
    for (const std::string& name : lists.explicit_composite)
      if (below_names.insert(name).second)
        below_.impl(
            name.c_str(),
            torch::CppFunction::makeFromBoxedFunction<&pending_barrier>());
    for (const std::string& name : lists.other_composite)
      composite_.impl(
          name.c_str(),
          torch::CppFunction::makeFromBoxedFunction<&composite_barrier>());
    all_composite_.fallback(torch::CppFunction::makeFallthrough());
    all_mode_.fallback(
        torch::CppFunction::makeFromBoxedFunction<&mode_barrier>());
    all_below_.fallback(
        torch::CppFunction::makeFromBoxedFunction<&pending_barrier>());
  }

 private:
  using Names = std::unordered_set<std::string>;

  static torch::Library library(const char* space, DispatchKey key) {
    return {torch::Library::IMPL, space, key, __FILE__, __LINE__};
  }

  void take_operators() {
    Names with_kernel;
    for (std::string& name : register_kernels(mode_))
      with_kernel.insert(std::move(name));
    for (const c10::OperatorName& name :
         c10::Dispatcher::singleton().getAllOpNames()) {
      if (!name.name.starts_with("aten::")) continue;
      auto taker = taker_for(name);
      if (taker == nullptr) continue;
      const std::string text = short_name(name);
      if (!with_kernel.contains(text))
        mode_.impl(text.c_str(), boxed(std::make_unique<ModeKernel>(
                                     taker, text == "_to_copy")));
      below_.impl(text.c_str(), boxed(std::make_unique<PendingKernel>(taker)));
      taken_.insert(text);
    }
  }

  /// `known`: the operators that the library has a kernel for.
  static void pass(torch::Library& library,
                   const std::vector<std::string>& names, Names& known) {
    for (const std::string& name : names)
      if (known.insert(name).second)
        library.impl(name.c_str(), torch::CppFunction::makeFallthrough());
  }

  torch::Library mode_ = library("aten", kModeKey);
  torch::Library below_ = library("aten", kPendingKey);
  torch::Library composite_ = library("aten", kCompositeKey);
  torch::Library all_composite_ = library("_", kCompositeKey);
  torch::Library all_mode_ = library("_", kModeKey);
  torch::Library all_below_ = library("_", kPendingKey);
  Names taken_;
};

}  // namespace

void register_operators(const OperatorLists& lists) {
  static const Registration registration(lists);
  register_slab_operators();
}

}  // namespace gpuos::bridge
