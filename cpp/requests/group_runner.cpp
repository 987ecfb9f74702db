#include "requests/group_runner.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "gpuos/error.h"
#include "program/graph/plan.h"
#include "queue/operator_record.h"
#include "requests/alias_analysis.h"
#include "requests/fused_requests.h"

namespace gpuos::requests {

BuiltinFastPath::BuiltinFastPath(Runtime& runtime)
    : add_(runtime.builtin("add")),
      sub_(runtime.builtin("sub")),
      mul_(runtime.builtin("mul")),
      div_(runtime.builtin("div")),
      copy_(runtime.builtin("copy")),
      fill_(runtime.builtin("fill")) {}

const Operator* BuiltinFastPath::find(const Request& request) const noexcept {
  const DType dtype = request.out_dtype;
  if (request.views != Request::kFlat || !has_builtins(dtype) ||
      request.compute != dtype)
    return nullptr;
  const Op op = request.function->op;
  if (op == Op::Cast && request.numbers != 0) return &fill_;
  if (request.numbers != 0) return nullptr;
  for (std::size_t i = 0; i < request.operands; ++i)
    if (request.dtypes[i] != dtype) return nullptr;
  switch (op) {
    case Op::Add:
      return &add_;
    case Op::Subtract:
      return &sub_;
    case Op::Multiply:
      return &mul_;
    case Op::Cast:
      return &copy_;
    // The built-in operator divides integers as FloorDivide does.
    case Op::Divide:
      return is_floating(dtype) ? &div_ : nullptr;
    case Op::FloorDivide:
      return is_floating(dtype) ? nullptr : &div_;
    default:
      return nullptr;
  }
}

bool BuiltinFastPath::add(const Request& request, LevelCalls& calls) const {
  const Operator* op = find(request);
  if (op == nullptr) return false;
  const bool is_fill = request.numbers != 0;
  const std::array<std::uint64_t, 3> addresses{
      reinterpret_cast<std::uint64_t>(request.out), request.values[0],
      request.values[1]};
  const std::size_t buffers = is_fill ? 1 : 1 + request.operands;
  const Scalar value = is_fill ? number_of(request, 0) : Scalar(0);
  calls.add(*op, request.out_dtype, request.elems,
            std::span(addresses.data(), buffers), {&value, is_fill ? 1u : 0u});
  return true;
}

void GroupRunner::begin(const RequestArrays& arrays, AliasAnalysis& aliases,
                        const Groups& groups, const StillNeeded& needed,
                        const Stream& stream) {
  arrays_ = &arrays;
  aliases_ = &aliases;
  groups_ = &groups;
  needed_ = needed;
  refused_ = nullptr;
  record_.reset();
  calls_.begin(stream);
  use_of_.resize(arrays.requests().size());
  is_late_.resize(arrays.requests().size());
}

template <typename Add, typename ForEach>
void GroupRunner::run_together(const Add& add, const ForEach& for_each) {
  try {
    try {
      add();
    } catch (...) {
      calls_.flush();  // those before the failed one
      throw;
    }
    flush_calls();
  } catch (...) {
    if (needed_.fail == nullptr) throw;
    for_each([&](std::uint32_t request) { refuse(request); });
  }
}

void GroupRunner::flush_calls() {
  calls_.flush();
  is_later_ = true;
}

void GroupRunner::finish() {
  const std::exception_ptr refused = std::exchange(refused_, nullptr);
  if (refused != nullptr && needed_.fail == nullptr)
    std::rethrow_exception(refused);
}

template <typename Run>
void GroupRunner::attempt(std::uint32_t request, const Run& run) {
  if (refused_ != nullptr && reads_refused(request)) {
    note_refused(request, nullptr);
    return;
  }
  try {
    run();
  } catch (const InvalidArgument&) {
    refuse(request);
  } catch (...) {
    if (needed_.fail == nullptr) throw;
    refuse(request);
  }
}

void GroupRunner::refuse(std::uint32_t request) {
  if (refused_ == nullptr) refused_ = std::current_exception();
  note_refused(request, std::current_exception());
}

// Owners are not known where no request meets another.
bool GroupRunner::reads_refused(std::uint32_t request) {
  if (aliases_->are_independent()) return false;
  const Request& asked = arrays_->request(request);
  bool is_refused = false;
  for (std::size_t i = 0; i < asked.operands; ++i)
    if (!is_number(asked, i))
      aliases_->owners().for_each_part(
          aliases_->of(request).operands[i], [&](const Owner& owner) {
            is_refused = is_refused || owner.is_refused;
          });
  return is_refused;
}

void GroupRunner::note_refused(std::uint32_t request,
                               const std::exception_ptr& error) {
  record_.reset();
  if (!aliases_->are_independent())
    aliases_->owners()[aliases_->of(request).out].is_refused = true;
  if (needed_.fail != nullptr)
    needed_.fail(needed_.context, arrays_->request(request).out_owner, error);
}

void GroupRunner::run(std::span<const Group* const> level) {
  run_together(
      [&] {
        for (const Group* group : level) run(*group);
      },
      [&](const auto& function) {
        for (const Group* group : level)
          groups_->for_each_member(*group, function);
      });
}

void GroupRunner::run_independent() {
  const auto count = static_cast<std::uint32_t>(arrays_->requests().size());
  const auto for_each = [&](const auto& function) {
    for (std::uint32_t index = 0; index < count; ++index)
      if (arrays_->request(index).elems != 0) function(index);
  };
  run_together(
      [&] {
        for_each([&](std::uint32_t index) {
          const Request& request = arrays_->request(index);
          const bool is_asked = request.is_fresh && needed_.ask != nullptr;
          // Only this request uses its output.
          if (is_asked && !needed_.ask(needed_.context, request.out_owner, 1))
            ++unwritten_;
          else
            attempt(index, [&] { run_needed(index); });
        });
      },
      for_each);
}

void GroupRunner::run(const Group& group) {
  if (group.first == group.last) {
    run_single(group.first);
    return;
  }
  collect(group);
  const IterationSpace space{
      group.elems,
      group.view == Request::kFlat ? nullptr : &arrays_->view(group.view),
      group.axes};
  // One by one where some may have to be left out.
  run_fragments(space, refused_ == nullptr ? kMostSteps : 1, 0, uses_.size());
}

bool GroupRunner::is_needed(Owner& owner) {
  if (!owner.is_fresh || needed_.ask == nullptr) return true;
  if (owner.is_needed < 0)
    owner.is_needed = needed_.ask(needed_.context, owner.key, owner.uses);
  return owner.is_needed != 0;
}

bool GroupRunner::must_be_written(std::uint32_t request) {
  const GroupMember& member = groups_->member(request);
  if (member.is_read_outside) return true;
  return !member.is_overwritten &&
         is_needed(aliases_->owners()[aliases_->of(request).out]);
}

void GroupRunner::run_single(std::uint32_t request) {
  if (must_be_written(request))
    attempt(request, [&] { run_needed(request); });
  else
    ++unwritten_;
}

std::uint64_t GroupRunner::address_of(std::uint32_t request) {
  const Request& asked = arrays_->request(request);
  if (asked.out != nullptr) return reinterpret_cast<std::uint64_t>(asked.out);
  void* memory = needed_.place(needed_.context, asked.out_owner);
  if (!aliases_->are_independent())
    aliases_->owners()[aliases_->of(request).out].memory = memory;
  return reinterpret_cast<std::uint64_t>(memory);
}

std::uint64_t GroupRunner::address_of(std::uint32_t request,
                                      std::size_t place) {
  const std::uint64_t address = arrays_->request(request).values[place];
  if (address != 0 || aliases_->are_independent()) return address;
  const std::uint32_t owner = aliases_->of(request).operands[place];
  return reinterpret_cast<std::uint64_t>(aliases_->owners()[owner].memory);
}

void GroupRunner::run_whole(std::uint32_t request) {
  const Request& asked = arrays_->request(request);
  inputs_.clear();
  numbers_.clear();
  for (std::size_t i = 0; i < asked.operands; ++i) {
    if (is_number(asked, i))
      numbers_.push_back(number_of(asked, i));
    else
      inputs_.push_back(
          own_view(asked, 1 + i, address_of(request, i), asked.dtypes[i]));
  }
  const TensorView out =
      own_view(asked, 0, address_of(request), asked.out_dtype);
  const Program& program =
      static_cast<const ProgramFunction&>(*asked.function).program;
  calls_.add(program, inputs_, {&out, 1}, numbers_);
  ++tasks_;
  if (needed_.note != nullptr)
    needed_.note(needed_.context, program, {&asked.out_owner, 1}, inputs_,
                 {&out, 1});
}

void GroupRunner::run_needed(std::uint32_t request) {
  const Request& asked = arrays_->request(request);
  if (is_whole(asked)) {
    run_whole(request);
    return;
  }
  if (builtins_.add(asked, calls_)) {
    ++tasks_;
    if (record_) note_task().outputs.push_back({.of = {request}});
    return;
  }
  uses_.assign(1, {.request = request, .is_output = true, .is_live = true});
  const IterationSpace space{asked.elems, asked.views == Request::kFlat
                                              ? nullptr
                                              : &arrays_->view(asked.views)};
  fused_.clear();
  value_of_.resize(1);
  add_step(space, 0, 0);
  add_outputs(space, 0, 1);
  submit();
}

// Outputs of one program have one shape. Therefore as many steps as possible
// should come before the first reduction.
void GroupRunner::find_late(const Group& group) {
  groups_->for_each_member(group, [&](std::uint32_t request) {
    const auto& sources = groups_->member(request).sources;
    is_late_[request] = groups_->member(request).is_reduced ||
                        std::ranges::any_of(sources, [&](std::uint32_t source) {
                          return source != kNone && is_late_[source];
                        });
  });
}

// Collects the members of a group, the users of each, and the unused ones.
void GroupRunner::collect(const Group& group) {
  uses_.clear();
  find_late(group);
  for (const bool is_late : {false, true}) {
    if (is_late && !group.is_reduced) break;
    groups_->for_each_member(group, [&](std::uint32_t request) {
      if (is_late_[request] == is_late)
        uses_.push_back(
            {.request = request, .is_output = must_be_written(request)});
    });
  }
  // Groups that are joined are not in this order. Equal functions of arrays are
  // one program, whether they are written as arrays or in a fused function.
  if (group.is_whole) std::ranges::sort(uses_, {}, &MemberUse::request);
  for (std::uint32_t i = 0; i < uses_.size(); ++i)
    use_of_[uses_[i].request] = i;
  for (std::size_t i = uses_.size(); i-- > 0;) {
    MemberUse& place = uses_[i];
    place.is_live = place.is_live || place.is_output;
    unwritten_ += place.is_output ? 0 : 1;
    if (!place.is_live) continue;
    for (const std::uint32_t source : groups_->member(place.request).sources) {
      if (source == kNone) continue;
      MemberUse& used = uses_[use_of_[source]];
      if (!used.is_live) used.last_use = static_cast<std::uint32_t>(i);
      used.is_live = true;
    }
  }
}

void GroupRunner::run_fragments(const IterationSpace& space,
                                std::size_t most_steps, std::size_t first,
                                std::size_t end) {
  for (bool is_later = false;; is_later = true) {
    while (first < end && !uses_[first].is_live) ++first;
    if (first == end) return;
    // It may read the results of the previous program.
    if (is_later) flush_calls();
    if (most_steps == 1) {
      attempt(uses_[first].request, [&] {
        if (is_whole(arrays_->request(uses_[first].request))) {
          run_whole(uses_[first].request);
          return;
        }
        add_outputs(space, first, fill(space, 1, first, end));
        submit();
      });
      ++first;
      continue;
    }
    const std::size_t next = fill(space, most_steps, first, end);
    try {
      add_outputs(space, first, next);
      if (!submit()) run_fragments(space, 1, first, next);
    } catch (...) {
      if (needed_.fail == nullptr) throw;
      for (; first < next; ++first)
        if (uses_[first].is_live) refuse(uses_[first].request);
      most_steps = 1;  // some of the others read these
    }
    first = next;
  }
}

// Takes members from `first` on into the program, as many as one task can
// carry. Returns the first that is left.
std::size_t GroupRunner::fill(const IterationSpace& space,
                              std::size_t most_steps, std::size_t first,
                              std::size_t end) {
  fused_.clear();
  value_of_.resize(uses_.size());
  FusedRequests::Mark best;
  std::size_t next = first;
  std::size_t values = 0;             // that are wanted after the program
  std::array<bool, 2> has_outputs{};  // of the space's shape; of its rows'
  for (std::size_t i = first; i < end; ++i) {
    if (!uses_[i].is_live) continue;
    if (fused_.steps().size() == most_steps) break;
    if (uses_[i].is_output && !is_whole(arrays_->request(uses_[i].request))) {
      const bool is_reduced = groups_->member(uses_[i].request).is_reduced;
      if (has_outputs[is_reduced ? 0 : 1]) break;
      has_outputs[is_reduced ? 1 : 0] = true;
    }
    add_step(space, first, i);
    const bool is_wanted = uses_[i].is_output || uses_[i].last_use > i;
    values += is_wanted ? 1 : 0;
    values -= count_ended(first, i);
    // Without inputs an output becomes one.
    const std::size_t arguments = std::max<std::size_t>(fused_.arguments(), 1);
    if (next != first && (arguments > kMostArguments || values > kMostValues))
      break;
    if (next != first && arguments + values > kMostArguments) continue;
    next = i + 1;
    best = fused_.mark();
  }
  fused_.rewind(best);
  return next;
}

void GroupRunner::add_step(const IterationSpace& space, std::size_t first,
                           std::size_t place) {
  const std::uint32_t index = uses_[place].request;
  const Request& request = arrays_->request(index);
  const auto& sources = groups_->member(index).sources;
  std::array<OperandSource, kMaxRequestOperands> links;
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < request.operands; ++i) {
    if (is_number(request, i)) {
      links[i] = is_whole(request) ? fused_.own_number(request, i)
                                   : fused_.number(request, i);
      continue;
    }
    const std::uint32_t source = sources[i];
    if (source != kNone && use_of_[source] >= first)
      links[i] = {.kind = OperandSource::Kind::Value,
                  .value = value_of_[use_of_[source]]};
    else if (!is_elementwise(request))
      links[i] = fused_.input(own_view(request, 1 + before,
                                       address_of(index, i), request.dtypes[i]),
                              is_row_function(request) && i == 0);
    else if (groups_->member(index).is_reduced)
      links[i] = fused_.input(
          reduced_view(space, request.values[i], request.dtypes[i]), false);
    else
      links[i] = fused_.input(
          view_of(space, arrays_->operand(index, i, before)), true);
    ++before;
  }
  value_of_[place] =
      fused_.add(request, std::span(links.data(), request.operands));
}

