#include "program/calls/prepared.h"

#include <algorithm>

#include "program/calls/call_checks.h"
#include "program/calls/layout.h"
#include "program/graph/sizes.h"

namespace gpuos::program {
namespace {

constexpr std::uint64_t kMaxPieceElems = std::uint64_t{1} << 31;

constexpr std::array kLoads{Load::Idle, Load::Backlog, Load::Busy};

/// Returns the loads for which tasks are cut differently. Where a worker runs a
/// tile alone, the load does not matter.
std::span<const Load> loads_of(const Workers& workers) {
  const std::span<const Load> all(kLoads);
  return workers.lanes > 1 ? all : all.last(1);
}

Extent extent_of(const TensorView& view) {
  const std::int64_t elems = view.size();
  if (elems <= 0) return {};
  if (!view.has_strides)
    return {0, static_cast<std::uint64_t>(elems) * size_of(view.dtype)};
  const ByteRange range = view.byte_range();
  const auto address = reinterpret_cast<std::uint64_t>(view.data);
  return {range.low - address, range.high - address};
}

/// Returns the first word of an array's key, which tells the further words.
std::int64_t kind_of(const TensorView& view) {
  return static_cast<std::int64_t>(view.dtype) | std::int64_t{view.dims} << 8 |
         std::int64_t{view.has_strides} << 16;
}

std::size_t key_words(std::span<const TensorView> views) {
  std::size_t words = 0;
  for (const TensorView& view : views)
    words += 1 + std::size_t{view.dims} * (view.has_strides ? 2 : 1);
  return words;
}

/// Writes the words of these views and steps over them.
void write_key(std::span<const TensorView> views, std::int64_t*& key) {
  for (const TensorView& view : views) {
    *key++ = kind_of(view);
    for (std::size_t d = 0; d < view.dims; ++d) *key++ = view.shape[d];
    if (!view.has_strides) continue;
    for (std::size_t d = 0; d < view.dims; ++d) *key++ = view.strides[d];
  }
}

/// Returns whether `key` begins with the words of these views, and steps over
/// them.
bool skip_same(std::span<const TensorView> views,
               const std::int64_t*& key) noexcept {
  for (const TensorView& view : views) {
    if (*key++ != kind_of(view)) return false;
    for (std::size_t d = 0; d < view.dims; ++d)
      if (*key++ != view.shape[d]) return false;
    if (!view.has_strides) continue;
    for (std::size_t d = 0; d < view.dims; ++d)
      if (*key++ != view.strides[d]) return false;
  }
  return true;
}

bool is_usual_size(std::int64_t elems) noexcept {
  return elems > 1 && static_cast<std::uint64_t>(elems) <= kMaxPieceElems;
}

/// Returns whether `key` begins with the words of these views, except for their
/// shapes. All views must be flat with the shape of `first`. Writes the shapes
/// and advances `key`.
bool take_shapes(std::span<const TensorView> views, const TensorView& first,
                 std::int64_t*& key) noexcept {
  for (const TensorView& view : views) {
    if (*key++ != kind_of(view)) return false;
    // Not std::equal(): a call of memcmp() takes longer than a few words.
    for (std::size_t d = 0; d < view.dims; ++d) {
      if (view.shape[d] != first.shape[d]) return false;
      *key++ = view.shape[d];
    }
  }
  return true;
}

/// Writes one Prepared.
class Preparation {
 public:
  Preparation(const Plan& plan, const CallViews& call, const Workers& workers,
              const KeepTable& keep_table, Prepared& prepared)
      : plan_(plan),
        call_(call),
        workers_(workers),
        keep_table_(keep_table),
        prepared_(prepared) {}

