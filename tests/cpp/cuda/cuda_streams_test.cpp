#include <future>
#include <random>

#include "cuda_support.h"
#include "errors.h"

namespace gpuos::cu {
namespace {

/// The calling thread's own default stream.
const CUstream kPerThread = reinterpret_cast<CUstream>(std::uintptr_t{2});

class CudaStreams : public CudaResidencyTest {
 protected:
  static constexpr std::size_t kSize = 1000;

  /// Copies in `stream` and waits for the stream alone.
  static Ints read_in(CUstream stream, const DeviceArray<std::int32_t>& x) {
    Ints values(x.size());
    GPUOS_CUDA_CHECK(driver().cuMemcpyDtoHAsync(
        values.data(), address_of(x.data()), 4 * x.size(), stream));
    GPUOS_CUDA_CHECK(driver().cuStreamSynchronize(stream));
    return values;
  }

  static void set_in(CUstream stream, const DeviceArray<std::int32_t>& x,
                     std::int32_t value) {
    GPUOS_CUDA_CHECK(driver().cuMemsetD32Async(
        address_of(x.data()), static_cast<unsigned>(value), x.size(), stream));
  }
};

TEST_P(CudaStreams, ATaskRunsInTheOrderOfItsStream) {
  start(GetParam());
  const Stream stream = make_stream();
  DeviceArray<std::int32_t> a(runtime(), kSize), b(runtime(), kSize);
  DeviceArray<std::int32_t> c(runtime(), kSize), d(runtime(), kSize);
  for (int round = 0; round < 50; ++round) {
    Ints from(kSize, round);
    // The host is at the end before anything of it runs.
    std::optional<Gate> gate;
    gate.emplace(kernels(), stream.get());
    kernels().ramp(a.data(), kSize, round, stream.get());
    set_in(stream.get(), b, 3);
    add(a.view(), b.view(), c.view(), named(stream));
    runtime().flush(named(stream));
    GPUOS_CUDA_CHECK(driver().cuMemcpyHtoDAsync(
        address_of(a.data()), from.data(), 4 * kSize, stream.get()));
    add(a.view(), c.view(), d.view(), named(stream));
    runtime().flush(named(stream));
    gate->open();
    const Ints got = read_in(stream.get(), d);
    for (std::size_t i = 0; i < kSize; ++i)
      ASSERT_EQ(got[i], 2 * round + 3 + static_cast<std::int32_t>(i)) << round;
  }
}

// Each flush may reach the device while the previous one runs. Each task reads
// values that another worker wrote in that flush, through the same caches.
TEST_P(CudaStreams, FlushesInARowSeeEachOthersResults) {
  start(GetParam());
  const Stream stream = make_stream();
  constexpr int kRounds = 1000;
  for (const std::size_t tasks : {16, 100}) {
    DeviceArray<std::int32_t> x(runtime(), tasks * kSize);
    DeviceArray<std::int32_t> y(runtime(), tasks * kSize);
    DeviceArray<std::int32_t> one(runtime(), kSize, 1);
    for (int round = 0; round < kRounds; ++round) {
      const auto& from = round % 2 == 0 ? x : y;
      const auto& to = round % 2 == 0 ? y : x;
      for (std::size_t i = 0; i < tasks; ++i) {
        const std::size_t next = (i + 1) % tasks;
        add(from.view(next * kSize, kSize), one.view(),
            to.view(i * kSize, kSize), named(stream));
      }
      runtime().flush(named(stream));
    }
    EXPECT_EQ(read_in(stream.get(), x), Ints(tasks * kSize, kRounds)) << tasks;
  }
}

TEST_P(CudaStreams, TasksOfTwoStreamsAreInOrder) {
  start(GetParam());
  const Stream first = make_stream(), second = make_stream();
  DeviceArray<std::int32_t> x(runtime(), kSize), y(runtime(), kSize);
  for (int round = 1; round <= 20; ++round) {
    Gate gate(kernels(), first.get());
    fill(x.view(), round, named(first));
    const Ticket last = copy(x.view(), y.view(), named(second));
    runtime().flush();
    EXPECT_FALSE(runtime().is_done(last));
    gate.open();
    ASSERT_EQ(read_in(second.get(), y), Ints(kSize, round));
  }
}

TEST_P(CudaStreams, RandomStreamsEqualASequentialRun) {
  start(GetParam());
  const Stream first = make_stream(), second = make_stream();
  const std::array streams{gpuos::Stream(), named(first), named(second),
                           gpuos::Stream(nullptr)};
  constexpr std::size_t kPlaces = 40, kWidth = 32;
  Ints model(kPlaces * kWidth, 1);
  DeviceArray<std::int32_t> memory(runtime(), model);
  std::mt19937 random(11);
  for (int step = 0; step < 4000; ++step) {
    const std::size_t a = random() % kPlaces, b = random() % kPlaces,
                      out = random() % kPlaces;
    add(memory.view(a * kWidth, kWidth), memory.view(b * kWidth, kWidth),
        memory.view(out * kWidth, kWidth), streams[random() % 4]);
    for (std::size_t i = 0; i < kWidth; ++i)
      model[out * kWidth + i] = static_cast<std::int32_t>(
          static_cast<std::uint32_t>(model[a * kWidth + i]) +
          static_cast<std::uint32_t>(model[b * kWidth + i]));
  }
  EXPECT_EQ(memory.read(), model);
}

TEST_P(CudaStreams, TheLegacyDefaultStream) {
  start(GetParam());
  const gpuos::Stream legacy(nullptr);
  DeviceArray<std::int32_t> x(runtime(), kSize), y(runtime(), kSize);
  for (int round = 0; round < 50; ++round) {
    kernels().ramp(x.data(), kSize, round, nullptr);
    add(x.view(), x.view(), y.view(), legacy);
    runtime().flush(legacy);
    const Ints got = read_in(nullptr, y);
    for (std::size_t i = 0; i < kSize; ++i)
      ASSERT_EQ(got[i], 2 * (round + static_cast<std::int32_t>(i))) << round;
  }
}

// One handle names another stream in each thread. It is refused or correct.
TEST_P(CudaStreams, ThePerThreadDefaultStream) {
  start(GetParam());
  const auto work = [&](std::int32_t first) {
    GPUOS_CUDA_CHECK(driver().cuCtxSetCurrent(context_->get()));
    DeviceArray<std::int32_t> x(runtime(), kSize), y(runtime(), kSize);
    for (std::int32_t round = first; round < first + 200; ++round) {
      set_in(kPerThread, x, round);
      copy(x.view(), y.view(), gpuos::Stream(kPerThread));
      runtime().flush(gpuos::Stream(kPerThread));
      if (read_in(kPerThread, y) != Ints(kSize, round)) return false;
    }
    return true;
  };
  auto other = std::async(std::launch::async, work, 1000);
  try {
    EXPECT_TRUE(work(0));
  } catch (const InvalidArgument& error) {
    EXPECT_TRUE(says(error.what(), "stream"));
  }
  try {
    EXPECT_TRUE(other.get());
  } catch (const InvalidArgument&) {  // NOLINT(bugprone-empty-catch)
  }
  EXPECT_FALSE(runtime().stats().is_dead);
}

TEST_P(CudaStreams, AFlushLaunchesOnlyTheStreamThatItNames) {
  start({.backend = "cuda", .residency = GetParam(), .flush_after = 1h});
  const Stream first = make_stream(), second = make_stream();
  DeviceArray<std::int32_t> x(runtime(), kSize, 0);
  fill(x.view(), 1, named(first));
  const auto before = runtime().stats().bursts;
  runtime().flush(named(second));
  EXPECT_EQ(runtime().stats().bursts, before);
  EXPECT_EQ(read_in(first.get(), x), Ints(kSize, 0));
  runtime().flush(named(first));
  EXPECT_EQ(runtime().stats().bursts, before + 1);
  EXPECT_EQ(read_in(first.get(), x), Ints(kSize, 1));
}

TEST_P(CudaStreams, UnflushedTasksRunBeforeLong) {
  start({.backend = "cuda", .residency = GetParam(), .flush_after = 2ms});
  const Stream stream = make_stream(), looker = make_stream();
  DeviceArray<std::int32_t> x(runtime(), kSize, 0);
  for (int round = 1; round <= 20; ++round) {
    fill(x.view(), round, named(stream));
    ASSERT_TRUE(
        becomes_true([&] { return read_in(looker.get(), x).back() == round; }));
  }
}

TEST_P(CudaStreams, ABlockedStreamDoesNotDelayAnother) {
  start(GetParam());
  const Stream standing = make_stream(), other = make_stream();
  DeviceArray<std::int32_t> x(runtime(), kSize), y(runtime(), kSize);
  DeviceArray<std::int32_t> z(runtime(), kSize);
  std::future<Ints> result;
  {
    Gate gate(kernels(), standing.get());
    const Ticket behind = fill(x.view(), 1, named(standing));
    runtime().flush(named(standing));
    ASSERT_TRUE(runtime().wait(fill(y.view(), 2), kDeadline));
    result = std::async(std::launch::async, [&] {
      GPUOS_CUDA_CHECK(driver().cuCtxSetCurrent(context_->get()));
      copy(y.view(), z.view(), named(other));
      runtime().flush(named(other));
      return read_in(other.get(), z);
    });
    EXPECT_EQ(result.wait_for(kDeadline), std::future_status::ready)
        << "a task waits for one that it has nothing to do with";
    EXPECT_FALSE(runtime().is_done(behind));
  }
  EXPECT_EQ(result.get(), Ints(kSize, 2));
  EXPECT_EQ(x.read(), Ints(kSize, 1));
}

TEST_P(CudaStreams, AStreamMayGoWhenItsTasksAreDone) {
  start(GetParam());
  DeviceArray<std::int32_t> x(runtime(), kSize), one(runtime(), kSize, 1);
  const Stream standing = make_stream();
  DeviceArray<std::int32_t> y(runtime(), kSize);
  for (int round = 0; round < 50; ++round) {
    // Keeps what the table knows of the streams below from being forgotten.
    Gate gate(kernels(), standing.get());
    fill(y.view(), round, named(standing));
    runtime().flush(named(standing));
    {
      const Stream gone = make_stream();
      add(x.view(), one.view(), x.view(), named(gone));
      runtime().flush(named(gone));
      GPUOS_CUDA_CHECK(driver().cuStreamSynchronize(gone.get()));
    }
    const Stream next = make_stream();
    add(x.view(), one.view(), x.view(), named(next));
    runtime().flush(named(next));
    GPUOS_CUDA_CHECK(driver().cuStreamSynchronize(next.get()));
  }
  EXPECT_EQ(x.read(), Ints(kSize, 100));
}

GPUOS_FOR_EACH_RESIDENCY(CudaStreams);

}  // namespace
}  // namespace gpuos::cu
