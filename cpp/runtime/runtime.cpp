#include "gpuos/runtime.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "base/concat.h"
#include "base/config.h"
#include "base/fork_guard.h"
#include "base/process_exit.h"
#include "jit/compile_pool.h"
#include "operators/operator_definition.h"
#include "operators/operator_registry.h"
#include "program/graph/call_inputs.h"
#include "queue/call.h"
#include "queue/submitter.h"
#include "runtime/given_operator.h"
#include "runtime/runtime_core.h"

namespace gpuos {

namespace {

const std::shared_ptr<OperatorRecord>& own_record(const RuntimeCore& core,
                                                  const Operator& op,
                                                  const char* where) {
  if (op.record() == nullptr)
    throw InvalidArgument(
        concat(where, ": expected a defined operator, got an empty handle"));
  // Its slots would mean other operators here.
  if (op.record()->owner != &core.registry)
    throw InvalidArgument(concat(where,
                                 ": expected an operator of this runtime, ",
                                 op.record()->name, " is of another"));
  return op.record();
}

void upgrade_later(const std::shared_ptr<RuntimeCore>& owner,
                   const std::shared_ptr<OperatorRecord>& record,
                   const OperatorDefinition& definition) {
  if (!definition.tiered || !owner->backend->traits().builds_drafts) return;
  jit::CompilePool::instance().post(
      [core = std::weak_ptr(owner), record, definition] {
        const auto runtime = core.lock();
        if (runtime == nullptr || runtime->is_closed()) return;
        try {
          if (runtime->registry.upgrade(record, definition))
            runtime->upgrades.fetch_add(1);
        } catch (const std::exception& error) {
          // The draft stays, because the runtime may have been closed
          // meanwhile.
          append_log(
              concat(definition.name, ": not upgraded: ", error.what(), "\n"));
        }
      });
}

std::shared_ptr<OperatorRecord> record_for(const OperatorDefinition& definition,
                                           const OperatorRecord* replaces) {
  if (definition.expression.empty()) return record_of(definition);
  return replaces == nullptr
             ? ExpressionOperators::record_of(definition)
             : ExpressionOperators::record_of(definition, *replaces);
}

/// Calls an operator, which at the moment is an expression or has slots. It may
/// become the other meanwhile.
template <typename OfBody, typename OfSlots>
[[gnu::always_inline]] inline auto call_of(const OperatorRecord& named,
                                           OfBody of_body, OfSlots of_slots) {
  for (;;) {
    const OperatorRecord& record = named.resolved();
    if (record.has_body.load(std::memory_order_relaxed)) {
      const auto body = record.body.load();
      if (body != nullptr) return of_body(record, *body);
    }
    try {
      return of_slots(named);
    } catch (const HasChanged&) {  // NOLINT(bugprone-empty-catch)
      // Then it is another now.
    }
  }
}

/// Completes a definition that replaces `record`: empty fields stay as they
/// were.
OperatorDefinition completed(OperatorDefinition definition,
                             const OperatorRecord& record) {
  OperatorRegistry::check_replaceable(record, "replace");
  definition.name = record.name;
  const OperatorRecord& now = record.resolved();
  if (definition.params.empty()) definition.params = now.params;
  if (definition.object && definition.input_names.empty() &&
      definition.inputs < 0)
    definition.inputs = record.inputs;
  if (!definition.checked && !definition.source.empty() &&
      now.is_checked.load())
    definition.checked = true;
  return definition;
}

/// Returns the drafts as they were published.
std::vector<OperatorRegistry::Draft> apply_all(
    const std::shared_ptr<RuntimeCore>& core,
    std::span<const OperatorChange> changes,
    std::vector<OperatorDefinition>& definitions) {
  bool has_source = false;
  for (const OperatorChange& change : changes) {
    if (change.replaces.record() == nullptr)
      definitions.push_back(change.definition);
    else
      definitions.push_back(completed(
          change.definition, *own_record(*core, change.replaces, "replace")));
    check_definition(definitions.back());
    complete_object(definitions.back(), core->backend->traits());
    has_source |= !definitions.back().source.empty();
  }
  std::vector<OperatorRegistry::Draft> drafts;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto& replaces = changes[i].replaces.record();
    const auto record = record_for(definitions[i], replaces.get());
    drafts.push_back({.definition = definitions[i],
                      .record = record,
                      .replaces = replaces,
                      .expected = changes[i].expected,
                      .is_draft = definitions[i].tiered && replaces == nullptr,
                      .is_checked = record->is_checked.load()});
    if (drafts.back().is_checked) core->submitter.faults().make_room();
  }
  if (has_source) note_environment();
  core->registry.apply(drafts);
  for (const OperatorRegistry::Draft& draft : drafts)
    if (draft.is_draft) upgrade_later(core, draft.record, draft.definition);
  return drafts;
}

std::vector<Operator> change_all(const std::shared_ptr<RuntimeCore>& core,
                                 std::span<const OperatorChange> changes) {
  std::vector<OperatorDefinition> definitions;
  std::vector<Operator> operators;
  for (const auto& draft : apply_all(core, changes, definitions))
    operators.emplace_back(draft.replaces == nullptr ? draft.record
                                                     : draft.replaces);
  return operators;
}

}  // namespace

