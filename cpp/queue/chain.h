#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "device/task_abi.h"

namespace gpuos {

/// The descriptor of a chain without members, whose block is `block`.
inline abi::Payload make_chain(abi::Member* block) noexcept {
  abi::Payload chain{};
  chain.flags = abi::kChain;
  chain.args[abi::kChainBlock] = reinterpret_cast<std::uint64_t>(block);
  return chain;
}

inline bool has_room(const abi::Payload& chain, std::uint32_t args) noexcept {
  return chain.count + abi::chain_records(args) <= abi::kChainRecords;
}

/// There must be room. `Word`: 64 bits.
template <typename Word>
void add_member(abi::Payload& chain, u32 slot, u32 count,
                std::span<const Word> args) noexcept {
  auto* block = reinterpret_cast<abi::Member*>(chain.args[abi::kChainBlock]);
  abi::Member& member = block[chain.count];
  const auto arg_count = static_cast<std::uint32_t>(args.size());
  member.op = static_cast<u16>(slot);
  member.arg_count = static_cast<u16>(arg_count);
  member.count = count;
  // Behind its head, and on into the records that follow.
  char* to = reinterpret_cast<char*>(&member) + offsetof(abi::Member, args);
  std::memcpy(to, args.data(), args.size_bytes());
  chain.count += abi::chain_records(arg_count);
}

/// Whether the chain waits for the batch that began so far before it.
inline bool waits_for(const abi::Payload& chain, u16 distance) noexcept {
  u16 distances[abi::kMaxChainWaits];
  std::memcpy(distances, chain.args, sizeof(distances));
  for (std::uint32_t i = 0; i < chain.parts; ++i) {
    if (distances[i] == distance) return true;
  }
  return false;
}

/// There must be room: at most kMaxChainWaits.
inline void add_wait(abi::Payload& chain, u16 distance) noexcept {
  std::memcpy(
      reinterpret_cast<char*>(chain.args) + chain.parts * sizeof(distance),
      &distance, sizeof(distance));
  ++chain.parts;
}

/// A chain of one member, as the plain task that it is, if a descriptor can say
/// it: a worker then needs no second trip for the block.
inline abi::Payload simplest(const abi::Payload& chain) noexcept {
  const auto& member =
      *reinterpret_cast<const abi::Member*>(chain.args[abi::kChainBlock]);
  if (chain.count != 1 || chain.parts > 1 ||
      member.arg_count > abi::kInlineArgs)
    return chain;
  abi::Payload task{};
  task.op = member.op;
  task.count = member.count;
  std::memcpy(task.args, member.args, member.arg_count * sizeof(u64));
  task.batch_offset = chain.batch_offset;
  task.batch_size = chain.batch_size;
  if (chain.parts == 0) return task;
  task.flags = abi::kWaits;
  std::memcpy(&task.wait_distance, chain.args, sizeof(task.wait_distance));
  return task;
}

}  // namespace gpuos
