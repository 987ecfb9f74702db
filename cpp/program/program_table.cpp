#include "program/program_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <unordered_set>

#include "base/concat.h"
#include "gpuos/error.h"
#include "program/call_checks.h"

namespace gpuos {
namespace {

using program::Pass;
using program::Plan;

/// A wait for an earlier part of the same program, which makes progress.
constexpr std::chrono::seconds kJoinTimeout{60};

std::uint64_t address_of(const void* data) {
  return reinterpret_cast<std::uint64_t>(data);
}

/// The arguments of one call.
struct Arguments {
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
                const program::TaskModel& model, const Arguments& arguments,
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
    call.args[scalar.arg] =
        program::scalar_bits(arguments.scalars[scalar.argument], scalar.dtype);
}

}  // namespace

struct ProgramTable::Task {
  Task() {}  // leaves what the call does not use unwritten

  Call call;
  Work work;
};

/// One call of a program.
struct ProgramTable::Submission {
  Submission(const std::shared_ptr<const Plan>& of,
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
  bool is_idle = false;                         // nothing else is pending
  std::vector<std::uint64_t> temporaries;       // addresses
  std::vector<program::Scratch::Lease> leases;  // until all is submitted
  std::vector<std::shared_ptr<void>> memory;    // freed behind the tasks
  std::vector<Task> tasks;
};

ProgramTable::ProgramTable(Backend& backend, Submitter& submitter,
                           program::Tiers& tiers, FreeLater free_later)
    : backend_(backend),
      submitter_(submitter),
      tiers_(tiers),
      workers_(backend.workers()),
      free_later_(std::move(free_later)),
      texts_(backend, backend.shared_words(), free_later_),
      scratch_(backend) {
  any_.name = "program";
}

void ProgramTable::make_deterministic() {
  const std::lock_guard lock(mutex_);
  if (workers_.lanes == 1 || workers_.are_deterministic) return;
  workers_.are_deterministic = true;
  newest_ = {};
  entries_.clear();
}

program::PassCode* ProgramTable::code_for(const Pass& pass) {
  const bool is_ordered = workers_.are_deterministic && pass.has_reduction;
  const std::string key =
      is_ordered ? concat("ordered ", pass.structure) : pass.structure;
  const auto at = codes_.find(key);
  if (at != codes_.end()) {
    at->second->turn = turn_;
    return at->second.get();
  }
  auto code = std::make_unique<program::PassCode>();
  code->cells = std::bit_cast<program::TextHeader>(pass.text[0]).cells;
  code->text = texts_.add(pass.text);
  code->tier = std::make_shared<program::Tier>();
  code->tier->pass = pass;
  code->tier->is_ordered = is_ordered;
  code->tier->record = std::make_shared<OperatorRecord>();
  code->tier->record->name = "program";
  code->tier->record->slots[0] = kInterpreterSlot;
  code->turn = turn_;
  return codes_.emplace(key, std::move(code)).first->second.get();
}

void ProgramTable::forget_codes() {
  if (codes_.size() < forget_at_) return;
  std::unordered_set<const program::PassCode*> used;
  for (const auto& [plan, entry] : entries_) {
    used.insert(entry.codes.fused.begin(), entry.codes.fused.end());
    used.insert(entry.codes.split.begin(), entry.codes.split.end());
  }
  std::erase_if(codes_, [&](const auto& item) {
    const program::PassCode& code = *item.second;
    const auto state = code.tier->state.load();
    const bool is_interpreted = state == program::Tier::State::Interpreted ||
                                state == program::Tier::State::Failed;
    return code.turn != turn_ && is_interpreted && !code.may_be_captured &&
           !used.contains(&code);
  });
  ++turn_;
  forget_at_ = std::max(kLeastCodes, 2 * codes_.size());
}

ProgramTable::Entry& ProgramTable::find(
    const std::shared_ptr<const Plan>& plan) {
  if (newest_.first == plan.get() && !newest_.second->plan.expired())
    return *newest_.second;
  const auto at = entries_.find(plan.get());
  if (at != entries_.end() && !at->second.plan.expired()) {
    newest_ = {plan.get(), &at->second};
    return at->second;
  }
  newest_ = {};
  std::erase_if(entries_,
                [](const auto& entry) { return entry.second.plan.expired(); });
  forget_codes();
  program::PlanCode codes;
  for (const Pass& pass : plan->fused.passes)
    codes.fused.push_back(code_for(pass));
  for (const Pass& pass : plan->split.passes)
    codes.split.push_back(code_for(pass));
  Entry& entry = entries_[plan.get()];
  entry.plan = plan;
  entry.codes = std::move(codes);
  return entry;
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

const program::Prepared& ProgramTable::prepare(
    const std::shared_ptr<const Plan>& plan, const program::CallViews& views) {
  program::Workers workers = workers_;
  // One lane does all elements of its tile, whoever waits.
  if (workers.lanes > 1) {
    workers.are_idle = submitter_.is_idle();
    workers.have_backlog = submitter_.has_backlog();
  }
  Entry& entry = find(plan);
  const std::int64_t glance = program::glance_at(views);
  for (const auto& known : entry.prepared) {
    if (known == nullptr || known->glance != glance ||
        !known->fits(views, workers))
      continue;
    program::check_addresses(*known, views);
    return *known;
  }
  auto& oldest = entry.prepared[entry.next];
  if (++entry.next == entry.prepared.size()) entry.next = 0;
  if (oldest == nullptr) oldest = std::make_unique<program::Prepared>();
  if (program::resize(views, workers, *oldest)) return *oldest;
  program::check_arrays(*plan, views);
  program::prepare(
      *plan, entry.codes, views, workers,
      [this](std::span<const std::uint64_t> table) { return keep(table); },
      *oldest);
  return *oldest;
}

std::shared_ptr<void> ProgramTable::keep(std::span<const std::uint64_t> table) {
  std::shared_ptr<void> memory(backend_.allocate(table.size_bytes()),
                               free_later_);
  backend_.copy_to_device(memory.get(), table.data(), table.size_bytes());
  return memory;
}

Ticket ProgramTable::submit(const std::shared_ptr<const Plan>& plan,
                            const program::CallViews& views,
                            const std::span<const Scalar>& scalars,
                            const Stream& stream, const Allocate& allocate) {
  if (plan == nullptr)
    throw InvalidArgument("submit: expected a built program, got an empty one");
  program::check_scalars(*plan, scalars);
  Task single;
  if (write_single(plan, views, scalars, stream, single.call, single.work))
    return submit_task(single, stream);
  Submission submission(plan, views, scalars, stream, allocate);
  write_tasks(submission);
  Ticket ticket{.runtime = submitter_.runtime_id()};
  for (Task& task : submission.tasks)
    ticket = join(ticket, submit_task(task, stream));
  return ticket;
}

bool ProgramTable::try_submit(const std::shared_ptr<const Plan>& plan,
                              const program::CallViews& views,
                              const std::span<const Scalar>& scalars,
                              const Stream& stream, Ticket& ticket) {
  program::check_scalars(*plan, scalars);
  Task single;
  if (!write_single(plan, views, scalars, stream, single.call, single.work) ||
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
  // Of an expression without inputs its output.
  if (inputs.size() < plan->inputs.size()) inputs.push_back(out);
  const program::CallViews views{inputs, {&out, 1}};
  const std::lock_guard lock(mutex_);
  const program::Prepared& prepared = prepare(plan, views);
  if (prepared.passes.size() != 1 || prepared.passes[0].pass->has_reduction ||
      prepared.passes[0].tasks.size() != 1)
    throw InvalidArgument("submit_many: expected an elementwise operator");
  const program::PreparedPass& pass = prepared.passes[0];
  write_task(pass, pass.tasks[0], {views, many.params, {}}, call);
  use_text(pass, stream, call, true);
  call.access_count = 0;
  std::size_t arg = program::TaskModel::kAddresses;
  for (const program::PreparedAccess& access : pass.accesses)
    add_column(call, any_, arg++,
               access.writes ? many.out : many.inputs[access.buffer.index],
               many);
  count_call();
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
  std::vector<program::PassCode*> codes;
  {
    const std::lock_guard lock(mutex_);
    const Entry& entry = find(plan);
    codes = entry.codes.fused;
    codes.insert(codes.end(), entry.codes.split.begin(),
                 entry.codes.split.end());
  }
  for (const program::PassCode* code : codes)
    tiers_.promote_awaited(plan, code->tier);
  for (const program::PassCode* code : codes)
    if (!tiers_.wait(*code->tier, deadline)) return false;
  return true;
}

std::uint64_t ProgramTable::programs() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint64_t>(std::count_if(
      entries_.begin(), entries_.end(),
      [](const auto& entry) { return !entry.second.plan.expired(); }));
}

void ProgramTable::write_tasks(Submission& submission) {
  const std::lock_guard lock(mutex_);
  const program::Prepared& prepared =
      prepare(submission.plan, submission.views);
  submission.is_idle = prepared.are_idle;
  if (prepared.needs_memory) take_memory(prepared, submission);
  for (const program::PreparedPass& pass : prepared.passes) {
    for (const program::TaskModel& model : pass.tasks)
      add_task(pass, model, submission);
  }
  count_call();
}

void ProgramTable::add_task(const program::PreparedPass& pass,
                            const program::TaskModel& model,
                            Submission& submission) {
  Task& task = submission.tasks.emplace_back();
  task.work = {&submission.plan, pass.code, 0};
  if (&model == &pass.tasks.back()) task.work.elements = pass.elements;
  write_task(pass, model,
             {submission.views, submission.scalars, submission.temporaries},
             task.call);
  use_text(pass, submission.stream, task.call);
  if (model.gathered.counters != 0) add_gathered(model, submission, task.call);
}

bool ProgramTable::write_single(const std::shared_ptr<const Plan>& plan,
                                const program::CallViews& views,
                                const std::span<const Scalar>& scalars,
                                const Stream& stream, Call& call, Work& work) {
  const std::lock_guard lock(mutex_);
  const program::Prepared& prepared = prepare(plan, views);
  if (prepared.needs_memory || prepared.passes.size() != 1 ||
      prepared.passes[0].tasks.size() != 1)
    return false;
  const program::PreparedPass& pass = prepared.passes[0];
  write_task(pass, pass.tasks[0], {views, scalars, {}}, call);
  use_text(pass, stream, call);
  count_call();
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
  if (!write_single(plan, {inputs, outputs}, scalars, stream, call, work))
    return false;
  count(work);
  return true;
}

void ProgramTable::use_text(const program::PreparedPass& pass,
                            const Stream& stream, Call& call,
                            bool is_read_again) {
  program::Text& text = pass.code->text;
  // A graph reads it again and again.
  is_read_again = is_read_again || text.is_used || backend_.captures(stream);
  // Only of a named stream one is made; to ask each time takes long.
  if (stream.is_named) pass.code->may_be_captured = true;
  call.args[program::TaskModel::kText] = texts_.use(text, is_read_again);
}

void ProgramTable::take_memory(const program::Prepared& prepared,
                               Submission& submission) {
  submission.is_captured = backend_.captures(submission.stream);
  auto& tables = submission.is_captured ? kept_ : submission.memory;
  tables.insert(tables.end(), prepared.tables.begin(), prepared.tables.end());
  for (const TensorView& view : prepared.temporaries) {
    const auto elems = static_cast<std::size_t>(view.size());
    submission.temporaries.push_back(
        take_block(0, elems * size_of(view.dtype), submission));
  }
}

std::uint64_t ProgramTable::take_block(std::size_t counters, std::size_t bytes,
                                       Submission& submission) {
  if (submission.is_captured) return scratch_.keep(bytes);
  const bool has_counters = counters <= program::Scratch::kCounters;
  if (auto lease = scratch_.take(has_counters ? bytes : ~std::size_t{0},
                                 submission.is_idle);
      !lease.is_empty()) {
    submission.leases.push_back(std::move(lease));
    return submission.leases.back().address();
  }
  const std::vector<std::uint32_t> zeros(counters);
  const std::size_t before = zeros.size() * sizeof(zeros[0]);
  submission.memory.push_back(submission.allocate(before + bytes));
  void* const memory = submission.memory.back().get();
  if (before != 0) backend_.copy_to_device(memory, zeros.data(), before);
  return address_of(memory) + before;
}

void ProgramTable::add_gathered(const program::TaskModel& model,
                                Submission& submission, Call& call) {
  const auto& [counters, bytes] = model.gathered;
  const std::uint64_t values = take_block(counters, bytes, submission);
  const std::uint64_t first = values - 4 * std::uint64_t{counters};
  call.args[model.gathered_arg] = first;
  // Whoever has the block next comes after this task.
  call.accesses[call.access_count++] = {first, values + bytes, true};
}

}  // namespace gpuos
