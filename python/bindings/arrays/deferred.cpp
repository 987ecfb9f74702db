#include "arrays/deferred.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "arrays/deferred_operation.h"
#include "convert/native.h"
#include "gpuos/error.h"
#include "module/without_gil.h"
#include "runtime/runtime_object.h"

namespace py = pybind11;

namespace gpuos::python {

// Collects the inputs and outputs of one submission of some operations.
class DeferredOperations::Gathered {
 public:
  explicit Gathered(Group group) : is_alone_(group.size() == 1) {
    const std::size_t last = group.back()->place;
    words.reserve(4 * group.size());
    inputs.reserve(2 * group.size());
    sources_.reserve(2 * group.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
      DeferredOperation& operation = *group[i];
      operation.in_group = i;
      words.push_back(
          reinterpret_cast<std::uintptr_t>(operation.program.plan().get()));
      for (const DeferredOperand& operand : operation.operands)
        words.push_back(word_of(operand));
      const bool is_output =
          operation.result != nullptr || operation.last_user > last;
      words.push_back(is_output ? kOutput : kNoOutput);
      if (is_output) outputs.push_back(&operation);
      scalars.insert(scalars.end(), operation.scalars.begin(),
                     operation.scalars.end());
    }
  }

  /// Returns whether an operand is a result of this group. number_of() returns
  /// its number there or among the inputs.
  static bool is_inside(std::uint64_t word) { return (word & kInside) != 0; }
  static std::size_t number_of(std::uint64_t word) { return word & ~kInside; }

  Words words;
  std::vector<TensorView> inputs;
  std::vector<Scalar> scalars;
  std::vector<DeferredOperation*> outputs;

 private:
  static constexpr std::uint64_t kInside = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kOutput = std::uint64_t{1} << 33;
  static constexpr std::uint64_t kNoOutput = std::uint64_t{1} << 34;

  std::uint64_t word_of(const DeferredOperand& operand) {
    const DeferredOperation* from = operand.operation.get();
    if (from != nullptr && !from->memory) return kInside | from->in_group;
    const void* source = from;
    if (from == nullptr) source = operand.array.ptr();
    const auto known = std::ranges::find(sources_, source);
    const auto number = static_cast<std::uint64_t>(known - sources_.begin());
    if (known == sources_.end() || is_alone_) {
      sources_.push_back(source);
      inputs.push_back(from != nullptr ? *from->memory
                                       : operand.memory->view());
    }
    return number;
  }

