// Arrays whose rows begin anywhere: slices, rows of odd length, dimensions in
// another order. A row is what the last dimension has. A lane has several
// elements of one, and where they begin is found once for all of them, since it
// takes a division for each dimension. The rows of a worker follow each other,
// so that what the points of a stencil have in common is read from the L1.
#pragma once

#include "program_tiles.h"

namespace gpuos {
namespace program {

// What a worker finds its elements by. It lies where the scratch begins.
template <typename P>
struct Strips {
  enum : u32 {
    // Elements that a lane has at a time, neighbouring lanes neighbouring ones,
    N = P::kScattered == 1 ? 1 : 2 * P::kScattered,
    // and of a row, in several turns.
    kOfRow = N < 8 ? 8 : 2 * N,
    kMostDims = 16,
    kLeastLanes = 32
  };

  u64 starts[P::kAccesses];
  u64 strides[kMostDims][P::kAccesses];  // bytes
  Divider dividers[kMostDims];           // of all dimensions but the last
  const u64* scalars;
  u32 last;  // dimension
  u32 rows;
  u32 columns;
  u32 bits;    // of the number of lanes that share a row
  u32 groups;  // of rows that a worker has at a time

  // Columns of one worker.
  __device__ u32 width() const { return kOfRow << bits; }
};

// Puts them into the scratch. All threads, of which there are more than
// dimensions.
template <typename P>
__device__ inline void find_strips(const Task& task) {
  using Cut = Strips<P>;
  const TaskArguments<P::kAccesses, P::kScalars> told(task);
  Cut& strips = *in_scratch<Cut>(scratch_of(task));
  const u32 dims = told.dims();
  const u32 last = dims - 1;
  const u32 at = threadIdx.x;
  if (at == 0) {
    const u32 columns = told.sizes[last];
    const u32 rows = static_cast<u32>(told.rows.columns) / columns;
    // As many lanes as have something to do; neighbours read what lies side by
    // side even if each of them has fewer elements.
    const u32 wanted = max((columns + Cut::kOfRow - 1) / Cut::kOfRow,
                           min(columns, u32{Cut::kLeastLanes}));
    u32 bits = 0;
    while (1u << bits < wanted && 2u << bits <= blockDim.x) ++bits;
    const u32 in_group = blockDim.x >> bits;
    strips.scalars = told.args + P::kAccesses;
    strips.last = last;
    strips.rows = rows;
    strips.columns = columns;
    strips.bits = bits;
    strips.groups = (rows + in_group - 1) / in_group;
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

// A lane's elements of a row.
template <typename P>
struct StripShare {
  enum : u32 { N = Strips<P>::N };

  u32 scratch;
  u32 left = 0;             // columns of the worker, from the first one on
  u32 valid;                // bit p: element p is there
  u64 first[P::kAccesses];  // addresses

  static __device__ constexpr u32 elements() { return N; }

  __device__ const Strips<P>& strips() const {
    return *in_scratch<Strips<P>>(scratch);
  }
  template <typename T>
  __device__ T scalar(u32 index) const {
    return from_bits<T>(strips().scalars[index]);
  }

  // `part`: of the columns, one worker's.
  __device__ StripShare(u32 at, u32 row, u32 part) : scratch(at) {
    const u32 sub = threadIdx.x & ((1u << strips().bits) - 1);
    const u32 column = part * strips().width() + sub;
    if (row < strips().rows && column < strips().columns) {
      left = min(strips().columns - column, strips().width() - sub);
      find(row, column);
    }
    look();
  }
  __device__ void go_on() {
    const u32 far = N << strips().bits;
    left = left > far ? left - far : 0;
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) first[a] += N * step(a);
    look();
  }

  __device__ bool has(u32 element) const { return (valid >> element & 1) != 0; }
  template <u32 A, typename S>
  __device__ void load(Vector<S, N>& to) const {
    u64 from = first[A];
    const u64 far = step(A);
#pragma unroll
    for (u32 p = 0; p < N; ++p, from += far)
      to[p] = has(p) ? *reinterpret_cast<const S*>(from) : S{};
  }
  template <u32 A, typename S>
  __device__ void store(const Vector<S, N>& from) const {
    u64 to = first[A];
    const u64 far = step(A);
#pragma unroll
    for (u32 p = 0; p < N; ++p, to += far)
      if (has(p)) *reinterpret_cast<S*>(to) = from[p];
  }

 private:
  // From element to element. Bytes.
  __device__ u64 step(u32 access) const {
    return strips().strides[strips().last][access] << strips().bits;
  }
  __device__ void look() {
    valid = 0;
#pragma unroll
    for (u32 p = 0; p < N; ++p)
      if (p << strips().bits < left) valid |= 1u << p;
  }
  __device__ void find(u32 row, u32 column) {
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a)
      first[a] =
          strips().starts[a] + column * strips().strides[strips().last][a];
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

// Calls `f` with each share of a lane of the worker, of a task whose strips are
// found. Workers have ranges of what there is: all rows of some columns before
// the next ones.
template <typename P, typename F>
__device__ inline void each_strip(u32 scratch, const Lane& lane, F f) {
  const Strips<P>& strips = *in_scratch<Strips<P>>(scratch);
  const u32 groups = strips.groups;
  const u32 width = strips.width();
  const u32 units = groups * ((strips.columns + width - 1) / width);
  const u32 range = (units + lane.tiles() - 1) / lane.tiles();
  const u32 begin = lane.tile() * range;
  const u32 end = min(units, begin + range);
  const u32 in_group = blockDim.x >> strips.bits;
  const u32 row = threadIdx.x >> strips.bits;
  if (row >= in_group) return;
  u32 part = begin / groups;
  u32 group = begin % groups;
#pragma unroll 1
  for (u32 unit = begin; unit < end; ++unit) {
    StripShare<P> share(scratch, group * in_group + row, part);
#pragma unroll 1
    for (; share.valid != 0; share.go_on()) f(share);
    if (++group < groups) continue;
    group = 0;
    ++part;
  }
}

// All threads.
template <typename P>
__device__ __noinline__ void run_strips(Task task, Lane lane) {
  using Told = TaskArguments<P::kAccesses, P::kScalars>;
  __syncthreads();  // nobody needs what lies in the scratch
  find_strips<P>(task);
  typename P::template Row<1> row;
  P::row(Part<0>{}, row, Whole<P>{Told(task), lane.index() == 0});
  __syncthreads();  // the strips are there
  each_strip<P>(scratch_of(task), lane, [&](const StripShare<P>& share) {
    typename P::template Columns<StripShare<P>::N> x;
    P::load(Part<1>{}, x, share);
    P::loop(Part<1>{}, row, x, share);
  });
  P::row(Part<2>{}, row, Whole<P>{Told(task), lane.index() == 0});
}

}  // namespace program
}  // namespace gpuos
