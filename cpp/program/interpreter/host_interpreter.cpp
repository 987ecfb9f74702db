#include "program/interpreter/host_interpreter.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "device/interpreter/slices.h"
#include "program/interpreter/host_sums.h"
#include "program/interpreter/task_reader.h"
#include "program/loops/loop_table.h"

namespace gpuos::program {
namespace {

constexpr std::size_t kCellWords = 8 * 1024;         // of a level-one cache
constexpr std::size_t kWordsSideBySide = 12 * 1024;  // sums are used by turns
constexpr std::size_t kMaxChunk = 512;               // elements
constexpr std::size_t kMinChunk = 16;
constexpr std::size_t kMinRows = 32;  // side by side
// All cells of the smallest chunk, and what as many sums of any row gather.
constexpr std::size_t kMaxWords = (kMinChunk + kPartials + kLevels) * 256;

/// The elements of one run of a part: rows [row, row + count) of one
/// column, or one row's columns [column, column + count).
struct Chunk {
  u64 row = 0;
  u64 column = 0;
  std::size_t count = 0;
};

class HostInterpreter {
 public:
  HostInterpreter(const Task& task, const Lane& lane)
      : task_(task), lane_(lane), table_(loop_table()) {
    choose_chunk();
  }

  void run() {
    if (has(kSliced))
      run_slice();
    else if (has(kRows))
      run_rows();
    else
      run_elements();
  }

 private:
  static constexpr u32 kLasts = 3;  // results that no cell keeps, in turns

  using Bits = std::array<u64, 2>;  // of a value

  u32 parts() const { return task_.header.parts; }
  bool has(u8 flag) const { return task_.is(flag); }
  bool is_transposed() const { return is_transposed_; }

  // The cells and the partial sums share the memory.
  void choose_chunk() {
    const std::size_t cells = task_.header.cells + 2 * kLasts;
    const u64 columns = task_.rows.columns;
    if (has(kTransposed)) {
      const std::size_t sums = sums_.words_side_by_side(columns);
      chunk_ = std::min(kMaxChunk, kWordsSideBySide / (cells + sums) / 16 * 16);
      is_transposed_ = chunk_ >= kMinRows;
    }
    if (is_transposed_) return;
    const std::size_t sums = has(kRows) ? sums_.row_words() : 0;
    const std::size_t room = sums < kCellWords ? kCellWords - sums : 0;
    chunk_ = std::clamp(room / cells / 16 * 16, kMinChunk, kMaxChunk);
    sums_.place(sums_memory(), 1);
  }
  char* sums_memory() { return cell(task_.header.cells + 2 * kLasts); }

  void run_elements() {
    const auto [begin, end] =
        range_of(task_.rows.columns, lane_.tile(), lane_.tiles());
    run_part(0, {0, begin, std::min<std::size_t>(chunk_, end - begin)});
    run_loop(1, 0, begin, end);
    // Computes the values that are the same for all elements.
    if (lane_.tile() == 0) run_part(2, {0, 0, 1});
  }

  void run_loop(u32 part, u64 row, u64 begin, u64 end) {
    for (u64 column = begin; column < end; column += chunk_)
      run_part(part,
               {row, column, std::min<std::size_t>(chunk_, end - column)});
  }

  void run_rows() {
    const auto [begin, end] =
        range_of(task_.rows.rows, lane_.tile(), lane_.tiles());
    if (is_transposed()) {
      for (u64 row = begin; row < end; row += chunk_)
        run_many_rows(row, std::min<std::size_t>(chunk_, end - row));
    } else {
      for (u64 row = begin; row < end; ++row) run_row(row);
    }
  }

  void run_row(u64 row) {
    const u64 columns = end_ = task_.rows.columns;
    // Includes the initial values of reductions.
    const std::size_t width = std::clamp<u64>(columns, 1, chunk_);
    for (u32 part = 0; part < parts(); ++part) {
      if (part % 2 == 0)
        run_part(part, {row, 0, width});
      else
        run_loop(part, row, 0, columns);
    }
  }

  void run_many_rows(u64 row, std::size_t count) {
    end_ = task_.rows.columns;
    sums_.place(sums_memory(), count);
    for (u32 part = 0; part < parts(); ++part) {
      const u64 turns = part % 2 == 0 ? 1 : task_.rows.columns;
      for (u64 column = 0; column < turns; ++column)
        run_part(part, {row, column, count});
    }
  }

