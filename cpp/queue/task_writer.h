#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "queue/backend.h"
#include "queue/call.h"

namespace gpuos {

inline u16 traced_flag(const Call& call) noexcept {
  return call.op->is_traced.load(std::memory_order_relaxed) ? u16{abi::kTraced}
                                                            : u16{0};
}

/// Returns the common part of a call's descriptors. The rest depends on the
/// tile.
inline abi::Payload payload_of(const Call& call, std::uint32_t count) {
  abi::Payload payload{};
  payload.op = static_cast<std::uint16_t>(call.slot);
  payload.count = count;
  payload.flags = traced_flag(call);
  if (call.arg_count > abi::kInlineArgs) {
    payload.flags |= abi::kArgsInBlock;
    payload.args[0] = call.arg_count;
  }
  return payload;
}

/// Puts the arguments where the worker will look for them.
inline u64* copy_args(const Call& call, abi::ArgBlock& block,
                      abi::Payload& payload) {
  if ((payload.flags & abi::kArgsInBlock) != 0) {
    std::copy_n(call.args.begin(), call.arg_count, block.args);
    return block.args;
  }
  // Copies all of them: a fixed number costs less than a count.
  std::copy_n(call.args.begin(), abi::kInlineArgs, payload.args);
  return payload.args;
}

/// Completes `payload` for its place.
inline void set_place(abi::Payload& payload, const Place& place,
                      std::uint64_t position,
                      std::optional<std::uint64_t> after) {
  payload.batch_offset =
      static_cast<std::uint16_t>(position - place.batch_begin);
  payload.batch_size = static_cast<std::uint16_t>(place.batch_size);
  if (after) {
    payload.flags |= abi::kWaits;
    payload.wait_distance = static_cast<std::uint16_t>(position - *after);
  }
}

/// Makes the descriptor and writes it.
inline void write_task(Ring& ring, const Place& place, std::uint64_t position,
                       std::optional<std::uint64_t> after,
                       abi::Payload& payload) {
  set_place(payload, place, position, after);
  ring.write(position, payload);
}

/// Writes the only descriptor of a task without tiles.
inline void write_whole(Ring& ring, const Place& place,
                        std::optional<std::uint64_t> after, const Call& call) {
  abi::Payload payload =
      payload_of(call, static_cast<std::uint32_t>(call.count));
  copy_args(call, ring.arg_block(place.first), payload);
  write_task(ring, place, place.first, after, payload);
}

/// Tiles that read one argument block. Workers that read the same line of host
/// memory wait for each other: four do not feel it, eight take half as long
/// again, and five hundred take 200 us.
inline constexpr std::uint32_t kBlockTiles = 4;

/// Writes the first `count` descriptors of `tiles` tiles with a common
/// `payload`. If their arguments are in a block, it is the one of `position`.
inline void write_alike(Ring& ring, const Place& place, std::uint64_t position,
                        std::optional<std::uint64_t> after,
                        abi::Payload& payload, std::uint32_t tiles,
                        std::uint32_t count) {
  payload.parts = static_cast<std::uint16_t>(tiles);
  set_place(payload, place, position, after);
  const bool in_block = (payload.flags & abi::kArgsInBlock) != 0;
  const u64 arg_count = payload.args[0];
  const u64* const args = ring.arg_block(position).args;
  PayloadWords words = words_of(payload);
  for (std::uint32_t tile = 0; tile < count; ++tile) {
    if (in_block) {
      words.args[1] = tile % kBlockTiles;
      if (words.args[1] == 0 && tile != 0)
        std::copy_n(args, arg_count, ring.arg_block(position + tile).args);
    }
    ring.write(position + tile, words);
    words.head += u64{1} << (16 + abi::kTileShift);
    words.tail += u64{1} | (after ? u64{1} << 32 : 0);
  }
}

/// Returns the number of descriptors for `tiles` tiles at `place`, which has no
/// other tasks.
inline std::uint32_t count_needed(const Place& place, std::uint32_t tiles) {
  // Pairs with Bursts::is_row().
  return place.is_alone ? 1 : tiles;
}

/// Sets `payload` and `args` for one of `tiles` tiles of a task with `elems`
/// elements.
inline void set_tile(abi::Payload& payload, u64* args, std::uint32_t buffers,
                     std::uint64_t elem_bytes, std::uint64_t elems,
                     std::uint64_t tile_elems, std::uint32_t tile,
                     std::uint32_t tiles, bool interleaves) {
  if (interleaves) {
    payload.count = static_cast<std::uint32_t>(elems);
    payload.flags |= static_cast<std::uint16_t>(tile << abi::kTileShift);
    payload.parts = static_cast<std::uint16_t>(tiles);
    return;
  }
  const std::uint64_t offset = tile * tile_elems;
  payload.count =
      static_cast<std::uint32_t>(std::min(tile_elems, elems - offset));
  for (std::uint32_t k = 0; k < buffers; ++k) args[k] += offset * elem_bytes;
}

/// The division of a task into descriptors.
struct Cut {
  std::uint64_t tile = 0;   // elements of one descriptor
  std::uint64_t piece = 0;  // elements of one row of tiles; 0: it is not cut
  std::uint32_t total = 1;  // descriptors
};

/// Elements of one tile of `call`, so that there are at most `max_tiles`.
std::uint64_t tile_of(const Backend& backend, const Call& call,
                      std::uint32_t max_tiles);
Cut cut_large(const Backend& backend, const Call& call);
inline Cut cut_of(const Backend& backend, const Call& call) {
  if (call.tiles != 0) return {.piece = call.count, .total = call.tiles};
  // The usual case, without a division.
  if (call.count <= backend.traits().min_tile_elems || !call.op->elementwise)
    return {};
  return cut_large(backend, call);
}

void write_cut(Ring& ring, const Place& place,
               std::optional<std::uint64_t> after, const Call& call,
               const Cut& cut, bool interleaves);
/// Writes a task whose tiles find their own parts. If `place.is_alone`, it is
/// the only task there.
void write_tiles(Ring& ring, const Place& place,
                 std::optional<std::uint64_t> after, const Call& call);

/// Writes the descriptors of a task.
inline void write_descriptors(Ring& ring, const Place& place,
                              std::optional<std::uint64_t> after,
                              const Call& call, const Cut& cut,
                              bool interleaves) {
  if (cut.piece == 0)
    write_whole(ring, place, after, call);
  else if (call.tiles != 0)
    write_tiles(ring, place, after, call);
  else
    write_cut(ring, place, after, call, cut, interleaves);
}

/// Writes the descriptors of many tasks, some at a time.
class TaskWriter {
 public:
  /// Tasks of more than `tile` elements become several descriptors.
  TaskWriter(const ManyCall& call, const ManyTasks& many, std::uint64_t tile,
             bool interleaves);

