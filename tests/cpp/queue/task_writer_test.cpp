#include "queue/task_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "ring_support.h"

namespace gpuos {
namespace {

constexpr std::uint32_t kCapacity = 64;
constexpr std::uint32_t kArgs = abi::kInlineArgs + 3;

/// A ring, and an operator with more arguments than a descriptor holds.
class TaskWriterTest : public testing::Test {
 protected:
  Call make_call(std::uint32_t arg_count) const {
    Call call;
    call.op = &op_;
    call.arg_count = arg_count;
    std::iota(call.args.begin(), call.args.begin() + arg_count, 100);
    return call;
  }
  static Place open(Ring& ring, std::uint32_t tiles) {
    const std::uint64_t begin = *ring.open_batch(tiles);
    return {.first = begin, .batch_begin = begin, .batch_size = tiles};
  }
  /// Returns whether the task at `position` has the arguments of `call`.
  static bool has_args(const Ring& ring, std::uint64_t position,
                       const Call& call) {
    const abi::Payload payload = read_payload(ring.descriptor(position));
    return std::equal(call.args.begin(), call.args.begin() + call.arg_count,
                      ring.args_of(position, payload));
  }

  OperatorRecord op_;
  RingArrays memory_{kCapacity};
};

TEST_F(TaskWriterTest, AFewTilesOfOneCallHaveOneBlock) {
  // Across the end of the ring.
  Ring ring = memory_.make(kCapacity - 2);
  Call call = make_call(kArgs);
  call.count = 1000;
  call.tiles = 7;
  const Place place = open(ring, 7);
  write_task(ring, place, kCapacity - 7, call, {.total = 7}, false);
  for (std::uint32_t tile = 0; tile < 7; ++tile) {
    const std::uint64_t position = place.first + tile;
    const abi::Payload payload = read_payload(ring.descriptor(position));
    EXPECT_EQ(payload.count, 1000u);
    EXPECT_EQ(payload.parts, 7);
    EXPECT_EQ(payload.flags >> abi::kTileShift, tile);
    EXPECT_EQ(payload.batch_offset, tile);
    EXPECT_EQ(payload.batch_size, 7);
    EXPECT_EQ(payload.wait_distance, 5 + tile);
    EXPECT_TRUE(has_args(ring, position, call));
    const std::uint32_t first = tile / kBlockTiles * kBlockTiles;
    EXPECT_EQ(ring.args_of(position, payload),
              ring.arg_block(place.first + first).args);
  }
  for (std::uint32_t tile = 1; tile < kBlockTiles; ++tile)
    EXPECT_EQ(ring.arg_block(place.first + tile).args[0], 0u);
}

TEST_F(TaskWriterTest, TilesWithFewArgumentsCarryThem) {
  Ring ring = memory_.make(0);
  Call call = make_call(abi::kInlineArgs);
  call.count = 1000;
  call.tiles = 3;
  const Place place = open(ring, 3);
  write_task(ring, place, std::nullopt, call, {.total = 3}, false);
  for (std::uint64_t position = 0; position < 3; ++position)
    EXPECT_TRUE(has_args(ring, position, call));
  EXPECT_EQ(read_payload(ring.descriptor(2)).wait_distance, 0);
}

TEST_F(TaskWriterTest, TilesThatAreInterleavedHaveOneBlock) {
  Ring ring = memory_.make(0);
  Call call = make_call(kArgs);
  call.count = 1000;
  call.buffers = 2;
  const Place place = open(ring, 4);
  write_task(ring, place, std::nullopt, call,
             {.tile = 256, .piece = 1000, .total = 4}, true);
  for (std::uint32_t tile = 0; tile < 4; ++tile) {
    const abi::Payload payload = read_payload(ring.descriptor(tile));
    EXPECT_EQ(payload.count, 1000u);
    EXPECT_EQ(payload.flags >> abi::kTileShift, tile);
    EXPECT_EQ(ring.args_of(tile, payload), ring.arg_block(0).args);
    EXPECT_TRUE(has_args(ring, tile, call));
  }
}

TEST_F(TaskWriterTest, TilesThatAreRangesHaveTheirOwnBlocks) {
  Ring ring = memory_.make(0);
  Call call = make_call(kArgs);
  call.dtype = DType::Float32;
  call.count = 1000;
  call.buffers = 2;
  const Place place = open(ring, 4);
  write_task(ring, place, std::nullopt, call,
             {.tile = 256, .piece = 1000, .total = 4}, false);
  for (std::uint64_t tile = 0; tile < 4; ++tile) {
    const abi::Payload payload = read_payload(ring.descriptor(tile));
    const u64* args = ring.args_of(tile, payload);
    EXPECT_EQ(payload.count, tile == 3 ? 232u : 256u);
    EXPECT_EQ(args[0], call.args[0] + tile * 1024);
    EXPECT_EQ(args[1], call.args[1] + tile * 1024);
    EXPECT_EQ(args[2], call.args[2]);
  }
}

TEST_F(TaskWriterTest, ManyTasksGoOnInTheMiddleOfARow) {
  Ring ring = memory_.make(0);
  const Column out{.base = 4096, .step_bytes = 8192};
  ManyCall call;
  static_cast<Call&>(call) = make_call(kArgs);
  call.count = 1000;
  call.columns[0] = &out;
  ManyTasks many;
  many.tasks = 2;
  many.size = 1000;
  TaskWriter writer(call, many, 256, true);
  Place place = open(ring, 8);
  writer.write(ring, place, 6, std::nullopt);
  place.first += 6;
  writer.write(ring, place, 2, std::nullopt);
  for (std::uint64_t position = 0; position < 8; ++position) {
    const abi::Payload payload = read_payload(ring.descriptor(position));
    const u64* args = ring.args_of(position, payload);
    EXPECT_EQ(payload.flags >> abi::kTileShift, position % 4);
    EXPECT_EQ(payload.parts, 4);
    EXPECT_EQ(payload.count, 1000u);
    EXPECT_EQ(args[0], out.at(position / 4));
    EXPECT_EQ(args[1], call.args[1]);
  }
}

}  // namespace
}  // namespace gpuos