  void run(const PlanCode& codes) {
    clear();
    find_all_sizes();
    check_outputs(plan_, prepared_.sizes, call_.outputs);
    const bool fuses =
        is_fused_best(plan_, prepared_.sizes) && has_lanes(codes.fused);
    const Schedule& schedule = fuses ? plan_.fused : plan_.split;
    note_extents();
    note_disjoint(schedule);
    check_addresses(prepared_, call_);
    check_empty(schedule, prepared_.sizes);
    add_temporaries(schedule);
    prepared_.passes.resize(schedule.passes.size());
    for (std::size_t i = 0; i < schedule.passes.size(); ++i) {
      PassCode* const code = fuses ? codes.fused[i] : codes.split[i];
      add_pass(schedule.passes[i], *code, prepared_.passes[i]);
    }
    if (!prepared_.temporaries.empty() || !prepared_.tables.empty())
      for (const Load load : loads_of(workers_))
        prepared_.needs_memory[load] = true;
    prepared_.is_resizable =
        is_resizable_schedule(schedule) && is_resizable_call();
    note_key();
  }

 private:
  /// Arrays of one shape without gaps, whose elements one task goes through.
  bool is_resizable_call() const {
    const TensorView& first = call_.outputs[0];
    const auto is_alike = [&](const TensorView& view) {
      if (view.has_strides || view.dims != first.dims) return false;
      return std::equal(first.shape.begin(), first.shape.begin() + first.dims,
                        view.shape.begin());
    };
    return is_usual_size(first.size()) &&
           std::ranges::all_of(call_.outputs, is_alike) &&
           std::ranges::all_of(call_.inputs, is_alike);
  }

  /// Returns whether there is one pass that visits memory in order. This shows
  /// that no dimensions were exchanged only if each is longer than 1.
  bool is_resizable_schedule(const Schedule& schedule) const {
    const PreparedPass& pass = prepared_.passes[0];
    const auto& tasks = pass.tasks[Load::Busy];
    if (schedule.passes.size() != 1 || tasks.size() != 1 ||
        pass.pass->has_reduction ||
        std::ranges::any_of(pass.pass->scalars, &ScalarWord::is_extent))
      return false;
    const std::uint32_t all = (1u << pass.pass->accesses.size()) - 1;
    const TensorView& out = call_.outputs[0];
    return tasks[0].flat == all &&
           std::all_of(out.shape.begin(), out.shape.begin() + out.dims,
                       [](std::int64_t size) { return size > 1; });
  }

  /// Returns whether all lanes have room for their cells. If not, a
  /// deterministic device runs each reduction in a separate pass.
  bool has_lanes(const std::vector<PassCode*>& codes) const {
    if (!workers_.are_deterministic) return true;
    for (std::size_t i = 0; i < codes.size(); ++i)
      if (plan_.fused.passes[i].has_reduction &&
          !has_ordered_lanes(workers_, codes[i]->cells))
        return false;
    return true;
  }

  void clear() {
    // Until all is done it fits no call.
    prepared_.key.clear();
    prepared_.is_resizable = false;
    prepared_.needs_memory = {};
    prepared_.tables.clear();
  }

  void note_key() {
    prepared_.glance = glance_at(call_);
    prepared_.key.resize(key_words(call_.inputs) + key_words(call_.outputs));
    std::int64_t* at = prepared_.key.data();
    write_key(call_.inputs, at);
    write_key(call_.outputs, at);
  }

  void note_extents() {
    prepared_.inputs.clear();
    prepared_.outputs.clear();
    for (const TensorView& view : call_.inputs)
      prepared_.inputs.push_back(program::extent_of(view));
    for (const TensorView& view : call_.outputs)
      prepared_.outputs.push_back(program::extent_of(view));
  }

  void find_all_sizes() {
    std::array<const std::int64_t*, kMaxInputs> shapes;
    for (std::size_t i = 0; i < call_.inputs.size(); ++i)
      shapes[i] = call_.inputs[i].shape.data();
    find_sizes(plan_, std::span(shapes.data(), call_.inputs.size()),
               prepared_.sizes);
  }

  const TensorView& view_of(const Buffer& buffer) const {
    switch (buffer.kind) {
      case Buffer::Kind::Input:
        return call_.inputs[buffer.index];
      case Buffer::Kind::Output:
        return call_.outputs[buffer.index];
      default:
        return prepared_.temporaries[buffer.index];
    }
  }

  Extent extent_of(const Buffer& buffer) const {
    switch (buffer.kind) {
      case Buffer::Kind::Input:
        return prepared_.inputs[buffer.index];
      case Buffer::Kind::Output:
        return prepared_.outputs[buffer.index];
      default:
        return program::extent_of(prepared_.temporaries[buffer.index]);
    }
  }