  /// Before the first write, if the call was resolved again.
  void use_operator_of(const Call& call) {
    model_ = payload_of(call, model_.count);
  }
  /// Returns the number of descriptors of all tasks.
  std::uint64_t descriptors() const noexcept { return descriptors_; }
  /// Writes the next `count` of them.
  void write(Ring& ring, const Place& place, std::uint32_t count,
             std::optional<std::uint64_t> after);

 private:
  void write_uniform(Ring& ring, const Place& place, std::uint32_t count,
                     std::optional<std::uint64_t> after);
  void write_tiles(Ring& ring, const Place& place, std::uint32_t count,
                   std::optional<std::uint64_t> after);
  std::uint64_t size_of_task(std::size_t task) const noexcept;

  const ManyTasks& many_;
  std::uint64_t tile_;
  bool interleaves_;
  std::uint64_t elem_bytes_;
  std::uint32_t buffers_;
  std::uint32_t arg_count_;
  abi::Payload model_;
  // Every argument, scalars as columns that do not move.
  std::array<Column, abi::kMaxArgs> columns_;
  bool is_uniform_;  // one descriptor a task, all of one size, arguments inline
  std::uint64_t descriptors_;
  std::size_t task_ = 0;    // next task
  std::uint32_t part_ = 0;  // tiles of it that are written
};

}  // namespace gpuos
