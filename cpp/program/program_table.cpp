#include "program/program_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <limits>

#include "concat.h"
#include "gpuos/error.h"
#include "program/sizes.h"
#include "program/text.h"

namespace gpuos {
namespace {

using program::Pass;
using program::Plan;

constexpr std::uint64_t kMaxPieceElems = std::uint64_t{1} << 31;
/// A wait for an earlier part of the same program, which makes progress.
constexpr std::chrono::seconds kJoinTimeout{60};

const char* kind_name(program::Buffer::Kind kind) {
  return kind == program::Buffer::Kind::Output ? "output " : "input ";
}

void check_views(std::span<const TensorView> views,
                 std::span<const ProgramArgument> arguments,
                 program::Buffer::Kind kind) {
  const char* name = kind_name(kind);
  if (views.size() != arguments.size())
    throw InvalidArgument(concat("program: expected ", arguments.size(), " ",
                                 name, "buffers, got ", views.size()));
  for (std::size_t i = 0; i < views.size(); ++i) {
    const TensorView& view = views[i];
    if (view.dtype != arguments[i].dtype || view.dims != arguments[i].rank)
      throw InvalidArgument(concat("program: ", name, i, ": expected ",
                                   arguments[i].rank, " dimensions of ",
                                   name_of(arguments[i].dtype), ", got ",
                                   to_string(view)));
    const std::int64_t size = view.size();
    if (size < 0)
      throw InvalidArgument(concat("program: ", name, i,
                                   ": expected sizes of at least 0, got ",
                                   to_string(view)));
    const auto address = reinterpret_cast<std::uint64_t>(view.data);
    if (size > 0 && (address == 0 || address % size_of(view.dtype) != 0))
      throw InvalidArgument(concat("program: ", name, i,
                                   ": expected an address that is a multiple "
                                   "of ",
                                   size_of(view.dtype), ", got ", address));
  }
}

bool overlap(const ByteRange& a, const ByteRange& b) {
  return a.low < b.high && b.low < a.high;
}

}  // namespace

/// One call of a program.
struct ProgramTable::Submission {
  const Plan& plan;
  std::span<const TensorView> inputs;
  std::span<const TensorView> outputs;
  std::span<const Scalar> scalars;
  const Stream& stream;
  const Allocate& allocate;
  program::Workers workers{};
  std::vector<std::int64_t> sizes{};
  std::vector<TensorView> temporaries{};
  std::vector<Buffer> memory{};  // freed behind the tasks

  const TensorView& view_of(const program::Buffer& buffer) const {
    switch (buffer.kind) {
      case program::Buffer::Kind::Input:
        return inputs[buffer.index];
      case program::Buffer::Kind::Output:
        return outputs[buffer.index];
      default:
        return temporaries[buffer.index];
    }
  }

  void check_outputs() const;
  void check_overlap(const Pass& pass, const program::Access& out,
                     const TensorView& view, bool is_same_pass) const;
  void check_overlaps(const program::Schedule& schedule) const;
  void check_empty(const program::Schedule& schedule) const;
  void add_temporaries(const program::Schedule& schedule);
};

void ProgramTable::Submission::check_outputs() const {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorView& out = outputs[i];
    if (out.read_only)
      throw InvalidArgument(concat("program: output ", i, " is read-only"));
    for (std::size_t d = 0; d < out.dims; ++d) {
      const std::int64_t expected = sizes[plan.output_dims[i][d]];
      if (out.shape[d] != expected)
        throw InvalidArgument(concat("program: output ", i, ": expected ",
                                     expected, " elements along dimension ", d,
                                     ", got ", to_string(out)));
      if (out.has_strides && out.strides[d] == 0 && expected > 1)
        throw InvalidArgument(concat("program: output ", i,
                                     ": expected elements that lie apart, got ",
                                     to_string(out)));
    }
  }
}

void ProgramTable::Submission::check_overlap(const Pass& pass,
                                             const program::Access& out,
                                             const TensorView& view,
                                             bool is_same_pass) const {
  const ByteRange range = view.byte_range();
  for (const program::Access& in : pass.accesses) {
    if (in.writes || in.buffer.kind != program::Buffer::Kind::Input) continue;
    const TensorView& input = view_of(in.buffer);
    if (!overlap(range, input.byte_range())) continue;
    const auto is_same_dim = [&](std::size_t d) {
      return input.shape[d] == view.shape[d] &&
             (view.shape[d] <= 1 ||
              program::stride_of(input, d) == program::stride_of(view, d));
    };
    bool is_same = is_same_pass && input.data == view.data &&
                   size_of(input.dtype) == size_of(view.dtype) &&
                   in.dims == out.dims && input.dims == view.dims;
    for (std::size_t d = 0; is_same && d < view.dims; ++d)
      is_same = is_same_dim(d);
    if (!is_same)
      throw InvalidArgument(concat("program: output ", out.buffer.index,
                                   " overlaps input ", in.buffer.index,
                                   " without being the same buffer"));
  }
}

