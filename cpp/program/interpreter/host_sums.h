#pragma once

#include <array>
#include <cstddef>

#include "device/interpreter/order.h"
#include "program/interpreter/task_reader.h"
#include "program/loops/loop_table.h"

namespace gpuos::program {

/// The reductions of a task, in the order of device/interpreter/order.h. It
/// reduces one row, or several side by side. Places (argmax, argmin) are not
/// among them.
class HostSums {
 public:
  HostSums(const TaskReader& task, const LoopTable& table);

  /// Returns the memory for a single row, and for each of several rows side by
  /// side with this number of columns. Units: words of 32 bits.
  std::size_t row_words();
  std::size_t words_side_by_side(u64 columns);

  /// Sets the memory and the number of rows side by side.
  void place(char* memory, std::size_t rows) {
    memory_ = memory;
    rows_ = rows;
  }

  // ---- Sums of one row.

  /// Takes `count` values. The first one is column `at` of `columns`. `at` is a
  /// multiple of 16.
  void take(const Instruction& step, const void* values, std::size_t count,
            u64 at, u64 columns);
  /// The result, when all columns are taken.
  const char* finish(const Instruction& join, u64 columns);
  /// Combines the results of the slices of a row.
  const char* join_slices(const Instruction& join, const u32* from,
                          std::size_t step_words, u64 slices);

  // ---- Sums of adjacent rows.

  /// Takes column `at` of all of them.
  void take_rows(const Instruction& step, const void* values, u64 at,
                 u64 columns);
  /// Their results, when all columns are taken.
  const char* finish_rows(const Instruction& join, u64 columns);

 private:
  struct Kind;

  template <typename F>
  void each_sum(F f) const;
  template <typename F>
  std::size_t lay_out(F values_of);
  char* values(const Kind& kind, std::size_t part) const;
  void begin(const Kind& kind, char* to, const void* from, std::size_t count);
  void both(const Kind& kind, char* to, const void* from, std::size_t count);
  void close(const Kind& kind, u64 block, u64 size, u64 columns);
  void push(const Kind& kind, u64 number);
  void join_level(const Kind& kind, u32 level);

  const TaskReader& task_;
  const LoopTable& table_;
  char* memory_ = nullptr;
  std::size_t rows_ = 1;
  /// For the sum in each cell, the begin of its values. Units: words, or rows
  /// if several are side by side.
  std::array<u32, kMaxCells> offset_;
};

}  // namespace gpuos::program