  void note_disjoint(const Schedule& schedule) {
    prepared_.disjoint.clear();
    for (std::size_t p = 0; p < schedule.passes.size(); ++p) {
      for (const BufferAccess& out : schedule.passes[p].accesses) {
        if (!out.writes || out.buffer.kind != Buffer::Kind::Output) continue;
        for (std::size_t q = p; q < schedule.passes.size(); ++q)
          note_disjoint(out, schedule.passes[q], q == p);
      }
    }
    prepared_.different.clear();
    const auto& outputs = prepared_.outputs;
    for (std::uint32_t i = 0; i < outputs.size(); ++i)
      for (std::uint32_t k = 0; k < i; ++k)
        if (!outputs[i].is_empty() && !outputs[k].is_empty())
          prepared_.different.push_back({k, i});
  }

  void note_disjoint(const BufferAccess& out, const Pass& pass,
                     bool is_same_pass) {
    const TensorView& output = call_.outputs[out.buffer.index];
    for (const BufferAccess& in : pass.accesses) {
      if (in.writes || in.buffer.kind != Buffer::Kind::Input) continue;
      const TensorView& input = call_.inputs[in.buffer.index];
      const bool may_be_same =
          is_same_pass && in.dims == out.dims && is_same_array(input, output);
      prepared_.disjoint.push_back(
          {out.buffer.index, in.buffer.index, may_be_same});
    }
  }

  /// Compares everything except the address.
  static bool is_same_array(const TensorView& input, const TensorView& output) {
    if (size_of(input.dtype) != size_of(output.dtype) ||
        input.dims != output.dims)
      return false;
    for (std::size_t d = 0; d < output.dims; ++d) {
      if (input.shape[d] != output.shape[d]) return false;
      if (output.shape[d] > 1 && stride_of(input, d) != stride_of(output, d))
        return false;
    }
    return true;
  }

  void add_temporaries(const Schedule& schedule) {
    prepared_.temporaries.clear();
    for (const Temporary& temporary : schedule.temporaries) {
      TensorView& view = prepared_.temporaries.emplace_back();
      view.dtype = temporary.dtype;
      view.dims = static_cast<std::uint8_t>(temporary.dims.size());
      for (std::size_t d = 0; d < temporary.dims.size(); ++d)
        view.shape[d] = prepared_.sizes[temporary.dims[d]];
    }
  }

  void add_pass(const Pass& pass, PassCode& code, PreparedPass& to) {
    to.pass = &pass;
    to.code = &code;
    to.accesses.clear();
    to.scalars.clear();
    for (const Load load : kLoads) to.tasks[load].clear();
    std::array<const TensorView*, kMaxAccesses> views;
    for (std::size_t a = 0; a < pass.accesses.size(); ++a) {
      const BufferAccess& access = pass.accesses[a];
      views[a] = &view_of(access.buffer);
      to.accesses.push_back(
          {access.buffer, extent_of(access.buffer), access.writes});
    }
    Layout layout;
    make_layout(pass, prepared_.sizes,
                std::span(views.data(), pass.accesses.size()), layout);
    if (layout.rows == 0 || (layout.columns == 0 && !pass.has_reduction))
      return;
    // The call's own are added to them.
    std::fill_n(layout.addresses.begin(), layout.accesses, 0);
    to.elements = layout.elements();
    add_scalars(pass, to);
    const auto add = [&](const Layout& piece) {
      add_tasks(pass, code, piece, to);
    };
    // This is a reference, because a copy would allocate memory.
    const std::uint64_t limit = pass.has_reduction
                                    ? most_rows(pass, layout.columns, workers_)
                                    : kMaxPieceElems;
    for_each_piece(pass, layout, limit, std::ref(add));
  }

  void add_scalars(const Pass& pass, PreparedPass& to) const {
    std::uint32_t arg = TaskModel::first_scalar(pass);
    for (const ScalarWord& word : pass.scalars) {
      if (!word.is_extent) {
        const ScalarSource& source = plan_.scalars[word.source];
        if (source.kind != ScalarSource::Kind::Literal)
          to.scalars.push_back(
              {arg, source.argument, word.dtype, word.is_imaginary});
      }
      ++arg;
    }
  }

