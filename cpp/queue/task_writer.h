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
inline abi::Payload payload_of(const Call& call) {
  abi::Payload payload{};
  payload.op = static_cast<std::uint16_t>(call.slot);
  payload.count = static_cast<std::uint32_t>(call.count);
  payload.flags = traced_flag(call);
  if (call.arg_count > abi::kInlineArgs) {
    payload.flags |= abi::kArgsInBlock;
    payload.args[0] = call.arg_count;
  }
  return payload;
}

/// Returns where a worker looks for the arguments.
inline u64* args_in(abi::Payload& payload, abi::ArgBlock& block) noexcept {
  return (payload.flags & abi::kArgsInBlock) != 0 ? block.args : payload.args;
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

/// Tiles that read one argument block. Workers that read the same line of host
/// memory wait for each other: four do not feel it, eight take half as long
/// again, and five hundred take 200 us.
inline constexpr std::uint32_t kBlockTiles = 4;

/// A part of the tiles of one task. They differ in their number only.
struct Row {
  std::uint32_t tiles = 1;  // of the task
  std::uint32_t first = 0;
  std::uint32_t count = 1;  // from the first on
};

/// Writes the descriptors of `row` from `position` on. They share `payload`. If
/// their arguments are in a block, it is the one of `position`.
inline void write_row(Ring& ring, const Place& place, std::uint64_t position,
                      std::optional<std::uint64_t> after, abi::Payload& payload,
                      const Row& row) {
  payload.parts = static_cast<std::uint16_t>(row.tiles);
  payload.flags |= static_cast<std::uint16_t>(row.first << abi::kTileShift);
  set_place(payload, place, position, after);
  const bool in_block = (payload.flags & abi::kArgsInBlock) != 0;
  const u64 arg_count = payload.args[0];
  const u64* const args = ring.arg_block(position).args;
  PayloadWords words = words_of(payload);
  ring.write(position, words);
  for (std::uint32_t i = 1; i < row.count; ++i) {
    words.head += u64{1} << (16 + abi::kTileShift);
    words.tail += u64{1} | (after ? u64{1} << 32 : 0);
    if (in_block) {
      words.args[1] = i % kBlockTiles;
      if (words.args[1] == 0)
        std::copy_n(args, arg_count, ring.arg_block(position + i).args);
    }
    ring.write(position + i, words);
  }
}

/// The division of a task into descriptors.
struct Cut {
  std::uint64_t tile = 0;   // elements of one descriptor; 0: its number says it
  std::uint64_t piece = 0;  // elements of one row of tiles, if they have a size
  std::uint32_t total = 1;  // descriptors
};

constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) noexcept {
  return (a + b - 1) / b;
}

/// Returns the number of elements of one tile of `call`. All tiles are at most
/// one batch.
inline std::uint64_t tile_of(const Backend& backend, const Call& call) {
  if (!call.op->elementwise) return call.count;
  // Reserves one tile for the rounding of the pieces.
  const std::uint32_t most =
      std::min<std::uint32_t>(backend.traits().rings[0]->max_batch(),
                              abi::kMaxTiles) -
      1;
  const std::uint64_t elems =
      std::max(backend.tile_elems(call.count, size_of(call.dtype)),
               ceil_div(call.count, most));
  // Tiles begin at full cache lines of every dtype.
  constexpr std::uint64_t kGranule = 128;
  return ceil_div(elems, kGranule) * kGranule;
}

inline Cut cut_of(const Backend& backend, const Call& call) {
  // The tiles of a program know their own parts.
  if (call.tiles != 0) return {.total = call.tiles};
  // The usual case, without a division.
  if (call.count <= backend.traits().min_tile_elems || !call.op->elementwise)
    return {};
  // A descriptor counts in 32 bits.
  constexpr std::uint64_t kMostPiece = std::uint64_t{1} << 31;
  Cut cut{tile_of(backend, call), std::min(call.count, kMostPiece)};
  cut.total = static_cast<std::uint32_t>(
      call.count / cut.piece * ceil_div(cut.piece, cut.tile) +
      ceil_div(call.count % cut.piece, cut.tile));
  return cut;
}

/// Returns the number of descriptors of many tasks whose tiles have `tile`
/// elements.
inline std::uint64_t count_descriptors(const ManyTasks& many,
                                       std::uint64_t tile) {
  const auto of = [=](std::int64_t size) {
    return ceil_div(static_cast<std::uint64_t>(size), tile);
  };
  if (many.sizes == nullptr) return many.tasks * of(many.size);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < many.tasks; ++i) count += of(many.sizes[i]);
  return count;
}

/// Writes the descriptors of many tasks, or of many pieces of one, some at a
/// time. A task of more than `tile` elements becomes a row of tiles.
class TaskWriter {
 public:
  TaskWriter(const ManyCall& call, const ManyTasks& many, std::uint64_t tile,
             bool interleaves)
      : TaskWriter(call, tile, interleaves) {
    sizes_ = many.sizes;
    size_ = static_cast<std::uint64_t>(many.size);
    elems_ = many.tasks * size_;
    is_uniform_ =
        sizes_ == nullptr && size_ <= tile && arg_count_ <= abi::kInlineArgs;
    for (std::uint32_t k = 0; k < arg_count_; ++k)
      columns_[k] = call.columns[k] != nullptr ? *call.columns[k]
                                               : Column{.base = call.args[k]};
  }
  TaskWriter(const Call& call, const Cut& cut, bool interleaves)
      : TaskWriter(call, cut.tile, interleaves) {
    size_ = cut.piece;
    elems_ = call.count;
    const auto bytes = static_cast<std::int64_t>(size_ * elem_bytes_);
    for (std::uint32_t k = 0; k < arg_count_; ++k)
      columns_[k] = {.base = call.args[k],
                     .step_bytes = k < buffers_ ? bytes : 0};
  }