// Returns the number of values of the program whose last use is at this place.
std::size_t GroupRunner::count_ended(std::size_t first,
                                     std::size_t place) const {
  const auto& sources = groups_->member(uses_[place].request).sources;
  std::size_t count = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::uint32_t source = sources[i];
    if (source == kNone || use_of_[source] < first) continue;
    const MemberUse& used = uses_[use_of_[source]];
    const bool is_first = std::find(sources.begin(), sources.begin() + i,
                                    source) == sources.begin() + i;
    count += is_first && used.last_use == place && !used.is_output ? 1 : 0;
  }
  return count;
}

void GroupRunner::add_outputs(const IterationSpace& space, std::size_t first,
                              std::size_t end) {
  for (std::size_t i = first; i < end; ++i) {
    const MemberUse& place = uses_[i];
    if (!place.is_live || !(place.is_output || place.last_use >= end)) continue;
    const TensorView out = out_view(space, place.request);
    const bool has_full_shape = !groups_->member(place.request).is_reduced &&
                                !is_whole(arrays_->request(place.request));
    // A program takes its shape from an input.
    if (fused_.inputs().empty()) fused_.input(out, has_full_shape);
    fused_.output(value_of_[i], out, has_full_shape);
  }
}

TensorView GroupRunner::out_view(const IterationSpace& space,
                                 std::uint32_t index) {
  const Request& request = arrays_->request(index);
  const std::uint64_t address = address_of(index);
  if (is_elementwise(request))
    return groups_->member(index).is_reduced
               ? reduced_view(space, address, request.out_dtype)
               : view_of(space, arrays_->output(index));
  const TensorView own = own_view(request, 0, address, request.out_dtype);
  if (!is_reducing(request) || request.keepdims) return own;
  // Adds the axes that were reduced.
  TensorView view = own;
  view.dims = arrays_->view(request.views + 1).dims;
  std::size_t from = 0;
  for (std::size_t d = 0; d < view.dims; ++d) {
    const bool is_reduced = (request.axes >> d & 1) != 0;
    view.shape[d] = is_reduced ? 1 : own.shape[from];
    if (own.has_strides) view.strides[d] = is_reduced ? 0 : own.strides[from];
    from += is_reduced ? 0 : 1;
  }
  return view;
}

