// Members of chains that run without a call: built-in operators of two inputs.
// A call through a pointer takes longer than all the work of a small one.
// docs/lab/chains.md says what else was tried.
#pragma once

#include "arithmetic.h"
#include "builtin_list.h"
#include "map.h"
#include "memory.h"

namespace gpuos {

// A worker reads this of a record ahead of the record itself.
struct alignas(16) InlinedMember {
  u32 what;   // InlinedBits
  u32 packs;  // of 16 bytes
  u64 other;  // the second input of a member that follows another
};

enum InlinedBits : u32 {
  kType = 0xff,        // the dtype + 1; 0 if the member must be called
  kOpAt = 8,           // two bits: InlinedOp
  kOpOnKeptAt = 10,    // the same of what each lane has just computed and of
                       // `other`
  kAIsKept = 1 << 12,  // `a` is what each lane has just computed
  kFollows = 1 << 13,  // `a` or `b` is, no lane reads what another one writes,
                       // and `other` may be read before the member before is
                       // done
  kFollowsAs = kFollows | 3 << kOpOnKeptAt,  // by which operation
  kRepeats = 1 << 14  // does not follow, but is the same operation, and one
                      // turn of the lanes is enough for both
};
enum InlinedOp : u32 { kAdd, kSub, kMul, kSubFrom };  // the last one: y - x

// An inlined member. Its ranges start at `out`, `a` and `b`.
struct Link {
  InlinedMember inlined;
  u64 out;
  u64 a;
  u64 b;
};

// The slots of add, sub and mul are InlinedOp * kBuiltinDTypes + dtype, and no
// other operator is ever put there.
static_assert(slot_of(BuiltinOperator::add, 0) == u32{kAdd} * kBuiltinDTypes &&
              slot_of(BuiltinOperator::sub, 0) == u32{kSub} * kBuiltinDTypes &&
              slot_of(BuiltinOperator::mul, 0) == u32{kMul} * kBuiltinDTypes);
enum : u32 { kInlinedSlots = (kMul + 1) * kBuiltinDTypes };

__device__ inline Link link_of(const abi::Member& member) {
  const u32 width = member.op % 2 == 0 ? 4 : 2;  // elements of a pack
  Link link{{0, member.count / width, 0},
            member.args[0],
            member.args[1],
            member.args[2]};
  if (member.op < kInlinedSlots && member.count % width == 0 &&
      (link.out | link.a | link.b) % sizeof(Chunk) == 0)
    link.inlined.what =
        (member.op % kBuiltinDTypes + 1) | member.op / kBuiltinDTypes << kOpAt;
  return link;
}

// A lane gets the same bytes again after this distance, a power of two, or 0 if
// there is none.
__device__ inline u32 turn_of(u32 packs) {
  const u32 lanes = blockDim.x;
  if (packs <= lanes)
    return static_cast<u32>(sizeof(Chunk)) << (32 - __clz(packs - 1));
  return (lanes & (lanes - 1)) == 0 ? lanes * sizeof(Chunk) : 0;
}

// Returns whether each address belongs to the same lane in both members.
__device__ inline bool lie_alike(const Link& before, const Link& link) {
  const u32 turn = turn_of(link.inlined.packs);
  const u64 apart = (before.a ^ before.out) | (before.b ^ before.out) |
                    (link.out ^ before.out) | (link.a ^ before.out) |
                    (link.b ^ before.out);
  return link.inlined.packs == before.inlined.packs && turn != 0 &&
         (static_cast<u32>(apart) & (turn - 1)) == 0;
}

// Fills in the fields of `link` that depend on the previous member.
__device__ inline void compare(const Link& before, Link& link) {
  InlinedMember& inlined = link.inlined;
  const u32 changes = before.inlined.what ^ inlined.what;
  if ((changes & kType) != 0) return;
  const bool a_is_kept = link.a == before.out;
  if (a_is_kept && inlined.packs <= before.inlined.packs)
    inlined.what |= kAIsKept;
  const u32 op = inlined.what >> kOpAt & 3;
  const u64 bytes = u64{inlined.packs} * sizeof(Chunk);
  inlined.other = a_is_kept ? link.b : link.a;
  if (a_is_kept != (link.b == before.out) && lie_alike(before, link) &&
      (inlined.other >= before.out + bytes ||
       before.out >= inlined.other + bytes))
    inlined.what |= kFollows | (op == kSub && !a_is_kept ? u32{kSubFrom} : op)
                                   << kOpOnKeptAt;
  else if ((changes >> kOpAt & 3) == 0 && inlined.packs <= blockDim.x &&
           before.inlined.packs <= blockDim.x)
    inlined.what |= kRepeats;
}

// Has no branch, so that all instructions of a member stay in one block.
__device__ inline void load_pack_if(bool is_wanted, u64 from, Chunk& to) {
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p, %5, 0;"
      " @p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];}"
      : "+r"(to.words[0]), "+r"(to.words[1]), "+r"(to.words[2]),
        "+r"(to.words[3])
      : "l"(from), "r"(static_cast<u32>(is_wanted))
      : "memory");
}
__device__ inline void store_pack_if(bool is_wanted, u64 to,
                                     const Chunk& from) {
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p, %5, 0;"
      " @p st.global.v4.u32 [%4], {%0, %1, %2, %3};}" ::"r"(from.words[0]),
      "r"(from.words[1]), "r"(from.words[2]), "r"(from.words[3]), "l"(to),
      "r"(static_cast<u32>(is_wanted))
      : "memory");
}

// These are not generic lambdas, because NVRTC 13.0 takes those for host
// functions.
struct Adds {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return add(x, y);
  }
};
struct Subtracts {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return sub(x, y);
  }
};
struct SubtractsFrom {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return sub(y, x);
  }
};
struct Multiplies {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return mul(x, y);
  }
};

template <typename T, typename F>
__device__ inline Chunk combine(const Chunk& x, const Chunk& y, F f) {
  Pack<T> a, b;
  memcpy(&a, &x, sizeof(a));
  memcpy(&b, &y, sizeof(b));
#pragma unroll
  for (u32 i = 0; i < sizeof(Chunk) / sizeof(T); ++i) a[i] = f(a[i], b[i]);
  Chunk result;
  memcpy(&result, &a, sizeof(result));
  return result;
}
template <typename T>
__device__ inline Chunk combine(const Chunk& x, const Chunk& y, u32 op) {
  if (op == kAdd) return combine<T>(x, y, Adds{});
  return op == kSub ? combine<T>(x, y, Subtracts{})
                    : combine<T>(x, y, Multiplies{});
}

}  // namespace gpuos
