#include <new>

#include "cuda_support.h"
#include "errors.h"

namespace gpuos::cu {
namespace {

class CudaMemory : public CudaResidencyTest {};

TEST_P(CudaMemory, ADroppedBufferIsFreedAfterItsTasks) {
  start(GetParam());
  constexpr std::size_t kSize = 1 << 20;
  const Stream stream = make_stream();
  DeviceArray<std::int32_t> out(runtime(), kSize);
  for (int round = 1; round <= 20; ++round) {
    auto in =
        std::make_unique<DeviceArray<std::int32_t>>(runtime(), kSize, round);
    Gate gate(kernels(), stream.get());
    const Ticket ticket = copy(in->view(), out.view(), named(stream));
    runtime().flush();
    in.reset();
    // A premature reuse of this memory would corrupt it.
    const DeviceArray<std::int32_t> a(runtime(), kSize, -1);
    const DeviceArray<std::int32_t> b(runtime(), kSize, -1);
    EXPECT_FALSE(runtime().is_done(ticket));
    gate.open();
    ASSERT_TRUE(runtime().wait(ticket, kDeadline));
    ASSERT_EQ(out.read(), Ints(kSize, round));
  }
}

// Workers wait for no stream of others, so it must be zero before they start.
TEST_F(CudaTest, ABufferIsZeroedWhateverTheDefaultStreamDoes) {
  const CUstream busy = nullptr;
  const Stream stream = make_stream();
  Gate gate(kernels(), busy);
  const DeviceBuffer buffer(64);
  GPUOS_CUDA_CHECK(
      driver().cuMemsetD8Async(buffer.address(), 7, 64, stream.get()));
  GPUOS_CUDA_CHECK(driver().cuStreamSynchronize(stream.get()));
  gate.open();
  std::vector<unsigned char> got(64);
  // Runs after all work of the default stream.
  GPUOS_CUDA_CHECK(driver().cuMemcpyDtoH(got.data(), buffer.address(), 64));
  EXPECT_EQ(got, std::vector<unsigned char>(64, 7));
}

TEST_P(CudaMemory, AllocationsComeAndGo) {
  start(GetParam());
  constexpr std::size_t kSize = 1000;
  const auto cycle = [&](int round) {
    DeviceArray<std::int32_t> x(runtime(), kSize);
    fill(x.view(), round);
  };
  for (int round = 0; round < 1000; ++round) cycle(round);
  ASSERT_TRUE(runtime().synchronize(kDeadline));
  const std::size_t before = free_bytes();
  for (int round = 0; round < 10'000; ++round) cycle(round);
  ASSERT_TRUE(runtime().synchronize(kDeadline));
  const std::size_t after = free_bytes();
  EXPECT_LT(before, after + (std::size_t{32} << 20));
}

TEST_P(CudaMemory, ARuntimeFreesItsMemory) {
  start(GetParam());
  runtime_.reset();
  const std::size_t before = free_bytes();
  for (int round = 0; round < 5; ++round) {
    start(GetParam());
    DeviceArray<std::int32_t> x(runtime(), 1000);
    ASSERT_TRUE(runtime().wait(fill(x.view(), round), kDeadline));
  }
  runtime_.reset();
  EXPECT_LT(before, free_bytes() + (std::size_t{32} << 20));
}

TEST_P(CudaMemory, TooMuchIsRefusedWithBothNumbers) {
  start(GetParam());
  const std::string text = thrown_by<std::bad_alloc>(
      [&] { runtime().allocate(std::size_t{1} << 50); });
  EXPECT_TRUE(says(text, std::to_string(std::size_t{1} << 50)));
  EXPECT_TRUE(says(text, "are free"));
  DeviceArray<std::int32_t> x(runtime(), 100);
  ASSERT_TRUE(runtime().wait(fill(x.view(), 3), kDeadline));
  EXPECT_EQ(x.read(), Ints(100, 3));
}

GPUOS_FOR_EACH_RESIDENCY(CudaMemory);

}  // namespace
}  // namespace gpuos::cu