  /// Writes the next `count` of them.
  void write(Ring& ring, const Place& place, std::uint32_t count,
             std::optional<std::uint64_t> after) {
    if (is_uniform_) return write_uniform(ring, place, count, after);
    for (std::uint32_t written = 0; written < count;)
      written += write_next(ring, place, written, count, after);
  }

 private:
  TaskWriter(const Call& call, std::uint64_t tile, bool interleaves)
      : tile_(tile),
        interleaves_(interleaves),
        elem_bytes_(size_of(call.dtype)),
        buffers_(call.buffers),
        arg_count_(call.arg_count),
        model_(payload_of(call)) {}

  std::uint64_t task_size() const noexcept {
    return sizes_ != nullptr ? static_cast<std::uint64_t>(sizes_[task_])
                             : std::min(size_, elems_ - task_ * size_);
  }
  /// Writes tiles that are alike, after `written` of `count` descriptors.
  /// Returns how many places they take.
  std::uint32_t write_next(Ring& ring, const Place& place,
                           std::uint32_t written, std::uint32_t count,
                           std::optional<std::uint64_t> after) {
    while (task_size() == 0) ++task_;
    const std::uint64_t elems = task_size();
    const auto tiles = static_cast<std::uint32_t>(ceil_div(elems, tile_));
    const std::uint64_t position = place.first + written;
    abi::Payload payload = model_;
    u64* const args = args_in(payload, ring.arg_block(position));
    for (std::uint32_t k = 0; k < arg_count_; ++k)
      args[k] = columns_[k].at(task_);
    Row row;
    if (interleaves_) {
      payload.count = static_cast<std::uint32_t>(elems);
      row = {tiles, part_, std::min(tiles - part_, count - written)};
    } else {
      const std::uint64_t offset = part_ * tile_;
      payload.count =
          static_cast<std::uint32_t>(std::min(tile_, elems - offset));
      for (std::uint32_t k = 0; k < buffers_; ++k)
        args[k] += offset * elem_bytes_;
    }
    const std::uint32_t places = row.count;
    // Pairs with Bursts::is_row().
    if (place.is_alone && row.tiles == count && part_ == 0) row.count = 1;
    write_row(ring, place, position, after, payload, row);
    part_ += places;
    if (part_ == tiles) {
      ++task_;
      part_ = 0;
    }
    return places;
  }
  /// write() for tasks of one size, which are one descriptor each.
  void write_uniform(Ring& ring, const Place& place, std::uint32_t count,
                     std::optional<std::uint64_t> after) {
    // Columns without addresses are written out some tasks at a time, so that
    // the loop over tasks decides nothing.
    constexpr std::uint32_t kBlock = 64;
    std::uint64_t computed[abi::kInlineArgs][kBlock];
    const std::uint64_t* values[abi::kInlineArgs];
    abi::Payload payload = model_;
    set_place(payload, place, place.first, after);
    PayloadWords words = words_of(payload);
    const u64 step = u64{1} | (after ? u64{1} << 32 : 0);
    for (std::uint32_t done = 0; done < count;) {
      const std::uint32_t block = std::min(kBlock, count - done);
      for (std::uint32_t k = 0; k < abi::kInlineArgs; ++k) {
        const Column& column = columns_[k];
        values[k] = computed[k];
        if (column.addresses != nullptr) {
          values[k] = column.addresses + task_;
        } else {
          for (std::uint32_t i = 0; i < block; ++i)
            computed[k][i] = column.at(task_ + i);
        }
      }
      for (std::uint32_t i = 0; i < block; ++i, ++done, words.tail += step) {
        for (std::uint32_t k = 0; k < abi::kInlineArgs; ++k)
          words.args[k] = values[k][i];
        ring.write(place.first + done, words);
      }
      task_ += block;
    }
  }

  const std::uint64_t tile_;
  const bool interleaves_;
  const std::uint64_t elem_bytes_;
  const std::uint32_t buffers_;
  const std::uint32_t arg_count_;
  const abi::Payload model_;
  const std::int64_t* sizes_ = nullptr;  // of each task, or null
  std::uint64_t size_ = 0;               // of a task, if `sizes_` is null
  std::uint64_t elems_ = 0;              // of all these tasks
  bool is_uniform_ = false;  // one descriptor a task, all of one size,
                             // arguments inline
  // Every argument, scalars as columns that do not move.
  std::array<Column, abi::kMaxArgs> columns_;
  std::size_t task_ = 0;    // next task
  std::uint32_t part_ = 0;  // tiles of it that are written
};

/// Writes the descriptors of one task.
inline void write_task(Ring& ring, const Place& place,
                       std::optional<std::uint64_t> after, const Call& call,
                       const Cut& cut, bool interleaves) {
  if (cut.tile != 0) [[unlikely]] {
    TaskWriter(call, cut, interleaves).write(ring, place, cut.total, after);
    return;
  }
  abi::Payload payload = payload_of(call);
  u64* const args = args_in(payload, ring.arg_block(place.first));
  // A fixed number costs less than a count.
  if (args == payload.args)
    std::copy_n(call.args.begin(), abi::kInlineArgs, args);
  else
    std::copy_n(call.args.begin(), call.arg_count, args);
  // Pairs with Bursts::is_row().
  write_row(ring, place, place.first, after, payload,
            {cut.total, 0, place.is_alone ? 1 : cut.total});
}

}  // namespace gpuos