  // Runs one slice of a row. The last worker combines the slices.
  void run_slice() {
    const u64 slices = task_.rows.slices;
    const u64 row = lane_.tile() / slices;
    const u64 slice = lane_.tile() % slices;
    const Range columns = columns_of(task_.rows, slice);
    begin_ = columns.begin;
    end_ = columns.end;
    const std::size_t width = std::clamp<u64>(end_ - begin_, 1, chunk_);
    run_part(0, {row, 0, width});
    run_loop(1, row, begin_, end_);
    run_joins(width);
    u32* const cells = gathered_cells();
    const std::size_t words = gathered_words();
    keep_gathered(cells + (row * slices + slice) * words);
    if (!is_last_slice(task_.rows, row)) return;
    join_slices(cells + row * slices * words, slices);
    is_row_part_ = true;
    run_after_joins({row, 0, 1});
  }

  u32* gathered_cells() const {
    return reinterpret_cast<u32*>(task_.rows.gathered) + task_.rows.rows;
  }

  /// Calls `f` for each join at the beginning of part 2.
  template <typename F>
  void each_join(F f) const {
    for (const Instruction* at = task_.begin(2); at != task_.end(2); ++at)
      if (is_join(*at)) f(*at);
  }

  std::size_t gathered_words() const {
    std::size_t words = 0;
    each_join([&](const Instruction& join) { words += cells_of(join); });
    return words;
  }

  void run_joins(std::size_t count) {
    each_join([&](const Instruction& join) { run_one(join, {0, 0, count}); });
  }

  void run_after_joins(const Chunk& chunk) {
    for (const Instruction* at = task_.begin(2); at != task_.end(2); ++at)
      if (!is_join(*at)) run_one(*at, chunk);
  }

  void keep_gathered(u32* to) {
    each_join([&](const Instruction& join) {
      const u32 value = cells_of(type_of(join.opcode));
      std::memcpy(to, cell(join.out), value * 4);
      to += value;
      if (kind_of(join) != kPlaceJoin) return;
      std::memcpy(to, cell(join.out + value), 8);
      to += 2;
    });
  }

  void join_slices(const u32* from, u64 slices) {
    const std::size_t words = gathered_words();
    each_join([&](const Instruction& join) {
      if (kind_of(join) == kJoin)
        spread(join, sums_.join_slices(join, from, words, slices), 1);
      else
        join_places(join, from, words, slices);
      from += cells_of(join);
    });
  }

  void join_places(const Instruction& join, const u32* from, std::size_t words,
                   u64 slices) {
    const u32 value = cells_of(type_of(join.opcode));
    const Loop step = table_.loops[opcode_of(step_of(code_of(join.opcode)),
                                             type_of(join.opcode))];
    char* const values = cell(join.out);
    char* const places = cell(join.out + value);
    std::memcpy(values, from, value * 4);
    std::memcpy(places, from + value, 8);
    for (u64 slice = 1; slice < slices; ++slice) {
      alignas(8) u32 other[2];
      u64 place = 0;
      std::memcpy(other, from + slice * words, value * 4);
      std::memcpy(&place, from + slice * words + value, 8);
      step(
          {.out = values, .a = other, .c = places, .count = 1, .place = place});
    }
  }

  void run_part(u32 part, const Chunk& chunk) {
    is_row_part_ = part % 2 == 0;
    for (const Instruction* at = task_.begin(part); at != task_.end(part); ++at)
      run_one(*at, chunk);
  }

  char* cell(u32 number) { return cells_ + std::size_t{number} * chunk_ * 4; }
  char* last_cell() { return cell(task_.header.cells + 2 * last_); }

  char* result_cell(u8 number) {
    if (number != kLast) return result_ = cell(number);
    // Avoids the cell that an operand may use.
    last_ = (last_ + 1) % kLasts;
    return result_ = last_cell();
  }

  const void* operand_cell(u8 number) {
    return number == kLast ? result_ : cell(number);
  }

  void run_one(const Instruction& x, const Chunk& chunk) {
    const Code code = code_of(x.opcode);
    const u32 kind = kind_of(x);
    if (kind == kInit) return;
    if (kind == kStep) {
      take(x, chunk);
    } else if (kind == kJoin) {
      finish(x, chunk.count);
    } else if (kind == kLoad) {
      walk(x.index, chunk, code, result_cell(x.out), x.out == kLast);
    } else if (kind == kStore) {
      // A row has one result, however wide its values are.
      const bool is_single = is_row_part_ && !is_transposed();
      walk(x.index, {chunk.row, chunk.column, is_single ? 1 : chunk.count},
           code, static_cast<char*>(const_cast<void*>(operand_cell(x.a))));
    } else if (kind == kScalar) {
      fill_scalar(x, chunk.count);
    } else {
      compute(x, chunk);
    }
  }

