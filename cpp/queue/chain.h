#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/task_abi.h"
#include "queue/prefetch.h"

namespace gpuos {

/// The descriptor of a chain without members, whose block is `block`.
inline abi::Payload make_chain(abi::Member* block) noexcept {
  abi::Payload chain{};
  chain.flags = abi::kChain;
  chain.args[abi::kChainBlock] = reinterpret_cast<std::uint64_t>(block);
  return chain;
}

inline constexpr std::uint32_t kMostChainBlocks = 16;

/// Returns the number of blocks that hold `records` records.
inline std::uint32_t chain_blocks(std::uint32_t records) noexcept {
  return records <= abi::kChainRecords
             ? 1
             : (records + abi::kChainRecords - 1) / abi::kChainRecords;
}

/// Returns the first record of a new member of `length` records, after
/// `records` records. It is in the next piece if the current piece does not
/// have enough space.
inline std::uint32_t member_place(std::uint32_t records,
                                  std::uint32_t length) noexcept {
  const std::uint32_t next = abi::next_piece(records);
  return records + length <= next ? records : next;
}

/// Returns whether a member with `args` arguments fits after `records` records,
/// in their last block.
inline bool has_room(std::uint32_t records, std::uint32_t args) noexcept {
  const std::uint32_t length = abi::chain_records(args);
  return member_place(records, length) + length <=
         chain_blocks(records) * abi::kChainRecords;
}

/// Marks the remainder of a piece as empty.
inline void mark_gap(abi::Member& member) noexcept {
  member.op = abi::kGap;
  member.arg_count = 0;
}

/// Writes a member to `block` after `records`. Returns the record after it. The
/// block must have space. `args` has 64 bits each. The first kInlineArgs can be
/// read even if there are fewer.
inline std::uint32_t write_member(abi::Member* block, std::uint32_t records,
                                  u32 slot, u32 count, const void* args,
                                  std::uint32_t arg_count) noexcept {
  const std::uint32_t length = abi::chain_records(arg_count);
  const std::uint32_t record = member_place(records, length);
  if (record != records) mark_gap(block[records]);
  abi::Member& member = block[record];
  constexpr std::uint32_t kAhead = 4;  // records, written in some 200 ns
  prefetch_to_write(&member + kAhead);
  member.op = static_cast<u16>(slot);
  member.arg_count = static_cast<u16>(arg_count);
  member.count = count;
  // Writes after the member's head, and on into the records that follow.
  char* to = reinterpret_cast<char*>(&member) + offsetof(abi::Member, args);
  // Copies as many as most tasks have, without a call.
  constexpr std::size_t kFew = abi::kInlineArgs * sizeof(u64);
  std::memcpy(to, args, kFew);
  if (arg_count > abi::kInlineArgs)
    std::memcpy(to + kFew, static_cast<const char*>(args) + kFew,
                arg_count * sizeof(u64) - kFew);
  return record + length;
}

/// Adds a member after the existing ones of `chain`.
inline void add_member(abi::Payload& chain, u32 slot, u32 count,
                       const void* args, std::uint32_t arg_count) noexcept {
  auto* block = reinterpret_cast<abi::Member*>(chain.args[abi::kChainBlock]);
  chain.count = write_member(block, chain.count, slot, count, args, arg_count);
}

/// Skips the remainder of a block after `record` records. Returns the first
/// record of the next block.
inline std::uint32_t write_gap(abi::Member* block,
                               std::uint32_t record) noexcept {
  const std::uint32_t used = record % abi::kChainRecords;
  if (used == 0) return record;
  mark_gap(block[record]);
  return record + abi::kChainRecords - used;
}

/// Returns whether the chain waits for the batch that began so far before it.
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
