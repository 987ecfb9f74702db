#include <sys/mman.h>

#include <stdexcept>
#include <utility>

#include "device_on_host.h"
#include "walks.h"

namespace gpuos::worlds {
namespace {

namespace device = gpuos_of_device::program;
using gpuos_of_device::i64;
using gpuos_of_device::Task;
using gpuos_of_device::u32;
using gpuos_of_device::u64;
using gpuos_of_device::Vector;

enum : u32 { kLanes = 32, kWidth = 2 };

template <u32 kCount, bool kRows, u32 kTogether = 2>
struct Pass {
  enum : u32 {
    kAccesses = kCount,
    kScalars = 0,
    kReduces = kRows,
    kWidth = worlds::kWidth,
    kScattered = kTogether,
    kColumns = (1u << kCount) - 1
  };
  static constexpr u32 bytes(u32) { return sizeof(i64); }
};

/// One lane that has all columns of a row, N at a time.
template <typename P, typename W>
void walk_row(W& share, u64 begin, u64 end, bool adds, bool centers,
              device::PerRow<i64, 1>& sum) {
  share.end = end;
  for (share.column = begin; share.column < end; share.column += W::N) {
    if (share.is_packed())
      share.find_packed();
    else
      share.find();
    Vector<i64, W::N> x{}, out{};
    share.template load<0>(x);
    if constexpr (P::kAccesses == 3) share.template load<1>(out);
    for (u32 w = 0; w < W::N; ++w) {
      const u64 column = share.column + w;
      if (adds)
        out[w] += x[w];
      else if (centers)
        out[w] = x[w] - sum(0);
      else if (column < end)
        sum(0) += x[w];
    }
    if (adds || centers) share.template store<P::kAccesses - 1>(out);
  }
}

template <typename P>
using Packs = device::Share<P, kWidth, 2>;
template <typename P>
using Apart = device::Share<P, 1, 4>;

/// An element that another lane has also written is an error.
template <typename M>
void add_turn(const M& turn) {
  Vector<i64, M::N> x{}, out{}, before{};
  turn.template load<0>(x);
  turn.template load<1>(out);
  turn.template load<2>(before);
  for (u32 w = 0; w < turn.elements(); ++w)
    out[w] = before[w] == kUntouched ? out[w] + x[w] : 0;
  turn.template store<2>(out);
}

/// Runs each lane's strips of a unit, as if all had passed the barriers between
/// them. Few lanes give small arrays strips of all kinds.
template <typename P>
void walk_strips(const Task& task, const WalkedTask& told, u64 elements) {
  const u32 kinds[] = {1, 2, 3, 8, kLanes, 2 * kLanes};
  blockDim.x = kinds[elements % std::size(kinds)];
  const gpuos_of_device::Lane lane =
      gpuos_of_device::Lane::of(told.tile, told.tiles);
  for (threadIdx.x = 0; threadIdx.x < kLanes; ++threadIdx.x)
    device::find_strips<P>(task, lane);
  const u32 scratch = device::scratch_of(task);
  const auto add = [](const auto& turn) { add_turn(turn); };
  const auto& strips = *device::in_scratch<device::Strips<P>>(scratch);
  for (u32 unit = lane.tile(); unit < strips.units;
       unit = strips.take_next(unit, lane.tiles())) {
    for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) {
      if (strips.is_plain)
        device::each_turn<P, true>(scratch, unit, add);
      else
        device::each_turn<P, false>(scratch, unit, add);
    }
  }
  threadIdx.x = 0;
  blockDim.x = 1;
}

/// These are the same passes, in the form of generated code.
struct FewAdded : Pass<3, false> {
  template <u32>
  struct Row {};
  template <u32>
  struct Columns {};
  template <u32 kPart, typename M>
  static void row(device::Part<kPart>, Row<1>&, const M&) {}
  template <typename X, typename M>
  static void load(device::Part<1>, X&, const M&) {}
  template <typename X, typename M>
  static void loop(device::Part<1>, Row<1>&, const X&, const M& m) {
    add_turn(m);
  }
};
template <bool kCenters>
struct NarrowPass : Pass<2, true> {
  enum : u32 { kLoops = kCenters ? 2 : 1 };
  template <u32 R>
  struct Row {
    device::Sums<device::SumOf<i64>, R> sum;
  };
  template <u32 N>
  struct Columns {
    Vector<i64, N> x;
  };
  template <u32 kPart, typename M>
  static void row(device::Part<kPart>, Row<1>& r, const M& m) {
    if constexpr (kPart == 2 && !kCenters)
      m.template store_row<1>(device::PerRow<i64, 1>{{r.sum.values[0]}});
  }
  template <u32 kPart, typename F>
  static void each_gathered(device::Part<kPart>, Row<1>& r,
                            [[maybe_unused]] F&& f) {
    if constexpr (kPart == 1) f(r.sum);
  }
  template <typename X, typename M>
  static void load(device::Part<1>, X& x, const M& m) {
    load_all(x, m);
  }
  template <typename X, typename M>
  static void load_all(X& x, const M& m) {
    m.template load<0>(x.x);
  }
  template <u32 kPart, typename X, typename M>
  static void loop(device::Part<kPart>, Row<1>& r, const X& x, const M& m) {
    if constexpr (kPart == 1) {
      m.gather(r.sum, x.x);
    } else {
      X out{};
      for (u32 w = 0; w < m.elements(); ++w)
        out.x[w] = x.x[w] - r.sum.values[0];
      m.template store<1>(out.x);
    }
  }
};

/// Runs a task by the code of small ones. Returns false if that is for others.
template <typename P>
bool walk_narrow(const Task& task, const WalkedTask& told) {
  blockDim.x = kLanes;
  const auto lane = gpuos_of_device::Lane::of(told.tile, told.tiles);
  const typename device::NarrowRows<P>::Told words(task);
  const bool fits =
      device::NarrowRows<P>::fit(words, lane) && words.rows.row_lanes == 1;
  for (threadIdx.x = 0; fits && threadIdx.x < kLanes; ++threadIdx.x)
    device::NarrowRows<P>(words, lane).run();
  threadIdx.x = 0;
  blockDim.x = 1;
  return fits;
}
void walk_few(const Task& task, const WalkedTask& told) {
  blockDim.x = kLanes;
  const auto lane = gpuos_of_device::Lane::of(told.tile, told.tiles);
  for (threadIdx.x = 0; threadIdx.x < kLanes; ++threadIdx.x)
    device::run_few<FewAdded>(task, lane);
  threadIdx.x = 0;
  blockDim.x = 1;
}

/// The counter of the workers that share a task, if they use it.
u32 turns = 0;

template <typename P>
void walk(const Task& task, const WalkedTask& told) {
  // All lanes have reached the barrier here.
  said_by_any = false;
  for (threadIdx.x = 0; threadIdx.x < kLanes; ++threadIdx.x)
    device::TaskLayout<P>{task};
  threadIdx.x = 0;
  const device::TaskLayout<P> memory(task);
  device::PerRow<i64, 1> sum{};
  if constexpr (!P::kReduces) {
    if (!P::kIsFlat && memory.rows.columns % 3 == 0) {
      walk_few(task, told);
      return;
    }
    Range range = range_of(memory.rows.columns, told.tile, told.tiles);
    if (memory.has_packs) {
      // Whole packs.
      range.begin -= range.begin % kWidth;
      const u64 whole = range.end - range.end % kWidth;
      Packs<P> share{memory};
      walk_row<P>(share, range.begin, whole, true, false, sum);
      if (told.tile + 1 < told.tiles) return;
      range.begin = whole;
    } else if constexpr (!P::kIsFlat) {
      const u64 elements = memory.rows.columns;
      if (elements % 2 == 0)
        walk_strips<Pass<P::kAccesses, false, 1>>(task, told, elements);
      else
        walk_strips<P>(task, told, elements);
      return;
    }
    Apart<P> share{memory};
    walk_row<P>(share, range.begin, range.end, true, false, sum);
  } else {
    if (memory.rows.rows % 2 == 0 &&
        (told.kind == WalkedTask::Sum
             ? walk_narrow<NarrowPass<false>>(task, told)
             : walk_narrow<NarrowPass<true>>(task, told)))
      return;
    const Range range = range_of(memory.rows.rows, told.tile, told.tiles);
    const auto walk_all = [&](auto& share) {
      for (share.row = range.begin; share.row < range.end; ++share.row) {
        share.find_row();
        sum(0) = 0;
        walk_row<P>(share, 0, memory.rows.columns, false, false, sum);
        if (told.kind == WalkedTask::Sum)
          share.template store_row<1>(sum);
        else
          walk_row<P>(share, 0, memory.rows.columns, false, true, sum);
      }
    };
    if (memory.has_packs) {
      Packs<P> share{memory};
      walk_all(share);
    } else {
      Apart<P> share{memory};
      walk_all(share);
    }
  }
}

/// The interpreter's lanes, with four elements each.
class Interpreted {
 public:
  Interpreted(const Task& task, const WalkedTask& told) : told_(told) {
    task_.read(task, nullptr);
  }

