// Arrays whose rows begin anywhere: slices, rows of odd length, dimensions in
// another order. A row is the last dimension. A lane has several elements of
// one row. Their beginning is found once for all of them, because it takes a
// division for each dimension.
#pragma once

#include "compiled/tiles.h"

namespace gpuos {
namespace program {

// A worker finds its elements with this. It is stored at the beginning of the
// scratch.
template <typename P>
struct Strips {
  enum : u32 {
    // Elements that a lane has at a time,
    N = kIsLong<P> ? 1 : 2 * P::kScattered,
    // and of a row, in several turns.
    kOfRow = 16,
    // The logarithm of the number of lanes that have neighbouring elements.
    kNeighbourBits = 5,
    kNeighbours = 1 << kNeighbourBits,
    // With at least this many rows each warp has one row. So the rows of a
    // worker are neighbours and share its L1.
    kManyRows = 64,
    kMostDims = 16
  };

  u64 starts[P::kAccesses];
  u64 strides[kMostDims][P::kAccesses];  // bytes
  Divider dividers[kMostDims];           // of all dimensions but the last
  Divider parts;                         // of the columns, one worker's each
  const u64* scalars;
  u32 last;  // dimension
  u32 rows;
  u32 columns;
  u32 bits;    // of the number of lanes that share a row
  u32 units;   // that the workers take one by one
  u32* turns;  // counts those that are taken; null: every worker's turn comes
               // as often
  u32 next[2];
  // True if the elements of a row are contiguous in all arrays, and a warp has
  // elements of one row.
  bool is_plain;

  __device__ u32 neighbour_bits() const {
    return min(bits, u32{kNeighbourBits});
  }
  // The columns of neighbouring lanes,
  __device__ u32 span() const { return kOfRow << neighbour_bits(); }
  // and of one worker.
  __device__ u32 width() const { return kOfRow << bits; }
  // For one thread. Returns the unit after `unit`. Each unit's worker asks
  // once, so the last one brings the counter back to 0. The order is relaxed,
  // because no data depends on it.
  __device__ u32 take_next(u32 unit, u32 workers) const {
    return turns == nullptr ? unit + workers
                            : workers + atomicInc(turns, units - 1);
  }
};

// Returns the argument of set_turns().
__device__ inline u32* turns_of(const Task& task) {
  return *reinterpret_cast<u32* const*>(static_cast<const char*>(task.state) +
                                        abi::kScratchBytes);
}

// For all threads, of which there are more than dimensions. Stores the sizes in
// the scratch.
template <typename P>
__device__ inline void find_strips(const Task& task, const Lane& lane) {
  using Cut = Strips<P>;
  const TaskArguments<P::kAccesses, P::kScalars> told(task);
  Cut& strips = *in_scratch<Cut>(scratch_of(task));
  const u32 dims = told.dims();
  const u32 last = dims - 1;
  const u32 at = threadIdx.x;
  if (at == 0) {
    const u32 columns = told.sizes[last];
    const u32 rows = static_cast<u32>(told.rows.columns) / columns;
    // Uses as many lanes as have elements. Neighbours read neighbouring
    // elements even if each of them has fewer.
    const u32 wanted = max((columns + Cut::kOfRow - 1) / Cut::kOfRow,
                           min(columns, u32{Cut::kNeighbours}));
    const u32 most = rows < Cut::kManyRows
                         ? blockDim.x
                         : min(blockDim.x, u32{Cut::kNeighbours});
    u32 bits = 0;
    while (1u << bits < wanted && 2u << bits <= most) ++bits;
    const u32 in_group = blockDim.x >> bits;
    strips.scalars = told.args + P::kAccesses;
    strips.last = last;
    strips.rows = rows;
    strips.columns = columns;
    strips.bits = bits;
    strips.parts = Divider::of((columns + strips.width() - 1) / strips.width());
    strips.units = (rows + in_group - 1) / in_group * strips.parts.size;
    // Workers are not equally fast, so each takes its next unit when it has
    // finished one.
    strips.turns = strips.units > lane.tiles() ? turns_of(task) : nullptr;
    bool is_plain = bits >= Cut::kNeighbourBits;
#pragma unroll 1
    for (u32 a = 0; a < P::kAccesses; ++a)
      is_plain = is_plain && told.strides_of(a)[last] == P::bytes(a);
    strips.is_plain = is_plain;
  }
  if (at < last) strips.dividers[at] = Divider::of(told.sizes[at]);
#pragma unroll 1
  for (u32 a = at; a < P::kAccesses; a += blockDim.x) {
    strips.starts[a] = told.args[a];
#pragma unroll 1
    for (u32 d = 0; d < dims; ++d)
      strips.strides[d][a] = static_cast<u64>(told.strides_of(a)[d]);
  }
}

// A lane's elements of a row. `kIsPlain`: of plain strips, so that the compiler
// knows their distances.
template <typename P, bool kIsPlain>
struct StripShare {
  enum : u32 { N = Strips<P>::N };

