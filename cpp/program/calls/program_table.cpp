#include "program/calls/program_table.h"

#include <algorithm>
#include <chrono>

#include "base/concat.h"
#include "gpuos/error.h"
#include "program/calls/call_checks.h"

namespace gpuos {
namespace {

using program::Plan;

/// A wait for an earlier part of the same program, which makes progress.
constexpr std::chrono::seconds kJoinTimeout{60};

std::uint64_t address_of(const void* data) {
  return reinterpret_cast<std::uint64_t>(data);
}

struct CallArguments {
  const program::CallViews& views;
  std::span<const Scalar> scalars;
  std::span<const std::uint64_t> temporaries;  // addresses

  std::uint64_t address(const program::Buffer& buffer) const {
    switch (buffer.kind) {
      case program::Buffer::Kind::Input:
        return address_of(views.inputs[buffer.index].data);
      case program::Buffer::Kind::Output:
        return address_of(views.outputs[buffer.index].data);
      default:
        return temporaries[buffer.index];
    }
  }
};

void write_task(const program::PreparedPass& pass,
                const program::TaskModel& model, const CallArguments& arguments,
                Call& call) {
  call.named = call.op = pass.code->tier->record.get();
  call.dtype = static_cast<DType>(0);
  call.count = model.count;
  call.tiles = model.tiles;
  call.arg_count = model.arg_count;
  call.access_count = 0;
  std::copy_n(model.args.begin(), model.arg_count, call.args.begin());
  std::size_t arg = program::TaskModel::kAddresses;
  for (const program::PreparedAccess& access : pass.accesses) {
    const std::uint64_t address = arguments.address(access.buffer);
    call.args[arg++] += address;
    if (access.extent.is_empty()) continue;
    call.accesses[call.access_count++] = {address + access.extent.low,
                                          address + access.extent.high,
                                          access.writes};
  }
  for (const program::PreparedScalar& scalar : pass.scalars)
    call.args[scalar.arg] = program::scalar_bits(
        arguments.scalars[scalar.argument], scalar.dtype, scalar.is_imaginary);
}

/// The only task of a call. Null if the call has several, or needs memory.
const program::TaskModel* only_task(const program::Prepared& prepared,
                                    program::Load load) {
  if (prepared.needs_memory[load] || prepared.passes.size() != 1)
    return nullptr;
  const auto& tasks = prepared.passes[0].tasks[load];
  return tasks.size() == 1 ? tasks.data() : nullptr;
}

/// Only a named stream can be captured into a graph. Asking each time takes
/// long.
void note_stream(program::PassCode& code, const Stream& stream) {
  if (stream.is_named)
    code.may_be_captured.store(true, std::memory_order_relaxed);
}

/// Says in `call` where the pass' text is.
void use_text(program::PreparedCalls::Taken& prepared,
              const program::PreparedPass& pass, bool is_read_again,
              const Stream& stream, Call& call) {
  note_stream(*pass.code, stream);
  call.args[program::TaskModel::kText] = prepared.use_text(pass, is_read_again);
}

}  // namespace

struct ProgramTable::Task {
  Task() {}  // leaves what the call does not use unwritten

  Call call;
  Work work;
};

struct ProgramTable::ProgramCall {
  ProgramCall(const std::shared_ptr<const Plan>& of,
              const program::CallViews& call, std::span<const Scalar> numbers,
              const Stream& where, const Allocate& memory_of)
      : plan(of),
        views(call),
        scalars(numbers),
        stream(where),
        allocate(memory_of) {}