  void run() {
    if ((task_.shape.flags & device::kRows) == 0) {
      const auto [begin, end] =
          range_of(task_.rows.columns, told_.tile, told_.tiles);
      for (u64 column = begin; column < end; column += 4) {
        const Values x = load(0, 0, column, end);
        Values out = load(1, 0, column, end);
        for (u32 w = 0; w < 4; ++w) out[w] += x[w];
        store(2, 0, column, end, out);
      }
      return;
    }
    const auto [begin, end] =
        range_of(task_.rows.rows, told_.tile, told_.tiles);
    for (u64 row = begin; row < end; ++row) run_row(row);
  }

 private:
  using Values = std::array<i64, 4>;

  void run_row(u64 row) const {
    const u64 columns = task_.rows.columns;
    i64 sum = 0;
    for (u64 column = 0; column < columns; column += 4)
      for (const i64 x : load(0, row, column, columns)) sum += x;
    if (told_.kind == WalkedTask::Sum) {
      store(1, row, 0, 1, {sum});
      return;
    }
    for (u64 column = 0; column < columns; column += 4) {
      Values x = load(0, row, column, columns);
      for (i64& each : x) each -= sum;
      store(1, row, column, columns, x);
    }
  }
  template <typename F>
  void each(u32 access, u64 row, u64 column, u64 end, F f) const {
    const u32 valid = static_cast<u32>(std::min<u64>(4, end - column));
    device::walk<4>(task_, device::Code::Load64, access,
                    {row, column, 0, 0, true}, valid, f);
  }
  Values load(u32 access, u64 row, u64 column, u64 end) const {
    Values values{};
    each(access, row, column, end, [&](u32 w, const char* from) {
      std::memcpy(&values[w], from, sizeof(i64));
    });
    return values;
  }
  void store(u32 access, u64 row, u64 column, u64 end,
             const Values& values) const {
    each(access, row, column, end,
         [&](u32 w, char* to) { std::memcpy(to, &values[w], sizeof(i64)); });
  }