  u32 scratch;
  u32 left = 0;             // elements, from the first one on
  u64 first[P::kAccesses];  // addresses

  __device__ const Strips<P>& strips() const {
    return *in_scratch<Strips<P>>(scratch);
  }

  // `part` is the worker's part of the columns.
  __device__ StripShare(u32 at, u32 row, u32 part) : scratch(at) {
    const u32 sub = threadIdx.x & ((1u << strips().bits) - 1);
    const u32 neighbour = sub & ((1u << bits()) - 1);
    const u32 column =
        part * strips().width() + (sub >> bits()) * strips().span() + neighbour;
    if (row >= strips().rows || column >= strips().columns) return;
    left = min(((strips().columns - column - 1) >> bits()) + 1,
               u32{Strips<P>::kOfRow});
    find(row, column);
  }
  __device__ void go_on() {
    left -= min(left, u32{N});
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) first[a] += N * step(a);
  }

  // The distance between elements, in bytes.
  __device__ u64 step(u32 access) const { return stride(access) << bits(); }

 private:
  // Returns the logarithm of the number of neighbours.
  __device__ u32 bits() const {
    return kIsPlain ? u32{Strips<P>::kNeighbourBits}
                    : strips().neighbour_bits();
  }
  // The distance between columns, in bytes.
  __device__ u64 stride(u32 access) const {
    return kIsPlain ? P::bytes(access)
                    : strips().strides[strips().last][access];
  }
  __device__ void find(u32 row, u32 column) {
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a)
      first[a] = strips().starts[a] + column * stride(a);
#pragma unroll 1
    for (u32 d = strips().last; d > 0; --d) {
      u32 digit = row;
      if (d > 1) {
        // A task without reductions has 2^31 elements at most.
        const Divider by = strips().dividers[d - 1];
        row = static_cast<u32>(by.template quotient<false>(row));
        digit -= row * by.size;
      }
#pragma unroll
      for (u32 a = 0; a < P::kAccesses; ++a)
        first[a] += digit * strips().strides[d - 1][a];
    }
  }
};

// The next elements of a share: N of them, or the remaining ones.
template <typename P, bool kIsPlain, bool kHasAll>
struct StripTurn {
  enum : u32 { N = Strips<P>::N };

  const StripShare<P, kIsPlain>& share;

  static __device__ constexpr u32 elements() { return N; }

  template <typename T>
  __device__ T scalar(u32 index) const {
    return scalar_at<T>(share.strips().scalars + index);
  }
  template <u32 A, typename S>
  __device__ void load(Vector<S, N>& to) const {
#pragma unroll
    for (u32 p = 0; p < N; ++p)
      to[p] = has(p) ? *reinterpret_cast<const S*>(address(A, p)) : S{};
  }
  template <u32 A, typename S>
  __device__ void store(const Vector<S, N>& from) const {
#pragma unroll
    for (u32 p = 0; p < N; ++p)
      if (has(p)) *reinterpret_cast<S*>(address(A, p)) = from[p];
  }

