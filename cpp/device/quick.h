// Members of chains that run without a call: built-in operators of two inputs.
// A call through a pointer takes longer than all the work of a small one.
#pragma once

#include "arithmetic.h"
#include "map.h"
#include "memory.h"

namespace gpuos {

// 0 for a member that must be called; else what it computes, its slot + 1, and
// how many packs of 16 bytes it has.
struct alignas(8) Quick {
  u32 what;
  u32 packs;
};

// Slots of add, sub and mul, of each dtype (builtin_operators.h). No other
// operator is ever put there.
enum : u32 { kQuickSlots = 3 * 4 };

__device__ inline Quick quick_of(const abi::Member& member) {
  const u32 width = member.op % 2 == 0 ? 4 : 2;  // elements of a pack
  const u64 bits = member.args[0] | member.args[1] | member.args[2];
  if (member.op >= kQuickSlots || bits % sizeof(Chunk) != 0 ||
      member.count % width != 0)
    return {};
  return {member.op + 1u, member.count / width};
}

// Neither of the two branches, so that all that a member does is in one piece.
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

}  // namespace gpuos