  device::DeviceTask task_;
  const WalkedTask& told_;
};

/// Sets the counter as set_turns() does in a worker.
void set_turns(const Task& task, u32* counter) {
  char* const scratch = static_cast<char*>(const_cast<void*>(task.state));
  std::memcpy(scratch + gpuos_of_device::abi::kScratchBytes, &counter,
              sizeof(counter));
}

/// A worker's, at an address of 32 bits, as shared memory has them.
void* scratch() {
  static void* const memory =
      mmap(nullptr, gpuos_of_device::abi::kSharedBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  return memory;
}

}  // namespace

void walk_compiled_device(const WalkedTask& told) {
  const Task task{told.args, scratch(), told.count};
  set_turns(task, told.tiles % 2 == 0 ? &turns : nullptr);
  const u32 accesses = told.kind == WalkedTask::Add ? 3 : 2;
  const auto shape =
      gpuos_of_device::bit_cast<device::TaskShape>(told.args[1 + accesses]);
  using Added = Pass<3, false>;
  if (told.kind != WalkedTask::Add)
    walk<device::PassOf<Pass<2, true>, false>>(task, told);
  else if ((shape.flags & device::kFlat) != 0)
    walk<device::PassOf<Added, true>>(task, told);
  else
    walk<device::PassOf<Added, false>>(task, told);
  if (told.tile + 1 == told.tiles && std::exchange(turns, 0) != 0)
    throw std::logic_error("expected all turns to be taken");
}

void walk_interpreted_device(const WalkedTask& told) {
  Interpreted({told.args, nullptr, told.count}, told).run();
}

}  // namespace gpuos::worlds