  void take(const Instruction& step, const Chunk& chunk) {
    const void* values = operand_cell(step.a);
    const u64 at = chunk.column - begin_;
    const u64 columns = end_ - begin_;
    if (is_transposed())
      sums_.take_rows(step, values, at, columns);
    else
      sums_.take(step, values, chunk.count, at, columns);
  }

  void finish(const Instruction& join, std::size_t count) {
    const u64 columns = end_ - begin_;
    if (is_transposed()) {
      const std::size_t bytes = 4 * cells_of(type_of(join.opcode));
      const char* const sums = sums_.finish_rows(join, columns);
      std::memcpy(result_cell(join.out), sums, count * bytes);
    } else {
      spread(join, sums_.finish(join, columns), count);
    }
  }

  /// A row's sum for each of its columns.
  void spread(const Instruction& join, const char* sum, std::size_t count) {
    const u32 cells = cells_of(type_of(join.opcode));
    Bits bits{};
    std::memcpy(&bits, sum, 4 * cells);
    fill(result_cell(join.out), bits, count, cells);
  }

  void fill_scalar(const Instruction& x, std::size_t count) {
    const u32 cells = cells_of(type_of(x.opcode));
    const u64 second = cells == 4 ? task_.scalar(x.index + 1) : 0;
    fill(result_cell(x.out), {task_.scalar(x.index), second}, count, cells);
  }
  static void fill(char* out, const Bits& bits, std::size_t count, u32 cells) {
    if (cells == 4)
      std::fill_n(reinterpret_cast<Bits*>(out), count, bits);
    else if (cells == 2)
      std::fill_n(reinterpret_cast<u64*>(out), count, bits[0]);
    else
      std::fill_n(reinterpret_cast<u32*>(out), count,
                  static_cast<u32>(bits[0]));
  }

  void compute(const Instruction& x, const Chunk& chunk) {
    LoopOperands operands{.a = operand_cell(x.a),
                          .b = operand_cell(x.b),
                          .count = chunk.count,
                          .place = chunk.column};
    if (x.c != kLast) operands.c = cell(x.c);
    if (kind_of(x) >= kPlaceInit) {
      const u32 value = cells_of(type_of(x.opcode));
      operands.c = cell(x.out + value);
      operands.b = is_transposed() ? operands.a : nullptr;
    }
    // Lanes that have a row each have nothing to join.
    if (is_transposed() && is_join(x)) return;
    operands.out = result_cell(x.out);
    table_.loops[x.opcode](operands);
  }

  /// Returns whether a value stays in memory. It has the form of a cell then,
  /// and only the next instruction reads it.
  bool stays(Code code, i64 stride) const {
    return (code == Code::Load32 && stride == 4) ||
           (code == Code::Load64 && stride == 8);
  }

  /// Loads or stores the elements of `chunk`, in runs along which the access
  /// has one stride.
  void walk(u32 access, const Chunk& chunk, Code code, char* cells,
            bool may_stay = false) {
    char* const base = reinterpret_cast<char*>(task_.addresses[access]);
    const MemoryLoop loop = table_.memory[static_cast<u32>(code)];
    const u32 cell_bytes = 4 * cells_of(code);
    task_.each_run(
        access, bytes_of(code),
        {chunk.row, chunk.column, chunk.count, is_transposed()},
        [&](const Run& run) {
          char* const from = base + run.offset;
          if (may_stay && run.count == chunk.count && stays(code, run.stride))
            result_ = from;
          else
            loop({cells + run.done * cell_bytes, from, run.stride, run.count,
                  run.runs, run.between});
        });
  }

  const TaskReader task_;
  const Lane lane_;
  const LoopTable& table_;
  HostSums sums_{task_, table_};
  u64 begin_ = 0;  // the columns of a row that the tile is for
  u64 end_ = 0;
  std::size_t chunk_ = 0;
  bool is_transposed_ = false;
  u32 last_ = 0;
  bool is_row_part_ = true;
  char* result_ = nullptr;
  alignas(64) char cells_[kMaxWords * 4];
};

}  // namespace

void interpret(Task task, Lane lane) { HostInterpreter(task, lane).run(); }

}  // namespace gpuos::program