TensorView GroupRunner::view_of(const IterationSpace& space,
                                const ArrayElements& array) const {
  if (array.view == Request::kFlat)
    return flat_view(space, array.address, array.dtype);
  TensorView view = arrays_->view(array.view);
  view.data = reinterpret_cast<void*>(array.address);
  view.dtype = array.dtype;
  return view;
}

TensorView GroupRunner::own_view(const Request& request, std::size_t place,
                                 std::uint64_t address, DType dtype) const {
  TensorView view =
      arrays_->view(request.views + static_cast<std::uint32_t>(place));
  view.data = reinterpret_cast<void*>(address);
  view.dtype = dtype;
  return view;
}

bool GroupRunner::submit() {
  Program& program = programs_.find(fused_);
  if (program.is_empty()) return false;
  try {
    calls_.add(program, fused_.inputs(), fused_.outputs(), fused_.numbers());
  } catch (const InvalidArgument&) {
    if (fused_.steps().size() == 1) throw;
    program = {};
    return false;
  }
  ++tasks_;
  if (record_) note_program(program);
  if (needed_.note == nullptr) return true;
  std::vector<const void*> owners;
  for (const FusedRequests::Step& step : fused_.steps())
    owners.push_back(step.request->out_owner);
  needed_.note(needed_.context, program, owners, fused_.inputs(),
               fused_.outputs());
  return true;
}