  /// Adds one task for each load. Most differ only in the number of their
  /// tiles.
  void add_tasks(const Pass& pass, const PassCode& code, const Layout& layout,
                 PreparedPass& to) {
    Workers workers = workers_;
    if (pass.has_reduction) workers.lanes = row_lanes(workers, code.cells);
    std::uint64_t kept = 0;  // the address of the table that all tasks share
    const FarTable far_table = [&](std::span<const std::uint64_t> table) {
      if (kept == 0) {
        prepared_.tables.push_back(keep_table_(table));
        kept = reinterpret_cast<std::uint64_t>(prepared_.tables.back().get());
      }
      return kept;
    };
    Split before;
    const TaskModel* written = nullptr;
    for (const Load load : loads_of(workers_)) {
      workers.load = load;
      const Split split = split_of(pass, layout, workers);
      auto& tasks = to.tasks[load];
      if (written != nullptr && split.is_alike(before)) {
        tasks.push_back(*written);
        tasks.back().tiles = split.tiles;
      } else {
        write_arguments(
            {plan_, pass, layout, split, prepared_.sizes, workers.lanes},
            far_table, tasks.emplace_back());
        tasks.back().gathered = gathered_of(pass, layout, split, workers);
      }
      if (tasks.back().gathered.counters != 0)
        prepared_.needs_memory[load] = true;
      before = split;
      written = &tasks.back();
    }
  }

  const Plan& plan_;
  const CallViews& call_;
  const Workers& workers_;
  const KeepTable& keep_table_;
  Prepared& prepared_;
};

/// Notes the number of elements of a plain pass, and the numbers that follow
/// from it.
void note_elements(std::uint64_t elems, const CallViews& call,
                   const Workers& workers, Prepared& prepared) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    prepared.inputs[i].high = elems * size_of(call.inputs[i].dtype);
  for (std::size_t i = 0; i < call.outputs.size(); ++i)
    prepared.outputs[i].high = elems * size_of(call.outputs[i].dtype);
  PreparedPass& pass = prepared.passes[0];
  pass.elements = elems;
  for (PreparedAccess& access : pass.accesses)
    access.extent = access.buffer.kind == Buffer::Kind::Input
                        ? prepared.inputs[access.buffer.index]
                        : prepared.outputs[access.buffer.index];
  Layout layout;
  layout.columns = elems;
  Workers with_load = workers;
  for (const Load load : loads_of(workers)) {
    with_load.load = load;
    TaskModel& task = pass.tasks[load][0];
    task.count = elems;
    task.tiles = split_of(*pass.pass, layout, with_load).tiles;
  }
}

}  // namespace

bool resize(const CallViews& call, const Workers& workers, Prepared& prepared) {
  if (!prepared.is_resizable || call.inputs.size() != prepared.inputs.size() ||
      call.outputs.size() != prepared.outputs.size())
    return false;
  const TensorView& first = call.outputs[0];
  // All dimensions of others are compared with it, which has none below 0.
  const std::int64_t elems = first.size();
  std::int64_t* key = prepared.key.data();
  if (!is_usual_size(elems) || !take_shapes(call.inputs, first, key) ||
      !take_shapes(call.outputs, first, key)) {
    prepared.key.clear();
    prepared.is_resizable = false;
    return false;
  }
  prepared.glance = glance_at(call);
  note_elements(static_cast<std::uint64_t>(elems), call, workers, prepared);
  check_addresses(prepared, call);
  return true;
}

bool Prepared::fits(const CallViews& call) const noexcept {
  if (key.empty() || call.inputs.size() != inputs.size() ||
      call.outputs.size() != outputs.size())
    return false;
  const std::int64_t* at = key.data();
  return skip_same(call.inputs, at) && skip_same(call.outputs, at);
}

void prepare(const Plan& plan, const PlanCode& codes, const CallViews& call,
             const Workers& workers, const KeepTable& keep_table,
             Prepared& prepared) {
  Preparation(plan, call, workers, keep_table, prepared).run(codes);
}

}  // namespace gpuos::program
