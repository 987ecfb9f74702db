#include "program/calls/task.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <cstring>

#include "base/concat.h"
#include "device/interpreter/device_order.h"
#include "device/interpreter/order.h"
#include "device/short_floats.h"
#include "gpuos/error.h"
#include "program/graph/sizes.h"
#include "program/passes/compute_type.h"
#include "program/passes/operations.h"

namespace gpuos::program {
namespace {

/// Elements that a lane takes at a time when there are enough for all.
constexpr std::uint64_t kWide = 4;
/// The width when workers have a backlog. Then only the cost of a call for host
/// and device matters, not its end.
constexpr std::uint64_t kWidest = 8;
/// Elements of a worker's tile on the host, if each needs very little work. The
/// smallest number is a chunk of compiled code without reductions.
constexpr std::uint64_t kHostTile = 16384;
constexpr std::uint64_t kHostChunk = 128;
/// On the host, this number of operations takes as long as one memory access.
constexpr std::uint64_t kHostOperations = 2;
/// The least elements of a tile on the device, for one operation or a few. A
/// smaller tile costs the host more than the worker gains.
constexpr std::uint64_t kDeviceTile = 4096;
/// The tiles that fit the parameters of a launch with their argument block. A
/// single call is fastest if this number of workers shares it.
constexpr std::uint64_t kParameterTiles = 48;
constexpr std::size_t kFewOperations = 8;

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

std::uint32_t clamp_tiles(std::uint64_t tiles, std::uint64_t most) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      tiles, 1, std::min<std::uint64_t>(most, abi::kMaxTiles)));
}

/// Returns whether rows, not columns, follow each other in memory, along
/// dimension `dim` of the rows.
bool has_close_rows(const Layout& layout, std::uint32_t dim) {
  for (std::uint32_t a = 0; a < layout.accesses; ++a) {
    const std::int64_t row = std::abs(layout.strides[a][dim]);
    const std::int64_t column = std::abs(layout.strides[a][layout.dims() - 1]);
    if (row != 0 && column != 0 && row != column) return row < column;
  }
  return false;
}
bool has_close_rows(const Layout& layout) {
  return layout.outer != 0 && layout.inner != 0 &&
         has_close_rows(layout, layout.outer - 1);
}

Split split_elements(const Layout& layout, const Workers& workers) {
  // An idle queue means that the program waits for this result. Otherwise fewer
  // workers need fewer instructions.
  if (workers.load == Load::Idle)
    return {.tiles = clamp_tiles(ceil_div(layout.columns, workers.lanes),
                                 workers.count)};
  // Rounded: a few elements more are not worth a tile.
  const std::uint64_t each =
      workers.lanes * (workers.load == Load::Backlog ? kWidest : kWide);
  return {.tiles =
              clamp_tiles((layout.columns + each / 2) / each, workers.count)};
}

/// Returns the lanes for each row that finish all rows soonest: many rows at a
/// time, but not only a few in the last turn.
std::uint64_t lanes_for_many_rows(const Layout& layout, const Workers& workers,
                                  std::uint64_t most) {
  constexpr std::uint64_t kWarp = 32;
  constexpr std::uint64_t kJoin = 16;  // cost in columns
  std::uint64_t best = most;
  std::uint64_t best_time = ~std::uint64_t{0};
  for (std::uint64_t lanes = most; lanes >= kWarp; lanes /= 2) {
    const std::uint64_t at_once = workers.count * (workers.lanes / lanes);
    const std::uint64_t time = ceil_div(layout.rows, at_once) *
                               (ceil_div(layout.columns, lanes) + kJoin);
    if (time > best_time) continue;
    best = lanes;
    best_time = time;
  }
  return best;
}

/// Lanes and slices that the columns decide: where a row is shared, by as many
/// tiles as it has slices, else by the lanes of one worker.
Split split_in_order(const Pass& pass, const Layout& layout,
                     const Workers& workers) {
  Split split;
  split.is_transposed = has_close_rows(layout);
  split.row_lanes =
      std::min(ordered_lanes(layout.columns), std::bit_floor(workers.lanes));
  split.slices = ordered_slices(layout.columns);
  split.shares_rows = split.slices > 1 && pass.loops() == 1;
  const std::uint64_t groups =
      ceil_div(layout.rows, workers.lanes / split.row_lanes);
  split.tiles = split.shares_rows
                    ? static_cast<std::uint32_t>(groups * split.slices)
                    : clamp_tiles(groups, workers.count);
  return split;
}

