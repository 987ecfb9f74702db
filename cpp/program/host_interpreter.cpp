#include "program/host_interpreter.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "program/loops/loop_table.h"
#include "program/task_reader.h"

namespace gpuos::program {
namespace {

constexpr std::size_t kCellBytes = 32 * 1024;  // of a level-one cache
constexpr std::size_t kMaxChunk = 512;         // elements

/// The elements that one run of a part is for: rows [row, row + count) of one
/// column, or one row's columns [column, column + count).
struct Chunk {
  u64 row = 0;
  u64 column = 0;
  std::size_t count = 0;
};

constexpr Code code_of(u16 opcode) {
  return static_cast<Code>(opcode >> kTypeBits);
}
constexpr u32 type_of(u16 opcode) { return opcode & ((1u << kTypeBits) - 1); }

constexpr bool is_between(Code code, Code first, Code last) {
  return code >= first && code <= last;
}

constexpr bool is_wide(u32 type) { return type == kF64 || type >= kI64; }

class Interpreter {
 public:
  Interpreter(const Task& task, const Lane& lane)
      : task_(task), lane_(lane), table_(loop_table()) {
    const std::size_t room = kCellBytes / 4 / (task_.header.cells + 2 * kLasts);
    chunk_ = std::min(kMaxChunk, room / 16 * 16);
  }

  void run() {
    if ((task_.shape.flags & kSliced) != 0)
      run_slice();
    else if ((task_.shape.flags & kRows) != 0)
      run_rows();
    else
      run_elements();
  }

 private:
  static constexpr u32 kLasts = 3;  // results that no cell keeps, in turns

  u32 parts() const { return task_.header.parts; }
  bool is_transposed() const { return (task_.shape.flags & kTransposed) != 0; }

  /// The share of `total` that is this tile's.
  std::pair<u64, u64> share(u64 total, u64 tile, u64 tiles) const {
    const u64 whole = total / tiles;
    const u64 rest = total % tiles;
    const u64 begin = tile * whole + std::min(tile, rest);
    return {begin, begin + whole + (tile < rest ? 1 : 0)};
  }

  void run_elements() {
    const auto [begin, end] =
        share(task_.rows.columns, lane_.tile(), lane_.tiles());
    run_part(0, {0, begin, std::min<std::size_t>(chunk_, end - begin)});
    run_loop(1, 0, begin, end);
    // What is the same for all elements.
    if (lane_.tile() == 0) run_part(2, {0, 0, 1});
  }

  void run_loop(u32 part, u64 row, u64 begin, u64 end) {
    for (u64 column = begin; column < end; column += chunk_)
      run_part(part,
               {row, column, std::min<std::size_t>(chunk_, end - column)});
  }

  void run_rows() {
    const auto [begin, end] =
        share(task_.rows.rows, lane_.tile(), lane_.tiles());
    if (is_transposed()) {
      for (u64 row = begin; row < end; row += chunk_)
        run_many_rows(row, std::min<std::size_t>(chunk_, end - row));
    } else {
      for (u64 row = begin; row < end; ++row) run_row(row);
    }
  }

  void run_row(u64 row) {
    const u64 columns = task_.rows.columns;
    // Also what reductions begin with.
    const std::size_t width = std::clamp<u64>(columns, 1, chunk_);
    for (u32 part = 0; part < parts(); ++part) {
      if (part % 2 == 0)
        run_part(part, {row, 0, width});
      else
        run_loop(part, row, 0, columns);
    }
  }

  void run_many_rows(u64 row, std::size_t count) {
    for (u32 part = 0; part < parts(); ++part) {
      const u64 turns = part % 2 == 0 ? 1 : task_.rows.columns;
      for (u64 column = 0; column < turns; ++column)
        run_part(part, {row, column, count});
    }
  }