  const std::shared_ptr<const Plan>& plan;
  const program::CallViews& views;
  std::span<const Scalar> scalars;
  const Stream& stream;
  const Allocate& allocate;
  bool is_captured = false;
  program::Load load = program::Load::Busy;
  std::vector<std::uint64_t> temporaries;       // addresses
  std::vector<program::Scratch::Lease> leases;  // until all is submitted
  std::vector<std::shared_ptr<void>> memory;    // freed after the tasks
  std::vector<Task> tasks;
};

ProgramTable::ProgramTable(Backend& backend, Submitter& submitter,
                           program::Tiers& tiers, FreeLater free_later)
    : backend_(backend),
      submitter_(submitter),
      tiers_(tiers),
      prepared_(
          backend, std::move(free_later),
          [&tiers](const program::Tier& tier) { tiers.unload(tier); },
          [&tiers] { return tiers.compiled(); }),
      scratch_(backend) {
  any_.name = "program";
}

Ticket ProgramTable::join(const Ticket& first, const Ticket& second) {
  if (first.begin == first.end) return second;
  if (second.begin == second.end) return first;
  if (first.ring == second.ring)
    return {.begin = std::min(first.begin, second.begin),
            .end = std::max(first.end, second.end),
            .ring = first.ring,
            .member = Ticket::kAllBefore,
            .runtime = first.runtime};
  const BatchRef batch{first.ring, first.begin, nullptr};
  submitter_.ensure_running(batch);
  if (!submitter_.wait(batch, first.end,
                       std::chrono::steady_clock::now() + kJoinTimeout))
    throw Timeout("program: its first part did not finish within 60 s");
  return second;
}

Ticket ProgramTable::submit(const std::shared_ptr<const Plan>& plan,
                            const program::CallViews& views,
                            const std::span<const Scalar>& scalars,
                            const Stream& stream, const Allocate& allocate) {
  if (plan == nullptr)
    throw InvalidArgument("submit: expected a built program, got an empty one");
  program::check_scalars(*plan, scalars);
  Task single;
  if (write_ready(plan, views, scalars, stream, single.call, single.work))
    return submit_task(single, stream);
  ProgramCall program_call(plan, views, scalars, stream, allocate);
  write_tasks(program_call);
  Ticket ticket{.runtime = submitter_.runtime_id()};
  for (Task& task : program_call.tasks)
    ticket = join(ticket, submit_task(task, stream));
  return ticket;
}

bool ProgramTable::try_submit(const std::shared_ptr<const Plan>& plan,
                              const program::CallViews& views,
                              const std::span<const Scalar>& scalars,
                              const Stream& stream, Ticket& ticket) {
  program::check_scalars(*plan, scalars);
  Task single;
  if (!write_ready(plan, views, scalars, stream, single.call, single.work) ||
      !submitter_.try_submit(single.call, stream, ticket))
    return false;
  count(single.work);
  return true;
}

Ticket ProgramTable::submit_many(const std::shared_ptr<const Plan>& plan,
                                 const ManyTasks& many, const Stream& stream) {
  ManyCall call;
  Work work;
  if (!write_many(plan, many, stream, call, work))
    return {.runtime = submitter_.runtime_id()};
  const Ticket ticket = submitter_.submit_many(call, many, stream);
  count(work);
  return ticket;
}

bool ProgramTable::write_many(const std::shared_ptr<const Plan>& plan,
                              const ManyTasks& many, const Stream& stream,
                              ManyCall& call, Work& work) {
  const std::int64_t elems = largest_of(any_, many);
  if (many.tasks == 0 || elems == 0) return false;
  const auto first_of = [&](const Column& column) {
    return TensorView(reinterpret_cast<void*>(column.at(0)), elems, many.dtype);
  };
  std::vector<TensorView> inputs;
  for (const Column& column : many.inputs) inputs.push_back(first_of(column));
  const TensorView out = first_of(many.out);
  // An expression without inputs has its output here.
  if (inputs.size() < plan->inputs.size()) inputs.push_back(out);
  const program::CallViews views{inputs, {&out, 1}};
  const auto changing = prepared_.changing();
  program::PreparedCalls::Taken prepared(prepared_, plan, views);
  const program::TaskModel* const task = only_task(*prepared, load());
  if (task == nullptr || prepared->passes[0].pass->has_reduction)
    throw InvalidArgument(
        concat("submit_many: expected an elementwise operator whose output, "
               "inputs and parameters are at most ",
               program::kMaxPassArguments, ", the limit of one task"));
  const program::PreparedPass& pass = prepared->passes[0];
  write_task(pass, *task, {views, many.params, {}}, call);
  use_text(prepared, pass, true, stream, call);
  call.access_count = 0;
  std::size_t arg = program::TaskModel::kAddresses;
  for (const program::PreparedAccess& access : pass.accesses)
    add_column(call, any_, arg++,
               access.writes ? many.out : many.inputs[access.buffer.index],
               many);
  add_one(calls_);
  work = {&plan, pass.code, pass.elements * many.tasks};
  return true;
}

void ProgramTable::count(const Work& work) {
  if (work.elements != 0)
    tiers_.count_call(*work.plan, work.code->tier, work.elements);
}

Ticket ProgramTable::submit_task(Task& task, const Stream& stream) {
  const Ticket ticket = submitter_.submit(task.call, stream);
  count(task.work);
  return ticket;
}

bool ProgramTable::compile(const std::shared_ptr<const Plan>& plan,
                           Deadline deadline) {
  if (plan == nullptr)
    throw InvalidArgument(
        "compile: expected a built program, got an empty one");
  const std::vector<program::PassCode*> codes = prepared_.codes_of(plan);
  for (const program::PassCode* code : codes)
    tiers_.promote_awaited(plan, code->tier);
  for (const program::PassCode* code : codes)
    if (!tiers_.wait(*code->tier, deadline)) return false;
  return true;
}

void ProgramTable::write_tasks(ProgramCall& program_call) {
  const auto changing = prepared_.changing();
  program::PreparedCalls::Taken prepared(prepared_, program_call.plan,
                                         program_call.views);
  program_call.load = load();
  program_call.is_captured = backend_.captures(program_call.stream);
  if (prepared->needs_memory[program_call.load])
    take_memory(*prepared, program_call);
  for (const program::PreparedPass& pass : prepared->passes) {
    for (const program::TaskModel& model : pass.tasks[program_call.load])
      add_task(prepared, pass, model, program_call);
  }
  add_one(calls_);
}

void ProgramTable::add_task(program::PreparedCalls::Taken& prepared,
                            const program::PreparedPass& pass,
                            const program::TaskModel& model,
                            ProgramCall& program_call) {
  Task& task = program_call.tasks.emplace_back();
  task.work = {&program_call.plan, pass.code, 0};
  if (&model == &pass.tasks[program_call.load].back())
    task.work.elements = pass.elements;
  write_task(
      pass, model,
      {program_call.views, program_call.scalars, program_call.temporaries},
      task.call);
  use_text(prepared, pass, program_call.is_captured, program_call.stream,
           task.call);
  if (model.gathered.counters != 0)
    add_gathered(model, program_call, task.call);
}

bool ProgramTable::write_ready(const std::shared_ptr<const Plan>& plan,
                               const program::CallViews& views,
                               const std::span<const Scalar>& scalars,
                               const Stream& stream, Call& call, Work& work) {
  const program::Load load = this->load();
  const auto lock = prepared_.lock();
  const program::Prepared* const prepared = prepared_.find(plan, views);
  if (prepared == nullptr) return false;
  const program::TaskModel* const task = only_task(*prepared, load);
  if (task == nullptr) return false;
  const program::PreparedPass& pass = prepared->passes[0];
  // A shared text is copied before it is read once more.
  if (pass.code->text.shared_bytes != 0) return false;
  write_task(pass, *task, {views, scalars, {}}, call);
  call.args[program::TaskModel::kText] = pass.code->text.address;
  note_stream(*pass.code, stream);
  add_one(ready_calls_);
  work = {&plan, pass.code, pass.elements};
  return true;
}

bool ProgramTable::write_call(const std::shared_ptr<const Plan>& plan,
                              std::span<const TensorView> inputs,
                              std::span<const TensorView> outputs,
                              std::span<const Scalar> scalars,
                              const Stream& stream, Call& call) {
  program::check_scalars(*plan, scalars);
  Work work;
  if (!write_ready(plan, {inputs, outputs}, scalars, stream, call, work) &&
      !write_single(plan, {inputs, outputs}, scalars, stream, call, work))
    return false;
  count(work);
  return true;
}

bool ProgramTable::write_single(const std::shared_ptr<const Plan>& plan,
                                const program::CallViews& views,
                                std::span<const Scalar> scalars,
                                const Stream& stream, Call& call, Work& work) {
  const auto changing = prepared_.changing();
  program::PreparedCalls::Taken prepared(prepared_, plan, views);
  const program::TaskModel* const task = only_task(*prepared, load());
  if (task == nullptr) return false;
  const program::PreparedPass& pass = prepared->passes[0];
  write_task(pass, *task, {views, scalars, {}}, call);
  use_text(prepared, pass, backend_.captures(stream), stream, call);
  add_one(calls_);
  work = {&plan, pass.code, pass.elements};
  return true;
}

void ProgramTable::take_memory(const program::Prepared& prepared,
                               ProgramCall& program_call) {
  auto& tables = program_call.is_captured ? kept_ : program_call.memory;
  tables.insert(tables.end(), prepared.tables.begin(), prepared.tables.end());
  for (const TensorView& view : prepared.temporaries) {
    const auto elems = static_cast<std::size_t>(view.size());
    program_call.temporaries.push_back(
        take_block(0, elems * size_of(view.dtype), program_call));
  }
}

std::uint64_t ProgramTable::take_block(std::size_t counters, std::size_t bytes,
                                       ProgramCall& program_call) {
  if (program_call.is_captured) return scratch_.keep(bytes);
  const bool has_counters = counters <= program::Scratch::kCounters;
  if (auto lease = scratch_.take(has_counters ? bytes : ~std::size_t{0},
                                 program_call.load == program::Load::Idle);
      !lease.is_empty()) {
    program_call.leases.push_back(std::move(lease));
    return program_call.leases.back().address();
  }
  const std::vector<std::uint32_t> zeros(counters);
  const std::size_t before = zeros.size() * sizeof(zeros[0]);
  program_call.memory.push_back(program_call.allocate(before + bytes));
  void* const memory = program_call.memory.back().get();
  if (before != 0) backend_.copy_to_device(memory, zeros.data(), before);
  return address_of(memory) + before;
}

void ProgramTable::add_gathered(const program::TaskModel& model,
                                ProgramCall& program_call, Call& call) {
  const auto& [counters, bytes] = model.gathered;
  const std::uint64_t values = take_block(counters, bytes, program_call);
  const std::uint64_t first = values - 4 * std::uint64_t{counters};
  call.args[model.gathered_arg] = first;
  // The next user of the block comes after this task.
  call.accesses[call.access_count++] = {first, values + bytes, true};
}

}  // namespace gpuos
