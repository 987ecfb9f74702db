#include <algorithm>

#include "device/compiled/loops_host.h"
#include "walks.h"

namespace gpuos::worlds {
namespace {

enum : u32 { kAtOnce = 4 };

template <u32 kCount>
struct Pass {
  enum : u32 { kAccesses = kCount, kScalars = 0, kElements = kAtOnce };
};

/// `f` for shares of one row of columns, or with R > 1 of rows of one column.
template <typename P, u32 R, typename F>
void each_share(const typename program::Share<P, R>::Told& memory, u64 row,
                u64 rows, Range columns, F f) {
  const u64 step = R == 1 ? u32{kAtOnce} : 1;
  for (u64 column = columns.begin; column < columns.end; column += step) {
    const u64 count = R == 1 ? columns.end - column : rows;
    program::Share<P, R> share{memory, row, column,
                               static_cast<u32>(std::min<u64>(count, kAtOnce))};
    f(share);
  }
}

void add(const Task& task, const WalkedTask& told) {
  using P = Pass<3>;
  const program::TaskArguments<3, 0> memory(task);
  each_share<P, 1>(memory, 0, 1,
                   range_of(memory.rows.columns, told.tile, told.tiles),
                   [](auto& share) {
                     Vector<i64, kAtOnce> x{}, y{};
                     share.template load<0>(x);
                     share.template load<1>(y);
                     for (u32 w = 0; w < kAtOnce; ++w) x[w] += y[w];
                     share.template store<2>(x);
                   });
}

template <u32 R>
void reduce(const Task& task, const WalkedTask& told) {
  using P = Pass<2>;
  const program::TaskArguments<2, 0> memory(task);
  const Range rows = range_of(memory.rows.rows, told.tile, told.tiles);
  const Range columns{0, memory.rows.columns};
  for (u64 row = rows.begin; row < rows.end; row += R) {
    const u64 count = std::min<u64>(R, rows.end - row);
    program::PerRow<i64, R> sums{};
    each_share<P, R>(memory, row, count, columns, [&](auto& share) {
      Vector<i64, kAtOnce> x{};
      share.template load<0>(x);
      for (u32 w = 0; w < share.count; ++w) sums(w) += x[w];
    });
    if (told.kind == WalkedTask::Sum) {
      program::Share<P, R> share{memory, row, 0, static_cast<u32>(count)};
      share.template store_row<1>(sums);
      continue;
    }
    each_share<P, R>(memory, row, count, columns, [&](auto& share) {
      Vector<i64, kAtOnce> x{};
      share.template load<0>(x);
      for (u32 w = 0; w < share.count; ++w) x[w] -= sums(w);
      share.template store<1>(x);
    });
  }
}

}  // namespace

void walk_compiled_host(const WalkedTask& told, bool by_rows) {
  const Task task{told.args, nullptr, told.count};
  if (told.kind == WalkedTask::Add)
    add(task, told);
  else if (by_rows)
    reduce<kAtOnce>(task, told);
  else
    reduce<1>(task, told);
}

}  // namespace gpuos::worlds
