#include "program/interpreter/host_sums.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "program/interpreter/task_reader.h"

namespace gpuos::program {

/// A reduction by one of its instructions, which name a code each: the first
/// one, a step, a join.
struct HostSums::Kind {
  Kind(const Instruction& instruction, int place)
      : type(type_of(instruction.opcode)),
        first(static_cast<u16>(instruction.opcode - (place << kTypeBits))),
        cell(instruction.out) {}

  static constexpr int kFirst = 0;
  static constexpr int kStep = 1;
  static constexpr int kJoin = 2;

  u16 step() const { return static_cast<u16>(first + (kStep << kTypeBits)); }
  std::size_t bytes() const { return 4 * cells_of(type); }
  bool has_order() const { return has(kFields, type); }
  /// Partial values of a block of rows side by side.
  std::size_t parts(u64 size) const {
    return has_order() && size > kPartials ? std::size_t{kPartials} : 1;
  }

  u32 type;
  u16 first;
  u8 cell;
};

HostSums::HostSums(const TaskReader& task, const LoopTable& table)
    : task_(task), table_(table) {}

template <typename F>
void HostSums::each_sum(F f) const {
  for (u32 part = 0; part + 1 < task_.header.parts; part += 2)
    for (const Instruction* at = task_.begin(part); at != task_.end(part); ++at)
      if (kind_of(*at) == kInit) f(Kind(*at, Kind::kFirst));
}

template <typename F>
std::size_t HostSums::lay_out(F values_of) {
  std::array<u32, kMaxCells> words;
  // Several reductions may use one cell, one after the other.
  each_sum([&](const Kind& kind) { words[kind.cell] = 0; });
  each_sum([&](const Kind& kind) {
    const std::size_t needed = values_of(kind) * kind.bytes() / 4;
    words[kind.cell] = std::max(words[kind.cell], static_cast<u32>(needed));
  });
  std::size_t all = 0;
  each_sum([&](const Kind& kind) {
    offset_[kind.cell] = static_cast<u32>(all);
    // So that values of 128 bits are aligned.
    all += (words[kind.cell] + 3) / 4 * 4;
  });
  return all;
}

std::size_t HostSums::row_words() {
  return lay_out([](const Kind&) { return kPartials + kLevels; });
}

std::size_t HostSums::words_side_by_side(u64 columns) {
  const u64 blocks = blocks_of(columns);
  const std::size_t levels = blocks > 1 ? std::bit_width(blocks) : 0;
  return lay_out([&](const Kind& kind) {
    return kind.has_order() ? kind.parts(columns) + levels : 1;
  });
}

char* HostSums::values(const Kind& kind, std::size_t part) const {
  return memory_ +
         (offset_[kind.cell] * std::size_t{4} + part * kind.bytes()) * rows_;
}

void HostSums::begin(const Kind& kind, char* to, const void* from,
                     std::size_t count) {
  table_.loops[kind.first]({.out = to, .a = from, .count = count});
}

void HostSums::both(const Kind& kind, char* to, const void* from,
                    std::size_t count) {
  table_.loops[kind.step()]({.out = to, .a = from, .count = count});
}

void HostSums::take(const Instruction& step, const void* values,
                    std::size_t count, u64 at, u64 columns) {
  const Kind kind(step, Kind::kStep);
  table_.sums[step.opcode].take(this->values(kind, 0), values, count, at,
                                columns);
}

const char* HostSums::finish(const Instruction& join, u64 columns) {
  const Kind kind(join, Kind::kJoin);
  char* const sums = values(kind, 0);
  table_.sums[kind.step()].finish(sums, columns);
  return sums;
}

const char* HostSums::join_slices(const Instruction& join, const u32* from,
                                  std::size_t step_words, u64 slices) {
  const Kind kind(join, Kind::kJoin);
  char* const sums = values(kind, 0);
  const LoopSums& loops = table_.sums[kind.step()];
  for (u64 slice = 0; slice < slices; ++slice) {
    std::memcpy(sums, from + slice * step_words, kind.bytes());
    loops.push(sums, slice);
  }
  loops.finish_tree(sums, slices);
  return sums;
}

void HostSums::take_rows(const Instruction& step, const void* values, u64 at,
                         u64 columns) {
  const Kind kind(step, Kind::kStep);
  const u64 size = kind.has_order() ? block_columns(at, columns) : columns;
  const u64 column = kind.has_order() ? at % kOrderedBlock : at;
  const std::size_t parts = kind.parts(size);
  char* const sums = this->values(kind, column & (parts - 1));
  if (column < parts)
    begin(kind, sums, values, rows_);
  else
    both(kind, sums, values, rows_);
  if (kind.has_order() && column + 1 == size)
    close(kind, at / kOrderedBlock, size, columns);
}

void HostSums::close(const Kind& kind, u64 block, u64 size, u64 columns) {
  if (size > kPartials)
    for (std::size_t half = kPartials / 2; half > 0; half /= 2)
      both(kind, values(kind, 0), values(kind, half), half * rows_);
  if (columns > kOrderedBlock) push(kind, block);
}

void HostSums::push(const Kind& kind, u64 number) {
  const u32 level =
      climb(number, [&](u32 waiting) { join_level(kind, waiting); });
  std::memcpy(values(kind, kPartials + level), values(kind, 0),
              rows_ * kind.bytes());
}

void HostSums::join_level(const Kind& kind, u32 level) {
  // The earlier value is the first operand.
  char* const earlier = values(kind, kPartials + level);
  both(kind, earlier, values(kind, 0), rows_);
  std::memcpy(values(kind, 0), earlier, rows_ * kind.bytes());
}

const char* HostSums::finish_rows(const Instruction& join, u64 columns) {
  const Kind kind(join, Kind::kJoin);
  char* const sums = values(kind, 0);
  if (columns == 0)
    begin(kind, sums, nullptr, rows_);
  else if (kind.has_order())
    climb_down(blocks_of(columns), [&](u32 level) { join_level(kind, level); });
  return sums;
}

}  // namespace gpuos::program