Runtime::Runtime(RuntimeOptions options)
    : core_(std::make_shared<RuntimeCore>(std::move(options))),
      exceptions_(std::uncaught_exceptions()) {}

Runtime::~Runtime() {
  if (core_->is_of_other_process()) {
    // The threads and the driver's state belong to the parent: leave them.
    static_cast<void>(new std::shared_ptr<RuntimeCore>(core_));
    return;
  }
  if (is_process_exiting() || std::uncaught_exceptions() > exceptions_) hurry();
  try {
    close();
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // close() is where errors are reported.
  }
  // A thread is in a driver call that may return at any time, or never. The
  // memory that it uses must stay valid.
  if (core_->backend->is_left_running())
    static_cast<void>(new std::shared_ptr<RuntimeCore>(core_));
}

RuntimeCore& Runtime::core() const {
  core_->check_process();
  return *core_;
}

Ticket Runtime::submit(const Operator& op, std::span<const TensorView> inputs,
                       const TensorView& out, std::span<const Scalar> params,
                       Stream stream) {
  RuntimeCore& core = this->core();
  return call_of(
      *own_record(core, op, "submit"),
      [&](const OperatorRecord& record, const expression::Body& body) {
        return core.expressions.submit(
            record, body, inputs, out, params, stream,
            [this](std::size_t bytes) { return allocate(bytes); });
      },
      [&](const OperatorRecord& record) {
        Call call = make_call(record, inputs, out, params);
        return core.submitter.submit(call, stream);
      });
}

std::optional<Ticket> Runtime::try_submit(const Operator& op,
                                          std::span<const TensorView> inputs,
                                          const TensorView& out,
                                          std::span<const Scalar> params,
                                          Stream stream) {
  RuntimeCore& core = this->core();
  std::optional<Ticket> ticket(std::in_place);
  const bool is_queued = call_of(
      *own_record(core, op, "submit"),
      [&](const OperatorRecord& record, const expression::Body& body) {
        return core.expressions.try_submit(record, body, inputs, out, params,
                                           stream, *ticket);
      },
      [&](const OperatorRecord& record) {
        Call call = make_call(record, inputs, out, params);
        return core.submitter.try_submit(call, stream, *ticket);
      });
  if (!is_queued) ticket.reset();
  return ticket;
}

Ticket Runtime::submit(std::string_view op,
                       std::initializer_list<TensorView> inputs,
                       const TensorView& out,
                       std::initializer_list<Scalar> params) {
  return submit(find(op), inputs, out, params);
}

Ticket Runtime::submit(const Operator& op,
                       std::initializer_list<TensorView> inputs,
                       const TensorView& out,
                       std::initializer_list<Scalar> params) {
  return submit(op, std::span(inputs.begin(), inputs.size()), out,
                std::span(params.begin(), params.size()));
}

Ticket Runtime::submit(const Program& program,
                       std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs,
                       std::span<const Scalar> scalars, Stream stream) {
  const auto& plan = program.plan();
  const auto allocate_here = [this](std::size_t bytes) {
    return allocate(bytes);
  };
  if (plan != nullptr && !plan->sources.empty()) [[unlikely]] {
    const program::CallInputs all(*plan, inputs);
    const program::CallOutputs pieces(*plan, all, outputs);
    return core().programs.submit(plan, {all.views(), pieces.views()}, scalars,
                                  stream, allocate_here);
  }
  return core().programs.submit(plan, {inputs, outputs}, scalars, stream,
                                allocate_here);
}

bool Runtime::compile(const Program& program,
                      std::chrono::nanoseconds timeout) {
  RuntimeCore& core = this->core();
  core.check_open("compile");
  note_environment();
  return core.programs.compile(program.plan(), deadline_after(timeout));
}

Ticket Runtime::submit_many(const Operator& op, const ManyTasks& many,
                            Stream stream) {
  RuntimeCore& core = this->core();
  return call_of(
      *own_record(core, op, "submit_many"),
      [&](const OperatorRecord& record, const expression::Body& body) {
        return core.expressions.submit_many(record, body, many, stream);
      },
      [&](const OperatorRecord& record) {
        ManyCall call = make_many_call(record, many);
        return core.submitter.submit_many(call, many, stream);
      });
}

void Runtime::flush() { core().submitter.flush(nullptr); }

void Runtime::flush(Stream stream) { core().submitter.flush(&stream); }

