#include "gpuos/lazy.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/word_hash.h"
#include "gpuos/error.h"
#include "requests/fused_requests.h"

namespace gpuos {
namespace {

LazyOperation& operation_of(const void* owner) noexcept {
  return *static_cast<LazyOperation*>(const_cast<void*>(owner));
}

std::size_t bytes_of(const TensorView& view) noexcept {
  return static_cast<std::size_t>(view.size()) * size_of(view.dtype);
}

bool is_timeout(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const Timeout&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

LazyOperation::~LazyOperation() { all_.remove(*this); }

Runtime& LazyOperation::runtime() const noexcept { return all_.runtime(); }

void* LazyOperation::place() {
  own_ = runtime().allocate(bytes_of(form_));
  return own_.get();
}

bool LazyOperations::is_full() const noexcept {
  return waiting_.size() >= kMost ||
         bytes_ > runtime_.options().pending_bytes / 2;
}

void LazyOperations::remove(const LazyOperation& operation) noexcept {
  // The newest operation is usually removed first.
  const auto found = std::find(waiting_.rbegin(), waiting_.rend(), &operation);
  if (found == waiting_.rend()) return;
  waiting_.erase(std::next(found).base());
  bytes_ -= operation.bytes_;
}

void LazyOperations::remove(const Operations& operations) noexcept {
  for (const auto& operation : operations) remove(*operation);
}

LazyOperations::Operations LazyOperations::take() {
  Operations operations;
  operations.reserve(waiting_.size());
  for (LazyOperation* operation : waiting_)
    // Null: it is being destroyed. Releasing an operand may run other code.
    if (auto held = operation->weak_from_this().lock())
      operations.push_back(std::move(held));
  return operations;
}

void LazyOperations::submit(const Operations& operations) noexcept {
  if (operations.size() == 1) {
    if (operations.front()->is_wanted()) run_alone(*operations.front());
    return;
  }
  has_failed_ = false;
  try {
    describe(operations);
    const auto known = plans_.find(words_);
    if (known == plans_.end()) {
      make_tasks(operations);
      if (!has_failed_) keep_plan();
    } else {
      for (const Task& task : known->second.tasks) run(task, operations);
    }
  } catch (...) {
    fail(operations, std::current_exception());
  }
  if (has_failed_) retry(operations);
}

void LazyOperations::fail(const Operations& operations,
                          const std::exception_ptr& error) noexcept {
  for (const auto& operation : operations)
    if (operation->memory_ == nullptr) fail(this, operation.get(), error);
}

// A task fails as a whole. Some of its results may be possible alone, except
// that no task got a place in time.
void LazyOperations::retry(const Operations& operations) noexcept {
  for (const auto& operation : operations) {
    if (operation->failure_ == nullptr || is_timeout(operation->failure_) ||
        !operation->is_wanted())
      continue;
    Operations own;
    try {
      add_missing(*operation, own);
      for (const auto& each : own) each->failure_ = nullptr;
      make_tasks(own);
    } catch (...) {
      fail(own, std::current_exception());
    }
  }
}

// A result without a holder may be large, so it gets no memory of its own.
void LazyOperations::add_missing(LazyOperation& operation, Operations& all) {
  const auto self = operation.shared_from_this();
  if (std::ranges::find(all, self) != all.end()) return;
  for (const LazyOperation::Operand& operand : operation.operands())
    if (operand.operation != nullptr && operand.operation->memory_ == nullptr)
      add_missing(*operand.operation, all);
  all.push_back(self);
}

// ---- Operations as words: all that decides their tasks.

std::size_t LazyOperations::HashOfWords::operator()(
    const Words& words) const noexcept {
  return hash_of(words);
}

void LazyOperations::describe(const Operations& operations) {
  constexpr std::uint64_t kResult = std::uint64_t{1} << 32;
  words_.clear();
  inputs_.clear();
  std::uint32_t index = 0;
  for (const auto& operation : operations) {
    operation->index_ = index++;
    // An address is even.
    words_.push_back(
        reinterpret_cast<std::uintptr_t>(operation->function_.get()) |
        (operation->is_wanted() ? 1 : 0));
    for (const LazyOperation::Operand& operand : operation->operands())
      words_.push_back(operand.operation != nullptr
                           ? kResult | operand.operation->index_
                           : index_of_input(*operand.view));
  }
}

// One array is one input of a task.
std::uint32_t LazyOperations::index_of_input(const TensorView& view) {
  std::uint32_t index = 0;
  for (const TensorView* known : inputs_) {
    if (known == &view || requests::is_same_array(*known, view)) return index;
    ++index;
  }
  inputs_.push_back(&view);
  return index;
}

// ---- Tasks that are known

// Throws: the reason why an input was not computed.
void LazyOperations::take_inputs(const Task& task,
                                 const Operations& operations) {
  in_.clear();
  for (const Source& source : task.inputs) {
    if (!source.is_result) {
      in_.push_back(*inputs_[source.index]);
      continue;
    }
    const LazyOperation& made = *operations[source.index];
    if (made.memory_ == nullptr) std::rethrow_exception(made.failure_);
    in_.emplace_back(made.form_).data = made.memory_;
  }
}

void LazyOperations::run(const Task& task,
                         const Operations& operations) noexcept {
  try {
    take_inputs(task, operations);
    scalars_.clear();
    for (const std::uint32_t index : task.operations) {
      const std::vector<Scalar>& own = operations[index]->scalars_;
      scalars_.insert(scalars_.end(), own.begin(), own.end());
    }
    out_.clear();
    for (const std::uint32_t index : task.outputs)
      out_.emplace_back(operations[index]->form_).data =
          operations[index]->place();
    runtime_.submit(task.program, in_, out_, scalars_);
    for (std::size_t i = 0; i < out_.size(); ++i)
      operations[task.outputs[i]]->memory_ = out_[i].data;
  } catch (...) {
    for (const std::uint32_t index : task.operations)
      fail(this, operations[index].get(), std::current_exception());
  }
}

void LazyOperations::run_alone(LazyOperation& operation) noexcept {
  try {
    in_.clear();
    for (const LazyOperation::Operand& operand : operation.operands()) {
      if (operand.operation == nullptr) {
        in_.push_back(*operand.view);
        continue;
      }
      const LazyOperation& made = *operand.operation;
      if (made.memory_ == nullptr) return fail(this, &operation, nullptr);
      in_.emplace_back(made.form_).data = made.memory_;
    }
    TensorView out = operation.form_;
    out.data = operation.place();
    runtime_.submit(operation.function_->program, in_, {&out, 1},
                    operation.scalars_);
    operation.memory_ = out.data;
  } catch (...) {
    fail(this, &operation, std::current_exception());
  }
}

// ---- Tasks that a RequestRunner makes

void LazyOperations::make_tasks(const Operations& operations) {
  requests_.clear();
  views_.clear();
  made_ = {};
  for (const auto& operation : operations) {
    add_request(*operation);
    made_.functions.push_back(operation->function_);
  }
  if (!runner_) runner_.emplace(runtime_);
  runner_->run(requests_, views_, {is_needed, this, place, fail, note}, {},
               /*owners_lie_apart=*/true);
}

void LazyOperations::keep_plan() {
  if (plans_.size() == kMostPlans) plans_.clear();
  plans_.emplace(words_, std::move(made_));
}

void LazyOperations::note(void* context, const Program& program,
                          std::span<const void* const> owners,
                          std::span<const TensorView> inputs,
                          std::span<const TensorView> outputs) {
  LazyOperations& all = *static_cast<LazyOperations*>(context);
  Task& task = all.made_.tasks.emplace_back(program);
  for (const void* owner : owners)
    task.operations.push_back(operation_of(owner).index_);
  const auto maker_of = [&](const TensorView& view) {
    const auto found =
        std::ranges::find_if(all.requests_, [&](const Request& request) {
          return operation_of(request.out_owner).memory_ == view.data;
        });
    return static_cast<std::uint32_t>(found - all.requests_.begin());
  };
  for (const TensorView& view : inputs) {
    const std::uint32_t maker = maker_of(view);
    const bool is_result = maker != all.requests_.size();
    task.inputs.push_back(
        {is_result, is_result ? maker : all.index_of_input(view)});
  }
  for (const TensorView& view : outputs) task.outputs.push_back(maker_of(view));
}

void LazyOperations::add_request(const LazyOperation& operation) {
  Request& request = requests_.emplace_back();
  request.function = operation.function_.get();
  request.is_fresh = true;
  request.out_dtype = operation.form_.dtype;
  request.elems = static_cast<std::uint64_t>(operation.form_.size());
  request.out_owner = &operation;
  request.views = static_cast<std::uint32_t>(views_.size());
  views_.push_back(operation.form_);
  for (const LazyOperation::Operand& operand : operation.operands()) {
    const std::size_t i = request.operands++;
    const LazyOperation* const made = operand.operation.get();
    const TensorView& view = made != nullptr ? made->form_ : *operand.view;
    const void* const data = made != nullptr ? made->memory_ : view.data;
    request.dtypes[i] = view.dtype;
    request.owners[i] = data;
    request.values[i] = reinterpret_cast<std::uint64_t>(data);
    if (data == nullptr) request.owners[i] = made;
    views_.push_back(view);
  }
  for (const Scalar& scalar : operation.scalars_) {
    const std::size_t i = request.operands++;
    request.numbers |= static_cast<std::uint8_t>(1 << i);
    request.values[i] = reinterpret_cast<std::uint64_t>(&scalar);
  }
}

bool LazyOperations::is_needed(void* /*context*/, const void* owner,
                               std::uint32_t /*uses*/) {
  return operation_of(owner).is_wanted();
}

void* LazyOperations::place(void* /*context*/, const void* owner) {
  LazyOperation& operation = operation_of(owner);
  return operation.memory_ = operation.place();
}

// An operand has the error if `error` is null.
void LazyOperations::fail(void* context, const void* owner,
                          const std::exception_ptr& error) noexcept {
  LazyOperation& operation = operation_of(owner);
  static_cast<LazyOperations*>(context)->has_failed_ = true;
  operation.memory_ = nullptr;
  if (operation.failure_ != nullptr) return;
  operation.failure_ = error;
  for (const LazyOperation::Operand& operand : operation.operands())
    if (operation.failure_ == nullptr && operand.operation != nullptr)
      operation.failure_ = operand.operation->failure_;
}

}  // namespace gpuos