Split split_rows(const Pass& pass, const Layout& layout,
                 const Workers& workers) {
  if (workers.are_deterministic) return split_in_order(pass, layout, workers);
  Split split;
  const std::uint64_t lanes = workers.lanes;
  split.is_transposed = has_close_rows(layout);
  // Lanes of a row have at least two columns each.
  std::uint64_t row_lanes =
      std::bit_ceil(std::max<std::uint64_t>(1, ceil_div(layout.columns, 4)));
  row_lanes = std::min(row_lanes, std::bit_floor(lanes));
  if (split.is_transposed) {
    // A warp reads neighbouring rows. A row has more lanes only if rows are
    // few.
    const std::uint64_t wanted = ceil_div(workers.count * lanes, layout.rows);
    const std::uint64_t most = std::max<std::uint64_t>(1, lanes / 32);
    row_lanes =
        std::min({row_lanes, std::bit_ceil(wanted), std::bit_floor(most)});
  } else if (pass.loops() == 1) {
    // With several loops a row should fit the lanes' registers.
    row_lanes = lanes_for_many_rows(layout, workers, row_lanes);
  }
  split.row_lanes = static_cast<std::uint32_t>(row_lanes);
  const std::uint64_t groups = ceil_div(layout.rows, lanes / row_lanes);
  if (pass.loops() == 1 && groups < workers.count) {
    const std::uint64_t wanted = layout.columns / (row_lanes * kSliceColumns);
    split.slices = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(wanted, 1, workers.count / groups));
    split.shares_rows = split.slices > 1;
  }
  const std::uint64_t most =
      split.slices > 1 ? groups * split.slices : workers.count;
  split.tiles = clamp_tiles(groups * split.slices, most);
  return split;
}

/// Returns the number of tiles. Each has enough work to make the cost of its
/// distribution small.
std::uint64_t host_tiles(const Pass& pass, const Layout& layout,
                         const Workers& workers) {
  const std::uint64_t elements = layout.elements();
  // With little work, one of two workers sleeps.
  const std::uint64_t each =
      workers.count <= 2
          ? 1
          : std::max<std::uint64_t>(1, pass.operations / kHostOperations);
  return std::min(elements * each / kHostTile, ceil_div(elements, kHostChunk));
}

/// At least as many as are wanted, each a branch of the tree of a row's blocks
/// (device/interpreter/order.h): how many there are changes no result.
std::uint64_t host_slices(const Layout& layout, std::uint64_t wanted) {
  if (wanted == 1) return 1;
  const std::uint64_t blocks = layout.columns / wanted / kOrderedBlock;
  return ceil_div(layout.columns, std::bit_floor(blocks) * kOrderedBlock);
}

/// Returns whether the host runs many rows side by side.
bool has_rows_side_by_side(const Layout& layout) {
  // A row of its own costs more than so many columns.
  constexpr std::uint64_t kFewColumns = 8;
  constexpr std::uint64_t kManyRows = 32;
  if (layout.columns >= kMostColumnsOfRows) return false;
  if (layout.inner == 0) return false;
  for (std::uint32_t d = 0; d < layout.outer; ++d)
    if (has_close_rows(layout, d)) return true;
  return layout.columns <= kFewColumns && layout.rows >= kManyRows;
}

Split split_host_rows(const Pass& pass, const Layout& layout,
                      const Workers& workers) {
  Split split;
  split.is_transposed = has_rows_side_by_side(layout);
  const std::uint64_t wanted = host_tiles(pass, layout, workers);
  if (pass.loops() == 1 && layout.rows < workers.count) {
    const std::uint64_t slices = std::clamp<std::uint64_t>(
        layout.columns / kHostTile, 1, 4 * workers.count / layout.rows);
    split.slices = static_cast<std::uint32_t>(host_slices(layout, slices));
  }
  split.shares_rows = split.slices > 1;
  if (split.shares_rows) split.is_transposed = false;
  split.tiles =
      split.slices > 1
          ? static_cast<std::uint32_t>(layout.rows * split.slices)
          : clamp_tiles(std::min(wanted, layout.rows), 4 * workers.count);
  return split;
}

std::uint64_t group_rows(const Split& split, const Workers& workers) {
  return workers.lanes == 1 ? 1 : workers.lanes / split.row_lanes;
}