bool Runtime::is_done(const Ticket& ticket) {
  return core().wait(ticket, std::chrono::steady_clock::now());
}

bool Runtime::wait(const Ticket& ticket, std::chrono::nanoseconds timeout) {
  return core().wait(ticket, deadline_after(timeout));
}

bool Runtime::synchronize(std::chrono::nanoseconds timeout) {
  return core().synchronize(deadline_after(timeout));
}

bool Runtime::wait_for_all(std::chrono::nanoseconds timeout) {
  return core().wait_for_all(deadline_after(timeout));
}

bool Runtime::wait_for_memory(const void* data, std::size_t bytes,
                              std::chrono::nanoseconds timeout) {
  return core().wait_for_memory(data, bytes, deadline_after(timeout));
}

Operator Runtime::define(const OperatorDefinition& definition) {
  core().check_open("define");
  const OperatorChange change{.definition = definition};
  return change_all(core_, {&change, 1}).front();
}

std::vector<Operator> Runtime::define_many(
    std::span<const OperatorDefinition> definitions) {
  core().check_open("define_many");
  std::vector<OperatorChange> changes;
  for (const OperatorDefinition& definition : definitions)
    changes.push_back({.definition = definition});
  return change_all(core_, changes);
}

std::uint64_t Runtime::replace(const Operator& op,
                               const OperatorDefinition& definition,
                               std::uint64_t expected) {
  RuntimeCore& core = this->core();
  core.check_open("replace");
  own_record(core, op, "replace");
  const OperatorChange change{definition, op, expected};
  std::vector<OperatorDefinition> definitions;
  return apply_all(core_, {&change, 1}, definitions)[0].number;
}

std::vector<Operator> Runtime::change(std::span<const OperatorChange> changes) {
  core().check_open("change");
  return change_all(core_, changes);
}

std::uint64_t Runtime::rollback(const Operator& op, std::uint64_t to,
                                std::uint64_t expected) {
  RuntimeCore& core = this->core();
  core.check_open("rollback");
  return core.registry.rollback(own_record(core, op, "rollback"), to, expected);
}

std::uint64_t Runtime::restore(const Operator& op) {
  RuntimeCore& core = this->core();
  core.check_open("restore");
  return core.registry.restore(own_record(core, op, "restore"));
}

Operator Runtime::builtin(std::string_view name) const {
  return Operator(core().registry.builtin(name));
}

void Runtime::undefine(const Operator& op) {
  RuntimeCore& core = this->core();
  core.check_open("undefine");
  core.registry.undefine(own_record(core, op, "undefine"));
}

Alias Runtime::alias(std::string_view name, const Operator& target) {
  RuntimeCore& core = this->core();
  core.check_open("alias");
  return Alias(core.registry.alias(name, own_record(core, target, "alias")));
}

Operator Runtime::find(std::string_view name) const {
  return Operator(core().registry.find(name));
}

std::vector<std::string> Runtime::operator_names() const {
  return core().registry.names();
}

Buffer Runtime::allocate(std::size_t bytes) {
  RuntimeCore& core = this->core();
  core.check_open("allocate");
  core.allocations.fetch_add(1, std::memory_order_relaxed);
  return {core.allocate(std::max<std::size_t>(bytes, 1)),
          [keep = core_, bytes](void* pointer) noexcept {
            keep->deallocate_later(pointer, bytes);
          }};
}

void Runtime::copy_to_device(void* to, const void* from, std::size_t bytes) {
  RuntimeCore& core = this->core();
  core.check_open("copy_to_device");
  core.wait_for_memory(to, bytes, Deadline::max());
  core.backend->copy_to_device(to, from, bytes);
}

void Runtime::copy_to_host(void* to, const void* from, std::size_t bytes) {
  RuntimeCore& core = this->core();
  core.check_open("copy_to_host");
  core.wait_for_memory(from, bytes, Deadline::max());
  core.backend->copy_to_host(to, from, bytes);
}

void Runtime::hurry() { core().hurry(); }

void Runtime::drop_pending() { core().drop_pending(); }

bool Runtime::has_dropped() const noexcept {
  return core_->backend->has_dropped();
}

void Runtime::make_deterministic() { core().programs.make_deterministic(); }

bool Runtime::has_captured() const {
  const Backend& backend = *core().backend;
  for (std::uint32_t slot = 0; slot < abi::kSlots; ++slot)
    if (backend.is_captured(slot)) return true;
  return false;
}

void Runtime::close() { core().close(); }

bool Runtime::is_closed() const noexcept { return core_->is_closed(); }

const RuntimeOptions& Runtime::options() const noexcept {
  return core_->options;
}

std::string_view Runtime::backend() const noexcept {
  return core_->backend->traits().name;
}

Stats Runtime::stats() const { return core().stats(); }

}  // namespace gpuos