// ---- Known runs

void GroupRunner::record() {
  record_.emplace().unwritten = unwritten_;
  is_later_ = false;
}

std::optional<KnownRun> GroupRunner::take_record() noexcept {
  if (record_) record_->unwritten = unwritten_ - record_->unwritten;
  return std::exchange(record_, std::nullopt);
}

KnownTask& GroupRunner::note_task() {
  KnownTask& task = record_->tasks.emplace_back();
  task.is_later = std::exchange(is_later_, false);
  return task;
}

void GroupRunner::note_program(const Program& program) {
  KnownTask& task = note_task();
  task.program = program;
  const RequestPlace none{.request = kNone};
  for (const TensorView& form : fused_.inputs())
    task.inputs.push_back({form, none});
  task.numbers.assign(fused_.numbers().size(), none);
  const auto index_of = [&](const FusedRequests::Step& step) {
    return static_cast<std::uint32_t>(step.request -
                                      arrays_->requests().data());
  };
  for (const FusedRequests::Step& step : fused_.steps())
    for (std::uint8_t i = 0; i < step.request->operands; ++i) {
      const OperandSource& link = step.links[i];
      const RequestPlace place{index_of(step), i};
      if (link.kind == OperandSource::Kind::Input)
        task.inputs[link.index].of = place;
      if (link.kind != OperandSource::Kind::Number) continue;
      RequestPlace& number = task.numbers[link.index];
      if (number.request != kNone) record_->equal.push_back({number, place});
      number = place;
    }
  for (std::size_t i = 0; i < fused_.outputs().size(); ++i)
    task.outputs.push_back(
        {fused_.outputs()[i],
         {.request = index_of(fused_.steps()[fused_.output_values()[i]])}});
  // A program without inputs takes its shape from an output.
  for (KnownTask::Array& input : task.inputs)
    if (input.of.request == kNone) input.of = task.outputs.front().of;
}

void GroupRunner::add_arrays(std::span<const KnownTask::Array> arrays,
                             std::vector<TensorView>& views) {
  views.clear();
  for (const KnownTask::Array& array : arrays)
    views.emplace_back(array.form).data = reinterpret_cast<void*>(
        array.of.place == RequestPlace::kOut
            ? address_of(array.of.request)
            : address_of(array.of.request, array.of.place));
}

void GroupRunner::repeat(const KnownRun& known) {
  for (const KnownTask& task : known.tasks) {
    if (task.is_later) calls_.flush();
    ++tasks_;
    if (task.program.is_empty()) {
      builtins_.add(arrays_->request(task.outputs.front().of.request), calls_);
      continue;
    }
    add_arrays(task.outputs, outputs_);
    add_arrays(task.inputs, inputs_);
    numbers_.clear();
    for (const RequestPlace& number : task.numbers)
      numbers_.push_back(
          number_of(arrays_->request(number.request), number.place));
    calls_.add(task.program, inputs_, outputs_, numbers_);
  }
  calls_.flush();
  unwritten_ += known.unwritten;
}

}  // namespace gpuos::requests