  bool is_alone_;  // its program has an input for each operand
  std::vector<const void*> sources_;
};

namespace {

// Returns how many arguments this operation adds to a task.
std::size_t arguments_of(const DeferredOperation& operation,
                         std::vector<const void*>& known) {
  std::size_t count = operation.scalars.size();
  if (operation.result != nullptr) ++count;
  for (const DeferredOperand& operand : operation.operands) {
    const void* source = operand.operation.get();
    if (source == nullptr) source = operand.array.ptr();
    if (std::ranges::find(known, source) != known.end()) continue;
    known.push_back(source);
    ++count;
  }
  known.push_back(&operation);
  return count;
}

}  // namespace

std::size_t DeferredOperations::HashOfWords::operator()(
    const Words& words) const noexcept {
  std::uint64_t hash = words.size();
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return hash;
}

void DeferredOperations::remove(const DeferredOperation& operation) noexcept {
  // The newest operation is usually removed first.
  const auto found = std::find(waiting_.rbegin(), waiting_.rend(), &operation);
  if (found == waiting_.rend()) return;
  waiting_.erase(std::next(found).base());
  bytes_ -= operation.bytes;
}

py::object DeferredOperations::defer(const TracedFunction& traced,
                                     const TensorView& form,
                                     std::span<PyObject* const> arrays,
                                     std::span<const Scalar> scalars) {
  auto operation = std::make_shared<DeferredOperation>(
      *this, traced.program(), traced.function()->result, form);
  py::object made = Array::make_deferred(runtime_, operation);
  // After this loop ends, this function keeps the GIL.
  wait_for_other_thread();
  const std::size_t most = runtime_.core().options().pending_bytes / 2;
  while (waiting_.size() >= kMostOperations || bytes_ > most) {
    const std::size_t before = waiting_.size();
    run();
    wait_for_other_thread();
    if (waiting_.size() >= before) break;  // there is no memory, even for that
  }
  operation->scalars.assign(scalars.begin(), scalars.end());
  operation->operands.reserve(arrays.size());
  for (PyObject* object : arrays) {
    Array& array = *native<Array>(object);
    const auto& before = array.operation();
    if (before != nullptr && before->failure == nullptr) {
      operation->operands.emplace_back().operation = before;
      continue;
    }
    DeferredOperand& operand = operation->operands.emplace_back();
    operand.array = py::reinterpret_borrow<py::object>(object);
    operand.memory.emplace(array);
    operation->bytes += array.bytes();
  }
  waiting_.push_back(operation.get());
  bytes_ += operation->bytes;
  return made;
}

void DeferredOperations::wait_for_other_thread() const {
  while (is_running_ && runner_ != std::this_thread::get_id()) {
    const WithoutGil no_gil;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void DeferredOperations::run() noexcept {
  wait_for_other_thread();
  if (waiting_.empty() || is_running_) return;
  Operations operations;
  try {
    operations.reserve(waiting_.size());
    for (DeferredOperation* operation : waiting_) {
      operations.push_back(operation->shared_from_this());
      // Another thread may release the result meanwhile.
      operation->keeper = operation->held_result();
    }
  } catch (const std::bad_alloc&) {
    return;  // the operations stay deferred, and Array reports the error
  }
  is_running_ = true;
  runner_ = std::this_thread::get_id();
  try {
    run_all(operations);
  } catch (const std::bad_alloc&) {
    for (const auto& operation : operations)
      if (!operation->memory) operation->failure = std::current_exception();
  }
  for (const auto& operation : operations) {
    remove(*operation);
    PyObject* const kept = operation->keeper.ptr();
    if (kept != nullptr && operation->result != nullptr &&
        operation->failure == nullptr)
      native<Array>(kept)->set_computed();
  }
  is_running_ = false;
  // Releasing arrays lets other threads run, and they find all work done.
  for (const auto& operation : operations) {
    if (operation->failure != nullptr) operation->operands.clear();
    operation->keeper = py::object();
  }
}

void DeferredOperations::run_all(const Operations& operations) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    operations[i]->place = operations[i]->connected = i;
    for (const DeferredOperand& operand : operations[i]->operands) {
      if (operand.operation == nullptr) continue;
      operand.operation->last_user = i;
      const std::size_t other = operand.operation->connected;
      const std::size_t joined = operations[i]->connected;
      for (std::size_t k = 0; k <= i; ++k)
        if (operations[k]->connected == other)
          operations[k]->connected = joined;
    }
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    Operations group;
    group.reserve(operations.size());
    for (const auto& operation : operations)
      if (operation->connected == i) group.push_back(operation);
    if (!group.empty()) run_connected(group);
  }
}

void DeferredOperations::run_connected(Group group) {
  std::size_t first = 0;
  std::size_t count = 0;
  std::vector<const void*> known;
  known.reserve(2 * group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    std::size_t more = arguments_of(*group[i], known);
    if (i > first && count + more > kMostArguments) {
      run_group(group.subspan(first, i - first));
      first = i;
      count = 0;
      known.clear();
      more = arguments_of(*group[i], known);
    }
    count += more;
  }
  run_group(group.subspan(first));
}

void DeferredOperations::run_group(Group group) {
  try {
    for (const auto& operation : group) {
      for (const DeferredOperand& operand : operation->operands) {
        if (operand.operation != nullptr && operand.operation->failure)
          std::rethrow_exception(operand.operation->failure);
      }
    }
    const Gathered gathered(group);
    if (group.size() == 1) {
      submit(group.front()->program, gathered);
      return;
    }
    if (const Combined& made = combined(group, gathered); made.program) {
      submit(*made.program, gathered);
      return;
    }
  } catch (...) {
    for (const auto& operation : group)
      operation->failure = std::current_exception();
    return;
  }
  for (std::size_t i = 0; i < group.size(); ++i) run_group(group.subspan(i, 1));
}

const DeferredOperations::Combined& DeferredOperations::combined(
    Group group, const Gathered& gathered) {
  if (const auto found = known_.find(gathered.words); found != known_.end())
    return found->second;
  ProgramBuilder builder;
  std::vector<Value> inputs;
  for (const TensorView& input : gathered.inputs)
    inputs.push_back(builder.input(input.dtype, input.dims));
  Combined made;
  for (const auto& operation : group) made.parts.push_back(operation->program);
  try {
    std::vector<Value> results;
    auto word = gathered.words.begin();
    for (const auto& operation : group) {
      std::vector<Value> operands;
      for (++word; operands.size() < operation->operands.size(); ++word) {
        const std::size_t number = Gathered::number_of(*word);
        operands.push_back(Gathered::is_inside(*word) ? results[number]
                                                      : inputs[number]);
      }
      ++word;
      results.push_back(builder.insert(operation->made, operands));
    }
    for (const DeferredOperation* output : gathered.outputs)
      builder.output(results[output->in_group]);
    made.program = builder.build();
  } catch (const InvalidArgument&) {  // NOLINT(bugprone-empty-catch)
    // A program cannot contain all of these, so each gets a program of its own.
  }
  if (known_.size() == kMostKnown) known_.clear();
  return known_.emplace(gathered.words, std::move(made)).first->second;
}

void DeferredOperations::submit(const Program& program,
                                const Gathered& gathered) {
  std::vector<TensorView> outputs;
  outputs.reserve(gathered.outputs.size());
  for (DeferredOperation* output : gathered.outputs) {
    if (output->keeper.ptr() != nullptr) {
      outputs.push_back(
          native<Array>(output->keeper.ptr())->memory_of_result());
      continue;
    }
    TensorView& view = outputs.emplace_back(output->form);
    const WithoutGil no_gil;
    output->own = runtime_.core().allocate(
        static_cast<std::size_t>(view.size()) * size_of(view.dtype));
    view.data = output->own.get();
  }
  {
    const WithoutGil no_gil;
    runtime_.core().submit(program, gathered.inputs, outputs, gathered.scalars,
                           Stream{});
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    gathered.outputs[i]->memory = outputs[i];
}

}  // namespace gpuos::python