std::uint64_t computed_bits(std::uint64_t bits, DType dtype) {
  switch (dtype) {
    case DType::Int8:
      return static_cast<std::uint32_t>(static_cast<std::int8_t>(bits));
    case DType::Int16:
      return static_cast<std::uint32_t>(static_cast<std::int16_t>(bits));
#define GPUOS_CASE(with, name, text, bytes, Stored, ...)    \
  case DType::name:                                         \
    return std::bit_cast<std::uint32_t>(static_cast<float>( \
        std::bit_cast<Stored>(static_cast<decltype(Stored::bits)>(bits))));
      GPUOS_SHORT_FLOATS(GPUOS_CASE, )
#undef GPUOS_CASE
    default:
      return bits;
  }
}

/// Appends words to a task's arguments.
class ArgumentWriter {
 public:
  explicit ArgumentWriter(TaskModel& task) : task_(task) { task.arg_count = 0; }

  void add(std::uint64_t word) { task_.args[task_.arg_count++] = word; }
  template <typename T>
  void add(const T& value) {
    static_assert(sizeof(T) % 8 == 0);
    std::uint64_t words[sizeof(T) / 8];
    std::memcpy(words, &value, sizeof(T));
    for (const std::uint64_t word : words) add(word);
  }
  std::size_t room() const { return task_.args.size() - task_.arg_count; }

 private:
  TaskModel& task_;
};

/// The sizes and strides of a layout as a task carries them.
struct Table {
  static constexpr std::size_t kMost = kMaxAxes / 2 + kMaxAccesses * kMaxAxes;
  std::array<std::uint64_t, kMost> words;
  std::size_t count = 0;

  std::span<const std::uint64_t> view() const { return {words.data(), count}; }
};

void fill_table(const Layout& layout, Table& table) {
  table.count = (layout.dims() + 1) / 2;
  std::fill_n(table.words.begin(), table.count, 0);
  for (std::uint32_t d = 0; d < layout.dims(); ++d)
    table.words[d / 2] |= (layout.sizes[d] & 0xffffffff) << (d % 2 * 32);
  for (std::uint32_t a = 0; a < layout.accesses; ++a)
    for (std::uint32_t d = 0; d < layout.dims(); ++d)
      table.words[table.count++] =
          static_cast<std::uint64_t>(layout.strides[a][d]);
}

/// Returns a scalar of the program. Scalars of a call stay 0.
std::uint64_t known_scalar(const TaskParts& parts, const ScalarWord& word) {
  if (word.is_extent)
    return std::bit_cast<std::uint64_t>(
        static_cast<double>(count_of(word.extent, parts.sizes)));
  const ScalarSource& source = parts.plan.scalars[word.source];
  return source.kind == ScalarSource::Kind::Literal
             ? scalar_bits(*source.literal, word)
             : 0;
}

/// Returns the workers for which a separate tile pays off.
Workers worthwhile(const Pass& pass, const Layout& layout, Workers workers) {
  // In a single call, each further loop over a row takes the same time again.
  const bool is_idle = workers.load == Load::Idle;
  if (is_idle && pass.loops() > 1) return workers;
  const std::uint64_t work =
      layout.elements() * (1 + pass.operations / kFewOperations);
  const std::uint64_t least = is_idle ? kParameterTiles : 1;
  workers.count =
      clamp_tiles(std::max(ceil_div(work, kDeviceTile), least), workers.count);
  return workers;
}

Split split_on_device(const Pass& pass, const Layout& layout,
                      const Workers& workers) {
  return pass.has_reduction ? split_rows(pass, layout, workers)
                            : split_elements(layout, workers);
}

Split split_on_host(const Pass& pass, const Layout& layout,
                    const Workers& workers) {
  if (pass.has_reduction) return split_host_rows(pass, layout, workers);
  return {.tiles = clamp_tiles(host_tiles(pass, layout, workers),
                               4 * workers.count)};
}

}  // namespace

std::uint32_t row_lanes(const Workers& workers, std::uint32_t cells) noexcept {
  std::uint32_t lanes = std::bit_floor(workers.lanes);
  while (lanes > 32 && cells * lanes * 4 > kCellBytes) lanes /= 2;
  return lanes;
}

bool has_ordered_lanes(const Workers& workers, std::uint32_t cells) noexcept {
  return row_lanes(workers, cells) >=
         std::min(std::bit_floor(workers.lanes), std::uint32_t{kMostRowLanes});
}

