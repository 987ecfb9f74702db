#include "device/task_abi.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace gpuos::abi {
namespace {

// nvcc and NVRTC see the asserts of task_abi.h. Offsets are the same for all
// three because every member is naturally aligned.
TEST(TaskAbi, PayloadHasNoHoles) {
  EXPECT_EQ(offsetof(Payload, op), 0u);
  EXPECT_EQ(offsetof(Payload, flags), 2u);
  EXPECT_EQ(offsetof(Payload, count), 4u);
  EXPECT_EQ(offsetof(Payload, args), 8u);
  EXPECT_EQ(offsetof(Payload, batch_offset), 40u);
  EXPECT_EQ(offsetof(Payload, batch_size), 42u);
  EXPECT_EQ(offsetof(Payload, wait_distance), 44u);
  EXPECT_EQ(offsetof(Payload, parts), 46u);
}

TEST(TaskAbi, DescriptorIsAPayloadAndFourTags) {
  EXPECT_EQ(sizeof(Descriptor), sizeof(Payload) + 4 * sizeof(u32));
  EXPECT_EQ(alignof(Descriptor), 64u);
  EXPECT_EQ(sizeof(ArgBlock), kMaxArgs * sizeof(u64));
}

TEST(TaskAbi, LapTagIsNeverZeroAndChangesEachLap) {
  EXPECT_EQ(lap_tag(0, 6), 1u);
  EXPECT_EQ(lap_tag(63, 6), 1u);
  EXPECT_EQ(lap_tag(64, 6), 2u);
}

}  // namespace
}  // namespace gpuos::abi