  // One slice of a row; who comes last puts them together.
  void run_slice() {
    const u64 slices = task_.rows.slices;
    const u64 row = lane_.tile() / slices;
    const u64 slice = lane_.tile() % slices;
    const auto [begin, end] = share(task_.rows.columns, slice, slices);
    const std::size_t width = std::clamp<u64>(end - begin, 1, chunk_);
    run_part(0, {row, 0, width});
    run_loop(1, row, begin, end);
    run_joins(width);
    u32* const cells = gathered_cells();
    const std::size_t words = gathered_words();
    keep_gathered(cells + (row * slices + slice) * words);
    // Releases this slice, and acquires the others for the last one.
    std::atomic_ref<u32> counter(counters()[row]);
    if (counter.fetch_add(1, std::memory_order_acq_rel) + 1 != slices) return;
    counter.store(0, std::memory_order_relaxed);
    const std::size_t all = std::min<u64>(slices, chunk_);
    gather(cells + row * slices * words, slices, all);
    run_joins(all);
    is_row_part_ = true;
    run_after_joins({row, 0, 1});
  }

  u32* counters() const { return reinterpret_cast<u32*>(task_.rows.gathered); }
  u32* gathered_cells() const { return counters() + task_.rows.rows; }

  static bool is_join(const Instruction& instruction) {
    switch (code_of(instruction.opcode)) {
      case Code::SumJoin:
      case Code::ProdJoin:
      case Code::MaxJoin:
      case Code::MinJoin:
      case Code::ArgmaxJoin:
      case Code::ArgminJoin:
        return true;
      default:
        return false;
    }
  }
  static bool is_place(Code code) {
    return is_between(code, Code::ArgmaxInit, Code::ArgminJoin);
  }
  static u32 cells_of(const Instruction& join) {
    const u32 value = is_wide(type_of(join.opcode)) ? 2 : 1;
    return value + (is_place(code_of(join.opcode)) ? 2 : 0);
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
      const u32 value = is_wide(type_of(join.opcode)) ? 2 : 1;
      std::memcpy(to, cell(join.out), value * 4);
      to += value;
      if (!is_place(code_of(join.opcode))) return;
      std::memcpy(to, cell(join.out + value), 8);
      to += 2;
    });
  }

  /// The slices' results side by side in the cells; those that do not fit are
  /// put together with the ones before.
  void gather(const u32* from, u64 slices, std::size_t width) {
    const std::size_t words = gathered_words();
    std::size_t at = 0;
    each_join([&](const Instruction& join) {
      const u32 value = is_wide(type_of(join.opcode)) ? 2 : 1;
      const bool places = is_place(code_of(join.opcode));
      for (u64 slice = 0; slice < slices; ++slice) {
        const u32* source = from + slice * words + at;
        if (slice < width) {
          std::memcpy(cell(join.out) + slice * value * 4, source, value * 4);
          if (places)
            std::memcpy(cell(join.out + value) + slice * 8, source + value, 8);
        } else {
          put_together(join, slice % width, source, value);
        }
      }
      at += cells_of(join);
    });
  }

  void put_together(const Instruction& join, std::size_t i, const u32* source,
                    u32 value) {
    alignas(8) u32 other[2];
    std::memcpy(other, source, value * 4);
    u64 place = 0;
    const bool places = is_place(code_of(join.opcode));
    if (places) std::memcpy(&place, source + value, 8);
    LoopOperands x{.out = cell(join.out) + i * value * 4,
                   .a = other,
                   .b = nullptr,
                   .c = places ? cell(join.out + value) + i * 8 : nullptr,
                   .count = 1,
                   .place = place};
    step_of(join)(x);
  }

  Loop step_of(const Instruction& join) const {
    const auto code = static_cast<u32>(code_of(join.opcode)) - 1;
    return table_
        .loops[opcode_of(static_cast<Code>(code), type_of(join.opcode))];
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
    // Not the one that an operand may lie in.
    last_ = (last_ + 1) % kLasts;
    return result_ = last_cell();
  }

  const void* operand_cell(u8 number) {
    return number == kLast ? result_ : cell(number);
  }

  void run_one(const Instruction& x, const Chunk& chunk) {
    const Code code = code_of(x.opcode);
    if (code <= Code::LoadBf16) {
      walk(x.index, chunk, code, result_cell(x.out));
    } else if (code <= Code::StoreBf16) {
      // A row has one result, however wide its values are.
      const bool is_single = is_row_part_ && !is_transposed();
      walk(x.index, {chunk.row, chunk.column, is_single ? 1 : chunk.count},
           code, static_cast<char*>(const_cast<void*>(operand_cell(x.a))));
    } else if (code == Code::Scalar32 || code == Code::Scalar64) {
      fill_scalar(x, chunk.count, code == Code::Scalar64);
    } else {
      compute(x, chunk, code);
    }
  }