 private:
  __device__ bool has(u32 element) const {
    return kHasAll || element < share.left;
  }
  __device__ u64 address(u32 access, u32 element) const {
    return share.first[access] + element * share.step(access);
  }
};

// Calls `f` for each turn of a lane in a unit of the task whose strips are
// found. A unit has the rows and columns that a worker has at a time. Units
// follow each other along the rows, so that workers move through memory side by
// side.
template <typename P, bool kIsPlain, typename F>
__device__ inline void each_turn(u32 scratch, u32 unit, F f) {
  const Strips<P>& strips = *in_scratch<Strips<P>>(scratch);
  const u32 in_group = blockDim.x >> strips.bits;
  const u32 row = threadIdx.x >> strips.bits;
  if (row >= in_group) return;
  const u32 group =
      static_cast<u32>(strips.parts.template quotient<false>(unit));
  StripShare<P, kIsPlain> share(scratch, group * in_group + row,
                                unit - group * strips.parts.size);
  constexpr bool kHasWhole = !kIsLong<P>;
  // Runs the lanes of a warp together, see issue_loads().
#pragma unroll 1
  for (; __any_sync(kEveryLane, share.left != 0); share.go_on()) {
    if (kHasWhole && __all_sync(kEveryLane, share.left >= Strips<P>::N))
      f(StripTurn<P, kIsPlain, kHasWhole>{share});
    else
      f(StripTurn<P, kIsPlain, false>{share});
  }
}

// Separates loads from computation. Without it ptxas 13.0 computes between the
// loads, which then wait for each other. It does so to spare registers that a
// function has to save for its caller.
__device__ inline void issue_loads() { __syncwarp(kEveryLane); }

template <typename P>
struct RunTurn {
  typename P::template Row<1>& row;

  template <typename M>
  __device__ void operator()(const M& turn) const {
    typename P::template Columns<M::N> x;
    P::load(Part<1>{}, x, turn);
    issue_loads();
    P::loop(Part<1>{}, row, x, turn);
  }
};

template <typename P, bool kIsPlain>
__device__ __noinline__ void run_found_strips(Task task, Lane lane) {
  typename P::template Row<1> row;
  const TaskArguments<P::kAccesses, P::kScalars> told(task);
  P::row(Part<0>{}, row, Whole<P>{told, lane.index() == 0});
  const u32 scratch = scratch_of(task);
  Strips<P>& strips = *in_scratch<Strips<P>>(scratch);
  u32 unit = lane.tile();
  for (u32 turn = 0; unit < strips.units; ++turn) {
    u32 next = 0;  // arrives while the lanes are at work
    if (threadIdx.x == 0) next = strips.take_next(unit, lane.tiles());
    each_turn<P, kIsPlain>(scratch, unit, RunTurn<P>{row});
    // There are two places, because late workers still read the other one.
    if (threadIdx.x == 0) strips.next[turn & 1] = next;
    __syncthreads();  // the next one is there
    unit = strips.next[turn & 1];
  }
  P::row(Part<2>{}, row, Whole<P>{told, lane.index() == 0});
}

// All threads.
template <typename P>
__device__ __noinline__ void run_strips(Task task, Lane lane) {
  __syncthreads();  // the scratch may be overwritten
  find_strips<P>(task, lane);
  __syncthreads();  // the strips are there
  constexpr bool kHasPlain = !kIsLong<P>;
  if (kHasPlain && in_scratch<Strips<P>>(scratch_of(task))->is_plain)
    run_found_strips<P, kHasPlain>(task, lane);
  else
    run_found_strips<P, false>(task, lane);
}

}  // namespace program
}  // namespace gpuos