void ProgramTable::Submission::check_overlaps(
    const program::Schedule& schedule) const {
  for (std::size_t p = 0; p < schedule.passes.size(); ++p) {
    for (const program::Access& out : schedule.passes[p].accesses) {
      if (!out.writes || out.buffer.kind != program::Buffer::Kind::Output)
        continue;
      const TensorView& view = view_of(out.buffer);
      for (std::size_t q = p; q < schedule.passes.size(); ++q)
        check_overlap(schedule.passes[q], out, view, q == p);
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (outputs[i].data == outputs[k].data &&
          overlap(outputs[i].byte_range(), outputs[k].byte_range()))
        throw InvalidArgument(
            concat("program: outputs ", k, " and ", i, " are the same buffer"));
}

void ProgramTable::Submission::check_empty(
    const program::Schedule& schedule) const {
  for (const Pass& pass : schedule.passes) {
    if (!pass.has_reduction || program::count_of(pass.inner, sizes) != 0 ||
        program::count_of(pass.outer, sizes) == 0)
      continue;
    for (const program::Step& step : pass.steps) {
      if (step.kind != program::Step::Kind::Reduce || step.op == Op::Sum ||
          step.op == Op::Prod || step.from == DType::Bool)
        continue;
      throw InvalidArgument(concat("program: ", info_of(step.op).name,
                                   ": expected at least 1 element, got 0"));
    }
  }
}

void ProgramTable::Submission::add_temporaries(
    const program::Schedule& schedule) {
  for (const program::Temporary& temporary : schedule.temporaries) {
    TensorView view;
    view.dtype = temporary.dtype;
    view.dims = static_cast<std::uint8_t>(temporary.dims.size());
    for (std::size_t d = 0; d < temporary.dims.size(); ++d)
      view.shape[d] = sizes[temporary.dims[d]];
    const auto bytes =
        static_cast<std::size_t>(view.size()) * size_of(view.dtype);
    memory.push_back(allocate(bytes));
    view.data = memory.back().get();
    temporaries.push_back(view);
  }
}

ProgramTable::ProgramTable(Backend& backend, Submitter& submitter,
                           program::Tiers& tiers)
    : backend_(backend), submitter_(submitter), tiers_(tiers) {}

ProgramTable::~ProgramTable() {
  for (const auto& [structure, code] : codes_) backend_.deallocate(code->text);
}

std::shared_ptr<ProgramTable::Code> ProgramTable::code_for(const Pass& pass) {
  const auto at = codes_.find(pass.structure);
  if (at != codes_.end()) return at->second;
  const auto words = program::text_of(pass);
  auto code = std::make_shared<Code>();
  code->cells = std::bit_cast<program::TextHeader>(words[0]).cells;
  code->structure = pass.structure;
  code->text = backend_.allocate(words.size() * sizeof(words[0]));
  backend_.copy_to_device(code->text, words.data(),
                          words.size() * sizeof(words[0]));
  code->tier = std::make_shared<program::Tier>();
  code->tier->pass = pass;
  code->tier->record = std::make_shared<OperatorRecord>();
  code->tier->record->name = "program";
  code->tier->record->slots[0] = kInterpreterSlot;
  codes_.emplace(pass.structure, code);
  return code;
}

std::shared_ptr<const ProgramTable::Entry> ProgramTable::find(
    const std::shared_ptr<const Plan>& plan) {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(plan.get());
  if (at != entries_.end() && !at->second->plan.expired()) return at->second;
  std::erase_if(entries_,
                [](const auto& entry) { return entry.second->plan.expired(); });
  auto entry = std::make_shared<Entry>();
  entry->plan = plan;
  for (const Pass& pass : plan->fused.passes)
    entry->fused.push_back(code_for(pass));
  for (const Pass& pass : plan->split.passes)
    entry->split.push_back(code_for(pass));
  entries_[plan.get()] = entry;
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
  if (!submitter_.wait(batch, std::chrono::steady_clock::now() + kJoinTimeout))
    throw Timeout("program: its first part did not finish within 60 s");
  return second;
}

Ticket ProgramTable::submit(const std::shared_ptr<const Plan>& plan,
                            std::span<const TensorView> inputs,
                            std::span<const TensorView> outputs,
                            std::span<const Scalar> scalars,
                            const Stream& stream, const Allocate& allocate) {
  if (plan == nullptr)
    throw InvalidArgument("submit: expected a built program, got an empty one");
  check_views(inputs, plan->inputs, program::Buffer::Kind::Input);
  check_views(outputs, plan->outputs, program::Buffer::Kind::Output);
  if (scalars.size() != plan->scalar_arguments)
    throw InvalidArgument(concat("program: expected ", plan->scalar_arguments,
                                 " scalars, got ", scalars.size()));
  Submission submission{*plan, inputs, outputs, scalars, stream, allocate};
  std::array<const std::int64_t*, program::kMaxInputs> shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    shapes[i] = inputs[i].shape.data();
  program::find_sizes(*plan, std::span(shapes.data(), inputs.size()),
                      submission.sizes);
  submission.workers = backend_.workers();
  submission.workers.are_idle = submitter_.is_idle();

  const auto entry = find(plan);
  const bool fuses = program::is_fused_best(*plan, submission.sizes);
  const program::Schedule& schedule = fuses ? plan->fused : plan->split;
  submission.check_outputs();
  submission.check_overlaps(schedule);
  submission.check_empty(schedule);
  submission.add_temporaries(schedule);
  Ticket ticket{.runtime = submitter_.runtime_id()};
  for (std::size_t i = 0; i < schedule.passes.size(); ++i) {
    Code& code = fuses ? *entry->fused[i] : *entry->split[i];
    ticket = join(ticket, submit_pass(submission, schedule.passes[i], code));
  }
  calls_.fetch_add(1, std::memory_order_relaxed);
  return ticket;
}

bool ProgramTable::compile(const std::shared_ptr<const Plan>& plan,
                           Deadline deadline) {
  if (plan == nullptr)
    throw InvalidArgument(
        "compile: expected a built program, got an empty one");
  const auto entry = find(plan);
  std::vector<std::shared_ptr<Code>> codes = entry->fused;
  codes.insert(codes.end(), entry->split.begin(), entry->split.end());
  for (const auto& code : codes) tiers_.promote(code->tier);
  for (const auto& code : codes)
    if (!tiers_.wait(*code->tier, deadline)) return false;
  return true;
}

std::uint64_t ProgramTable::programs() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint64_t>(std::count_if(
      entries_.begin(), entries_.end(),
      [](const auto& entry) { return !entry.second->plan.expired(); }));
}

Ticket ProgramTable::submit_pass(Submission& submission, const Pass& pass,
                                 Code& code) {
  Ticket ticket{.runtime = submitter_.runtime_id()};
  std::array<const TensorView*, program::kMaxAccesses> views{};
  for (std::size_t a = 0; a < pass.accesses.size(); ++a)
    views[a] = &submission.view_of(pass.accesses[a].buffer);
  program::Layout layout;
  program::make_layout(pass, submission.sizes,
                       std::span(views.data(), pass.accesses.size()), layout);
  if (layout.rows == 0 || (layout.columns == 0 && !pass.has_reduction))
    return ticket;
  program::for_each_piece(
      pass, layout, kMaxPieceElems, [&](const program::Layout& piece) {
        ticket = join(ticket, submit_piece(submission, pass, code, piece));
      });
  tiers_.count_call(code.tier, layout.elements());
  return ticket;
}

std::uint64_t ProgramTable::far_table(Submission& submission,
                                      std::span<const std::uint64_t> table) {
  const std::size_t bytes = table.size_bytes();
  submission.memory.push_back(submission.allocate(bytes));
  void* const memory = submission.memory.back().get();
  backend_.copy_to_device(memory, table.data(), bytes);
  return reinterpret_cast<std::uint64_t>(memory);
}

Ticket ProgramTable::submit_piece(Submission& submission, const Pass& pass,
                                  Code& code, const program::Layout& layout) {
  program::Workers workers = submission.workers;
  if (pass.has_reduction)
    workers.lanes = program::row_lanes(workers, code.cells);
  const program::Split split = program::split_of(pass, layout, workers);
  std::array<std::uint64_t, program::kMaxAccesses> scalars;
  program::find_scalars(submission.plan, pass, submission.scalars,
                        submission.sizes, scalars.data());
  Call call;
  call.named = call.op = code.tier->record.get();
  call.dtype = static_cast<DType>(0);
  const std::size_t gathered =
      program::gathered_bytes(pass, layout, split, workers);
  std::uint64_t gathered_at = 0;
  if (gathered != 0) {
    const std::vector<char> zeros(gathered);
    submission.memory.push_back(submission.allocate(gathered));
    backend_.copy_to_device(submission.memory.back().get(), zeros.data(),
                            gathered);
    gathered_at =
        reinterpret_cast<std::uint64_t>(submission.memory.back().get());
  }
  program::write_arguments(
      pass, layout, split, reinterpret_cast<std::uint64_t>(code.text),
      std::span(scalars.data(), pass.scalars.size()), gathered_at,
      workers.lanes,
      [&](std::span<const std::uint64_t> table) {
        return far_table(submission, table);
      },
      call);
  for (const program::Access& access : pass.accesses) {
    const ByteRange range = submission.view_of(access.buffer).byte_range();
    if (range.low == range.high) continue;
    call.accesses[call.access_count++] = {range.low, range.high, access.writes};
  }
  return submitter_.submit(call, submission.stream);
}

}  // namespace gpuos