std::uint64_t most_rows(const Pass& pass, std::uint64_t columns,
                        const Workers& workers) noexcept {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 31;
  if (!workers.are_deterministic || pass.loops() != 1) return kMost;
  const std::uint32_t slices = ordered_slices(columns);
  return slices == 1 ? kMost : abi::kMaxTiles / slices;
}

Split split_of(const Pass& pass, const Layout& layout, const Workers& workers) {
  if (workers.lanes == 1) return split_on_host(pass, layout, workers);
  return split_on_device(pass, layout, worthwhile(pass, layout, workers));
}

SliceMemory gathered_of(const Pass& pass, const Layout& layout,
                        const Split& split, const Workers& workers) {
  if (split.slices == 1) return {};
  std::size_t cells = 0;
  for (const Step& step : pass.steps)
    if (step.kind == Step::Kind::Reduce) cells += gathered_cells(step);
  const std::uint64_t in_group = group_rows(split, workers);
  const std::uint64_t groups = ceil_div(layout.rows, in_group);
  return {.counters = static_cast<std::uint32_t>(groups),
          .bytes = 4 * groups * in_group * split.slices * cells};
}

std::uint64_t scalar_bits(const gpuos::Scalar& value, DType dtype,
                          bool is_imaginary) {
  return computed_bits(value.bits_as(dtype, is_imaginary), dtype);
}

void write_arguments(const TaskParts& parts, const FarTable& far_table,
                     TaskModel& task) {
  const auto& [plan, pass, layout, split, sizes, lanes] = parts;
  constexpr std::size_t kFixed = (sizeof(TaskShape) + sizeof(RowShape)) / 8;
  ArgumentWriter arguments(task);
  arguments.add(std::uint64_t{0});  // the text
  for (std::uint32_t a = 0; a < layout.accesses; ++a)
    arguments.add(layout.addresses[a]);
  for (const ScalarWord& word : pass.scalars)
    arguments.add(known_scalar(parts, word));
  task.count = std::clamp<std::uint64_t>(layout.elements(), 1, 0xffffffff);
  task.tiles = split.tiles;
  TaskShape shape{.flat = 0,
                  .flags = 0,
                  .outer_dims = static_cast<u8>(layout.outer),
                  .inner_dims = static_cast<u8>(layout.inner),
                  .unused = 0};
  if (const auto flat = flat_accesses(pass, layout)) {
    shape.flat = task.flat = *flat;
    shape.flags = kFlat;
    arguments.add(shape);
    return;
  }
  if (pass.has_reduction) shape.flags |= kRows;
  if (split.is_transposed) shape.flags |= kTransposed;
  if (split.shares_rows) shape.flags |= kSliced;
  Table table;
  fill_table(layout, table);
  assert(kFixed + 1 <= arguments.room() && "kMaxPassArguments leaves it");
  const bool is_far = kFixed + table.count > arguments.room();
  if (is_far) shape.flags |= kFarTable;
  arguments.add(shape);
  arguments.add(RowShape{.columns = layout.columns,
                         .rows = static_cast<u32>(layout.rows),
                         .row_lanes = split.row_lanes,
                         .slices = split.slices,
                         .lanes = lanes,
                         .gathered = 0});
  static_assert(offsetof(RowShape, gathered) + 8 == sizeof(RowShape));
  task.gathered_arg = task.arg_count - 1;
  if (is_far) {
    arguments.add(far_table(table.view()));
    return;
  }
  for (const std::uint64_t word : table.view()) arguments.add(word);
}

void for_each_piece(const Pass& pass, const Layout& layout, std::uint64_t limit,
                    const std::function<void(const Layout&)>& f) {
  const std::uint64_t size = pass.has_reduction ? layout.rows : layout.columns;
  if (size <= limit) {
    f(layout);
    return;
  }
  // The first dimension in two halves.
  Layout half = layout;
  const std::uint64_t first = layout.sizes[0] / 2;
  half.sizes[0] = first;
  (pass.has_reduction ? half.rows : half.columns) =
      size / layout.sizes[0] * first;
  for_each_piece(pass, half, limit, f);
  half.sizes[0] = layout.sizes[0] - first;
  (pass.has_reduction ? half.rows : half.columns) =
      size / layout.sizes[0] * half.sizes[0];
  for (std::uint32_t a = 0; a < layout.accesses; ++a)
    half.addresses[a] +=
        first * static_cast<std::uint64_t>(layout.strides[a][0]);
  for_each_piece(pass, half, limit, f);
}

}  // namespace gpuos::program