  void fill_scalar(const Instruction& x, std::size_t count, bool wide) {
    const u64 bits = task_.scalars[x.index];
    char* out = result_cell(x.out);
    if (wide)
      std::fill_n(reinterpret_cast<u64*>(out), count, bits);
    else
      std::fill_n(reinterpret_cast<u32*>(out), count, static_cast<u32>(bits));
  }

  void compute(const Instruction& x, const Chunk& chunk, Code code) {
    LoopOperands operands{.out = nullptr,
                          .a = operand_cell(x.a),
                          .b = operand_cell(x.b),
                          .c = nullptr,
                          .count = chunk.count,
                          .place = chunk.column};
    if (x.c != kLast) operands.c = cell(x.c);
    if (is_place(code)) {
      const u32 value = is_wide(type_of(x.opcode)) ? 2 : 1;
      operands.c = cell(x.out + value);
      operands.b = is_transposed() ? operands.a : nullptr;
    }
    // Lanes that have a row each have nothing to join.
    if (is_transposed() && is_join(x)) return;
    operands.out = result_cell(x.out);
    table_.loops[x.opcode](operands);
  }

  /// Loads or stores the elements of `chunk`, in runs along which the access
  /// has one stride.
  void walk(u32 access, const Chunk& chunk, Code code, char* cells) {
    char* const base = reinterpret_cast<char*>(task_.addresses[access]);
    const MemoryLoop loop = table_.memory[static_cast<u32>(code)];
    if ((task_.shape.flags & kFlat) != 0) {
      const bool is_flat = (task_.shape.flat >> access & 1) != 0;
      const i64 stride = is_flat ? i64{bytes_of(code)} : 0;
      loop({cells, base + static_cast<i64>(chunk.column) * stride, stride,
            chunk.count});
      return;
    }
    const bool by_row = is_transposed() && (task_.shape.flags & kRows) != 0;
    const u32 outer = task_.shape.outer_dims;
    const u32 dims = task_.dims();
    const u32 first = by_row ? 0 : outer;
    const u32 last = by_row ? outer : dims;
    const i64* strides = task_.strides_of(access);
    const i64 fixed = by_row ? offset(strides, outer, dims, chunk.column)
                             : offset(strides, 0, outer, chunk.row);
    u64 number = by_row ? chunk.row : chunk.column;
    const u32 cell_bytes = is_wide_access(code) ? 8 : 4;
    for (std::size_t done = 0; done < chunk.count;) {
      std::size_t run = chunk.count - done;
      i64 stride = 0;
      if (first != last) {
        stride = strides[last - 1];
        if (last - first > 1) {
          const u64 size = task_.sizes[last - 1];
          run = std::min<u64>(run, size - number % size);
        }
      }
      loop({cells + done * cell_bytes,
            base + fixed + offset(strides, first, last, number), stride, run});
      done += run;
      number += run;
    }
  }

  static bool is_wide_access(Code code) {
    return code == Code::Load64 || code == Code::Store64;
  }

  /// Bytes from the first element to number `number` of dimensions
  /// [first, last).
  i64 offset(const i64* strides, u32 first, u32 last, u64 number) const {
    i64 bytes = 0;
    for (u32 d = last; d-- > first;) {
      const u64 size = d == first ? 0 : task_.sizes[d];
      const u64 place = d == first ? number : number % size;
      if (d != first) number /= size;
      bytes += static_cast<i64>(place) * strides[d];
    }
    return bytes;
  }

  const TaskReader task_;
  const Lane lane_;
  const LoopTable& table_;
  std::size_t chunk_;
  u32 last_ = 0;
  bool is_row_part_ = true;
  char* result_ = nullptr;
  alignas(64) char cells_[kCellBytes];
};

}  // namespace

void interpret(Task task, Lane lane) { Interpreter(task, lane).run(); }

}  // namespace gpuos::program
