#include "queue/task_writer.h"

#include <algorithm>

namespace gpuos {
namespace {

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

/// Tiles begin at full cache lines of every dtype.
constexpr std::uint64_t kTileGranule = 128;

/// A descriptor counts in 32 bits.
constexpr std::uint64_t kMaxPieceElems = std::uint64_t{1} << 31;

}  // namespace

std::uint64_t tile_of(const Backend& backend, const Call& call,
                      std::uint32_t max_tiles) {
  if (!call.op->elementwise) return call.count;
  std::uint64_t elems = backend.tile_elems(call.count, size_of(call.dtype));
  // Reserves one tile for the rounding of the pieces.
  max_tiles = std::min<std::uint32_t>(max_tiles, abi::kMaxTiles) - 1;
  elems = std::max(elems, ceil_div(call.count, max_tiles));
  return ceil_div(elems, kTileGranule) * kTileGranule;
}

Cut cut_large(const Backend& backend, const Call& call) {
  Cut cut;
  cut.tile = tile_of(backend, call, backend.traits().rings[0]->max_batch());
  cut.piece = std::min(call.count, kMaxPieceElems);
  cut.total = static_cast<std::uint32_t>(
      call.count / cut.piece * ceil_div(cut.piece, cut.tile) +
      ceil_div(call.count % cut.piece, cut.tile));
  return cut;
}

void write_cut(Ring& ring, const Place& place,
               std::optional<std::uint64_t> after, const Call& call,
               const Cut& cut, bool interleaves) {
  const std::uint64_t elem_bytes = size_of(call.dtype);
  std::uint64_t position = place.first;
  for (std::uint64_t done = 0; done < call.count; done += cut.piece) {
    const std::uint64_t elems = std::min(cut.piece, call.count - done);
    const auto tiles = static_cast<std::uint32_t>(ceil_div(elems, cut.tile));
    // Tiles that are interleaved have the arguments of the first.
    const std::uint32_t alike = interleaves ? tiles : 1;
    const std::uint32_t count =
        alike == cut.total ? count_needed(place, alike) : alike;
    for (std::uint32_t t = 0; t < tiles; t += alike, position += alike) {
      abi::Payload payload = payload_of(call, 0);
      u64* args = copy_args(call, ring.arg_block(position), payload);
      for (std::uint32_t k = 0; k < call.buffers; ++k)
        args[k] += done * elem_bytes;
      set_tile(payload, args, call.buffers, elem_bytes, elems, cut.tile, t,
               tiles, interleaves);
      write_alike(ring, place, position, after, payload, alike, count);
    }
  }
}

void write_tiles(Ring& ring, const Place& place,
                 std::optional<std::uint64_t> after, const Call& call) {
  abi::Payload payload =
      payload_of(call, static_cast<std::uint32_t>(call.count));
  copy_args(call, ring.arg_block(place.first), payload);
  write_alike(ring, place, place.first, after, payload, call.tiles,
              count_needed(place, call.tiles));
}

TaskWriter::TaskWriter(const ManyCall& call, const ManyTasks& many,
                       std::uint64_t tile, bool interleaves)
    : many_(many),
      tile_(tile),
      interleaves_(interleaves),
      elem_bytes_(gpuos::size_of(call.dtype)),
      buffers_(call.buffers),
      arg_count_(call.arg_count),
      model_(payload_of(call, static_cast<std::uint32_t>(call.count))) {
  for (std::uint32_t k = 0; k < arg_count_; ++k)
    columns_[k] = call.columns[k] != nullptr ? *call.columns[k]
                                             : Column{.base = call.args[k]};
  is_uniform_ = many.sizes == nullptr && call.count <= tile &&
                arg_count_ <= abi::kInlineArgs;
  descriptors_ = 0;
  if (is_uniform_) {
    descriptors_ = many.tasks;
  } else {
    for (std::size_t i = 0; i < many.tasks; ++i)
      descriptors_ += (size_of_task(i) + tile_ - 1) / tile_;
  }
}

std::uint64_t TaskWriter::size_of_task(std::size_t task) const noexcept {
  return static_cast<std::uint64_t>(many_.sizes != nullptr ? many_.sizes[task]
                                                           : many_.size);
}

void TaskWriter::write(Ring& ring, const Place& place, std::uint32_t count,
                       std::optional<std::uint64_t> after) {
  if (is_uniform_)
    write_uniform(ring, place, count, after);
  else
    write_tiles(ring, place, count, after);
}

void TaskWriter::write_uniform(Ring& ring, const Place& place,
                               std::uint32_t count,
                               std::optional<std::uint64_t> after) {
  // Columns without addresses are written out some tasks at a time, so that
  // the loop over tasks decides nothing.
  constexpr std::uint32_t kBlock = 64;
  std::uint64_t computed[abi::kInlineArgs][kBlock];
  const std::uint64_t* values[abi::kInlineArgs];
  const std::uint64_t offset = place.first - place.batch_begin;
  const std::uint64_t distance = after ? place.first - *after : 0;
  const u64 flags = model_.flags | (after ? u64{abi::kWaits} : 0);
  PayloadWords words{model_.op | flags << 16 | u64{model_.count} << 32,
                     {},
                     offset | u64{place.batch_size} << 16 | distance << 32};
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

void TaskWriter::write_tiles(Ring& ring, const Place& place,
                             std::uint32_t count,
                             std::optional<std::uint64_t> after) {
  const bool in_block = (model_.flags & abi::kArgsInBlock) != 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t elems = size_of_task(task_);
    while (elems == 0) elems = size_of_task(++task_);
    const auto tiles = static_cast<std::uint32_t>((elems + tile_ - 1) / tile_);
    const std::uint64_t position = place.first + i;
    abi::Payload payload = model_;
    u64* args = in_block ? ring.arg_block(position).args : payload.args;
    for (std::uint32_t k = 0; k < arg_count_; ++k)
      args[k] = columns_[k].at(task_);
    set_tile(payload, args, buffers_, elem_bytes_, elems, tile_, part_, tiles,
             interleaves_);
    write_task(ring, place, position, after, payload);
    if (++part_ == tiles) {
      ++task_;
      part_ = 0;
    }
  }
}

}  // namespace gpuos
