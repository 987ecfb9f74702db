#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "cuda_support.h"
#include "operator_support.h"

namespace gpuos::cu {
namespace {

class CudaResidency : public CudaTest {
 protected:
  bool has_left() {
    return becomes_true([&] { return !runtime().stats().is_resident; });
  }

  static double synchronize_context() {
    const auto begin = Clock::now();
    GPUOS_CUDA_CHECK(driver().cuCtxSynchronize());
    return seconds_since(begin);
  }

  static double processor_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) +
             static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }

  /// Submits from a separate thread during its lifetime.
  class Producer {
   public:
    explicit Producer(Runtime& runtime)
        : counters_(runtime, kTasks * kStep),
          ones_(runtime, kStep, 1),
          thread_([this, &runtime](const std::stop_token& stop) {
            const Operator add = runtime.find("add");
            ManyTasks many = many_of(kTasks, 32);
            many.out = counters_.column(kStep);
            many.inputs = {counters_.column(kStep), ones_.column(0)};
            for (; !stop.stop_requested(); ++rounds_)
              runtime.submit_many(add, many);
          }) {}

    /// The thread takes its time to start.
    bool has_submitted(std::int32_t rounds) {
      return becomes_true([&] { return rounds_ >= rounds; });
    }

    /// Returns whether every task ran once.
    testing::AssertionResult is_right() {
      thread_ = {};
      const std::int32_t rounds = rounds_;
      const auto values = counters_.read();
      std::size_t wrong = 0;
      auto result = testing::AssertionFailure() << rounds << " rounds;";
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::int32_t wanted = i % kStep < 32 ? rounds : 0;
        if (values[i] == wanted) continue;
        if (++wrong <= 8)
          result << " task " << i / kStep << " element " << i % kStep
                 << ": expected " << wanted << ", got " << values[i] << ";";
      }
      if (rounds > 0 && wrong == 0) return testing::AssertionSuccess();
      return result << " " << wrong << " of " << values.size() << " wrong";
    }

   private:
    static constexpr std::size_t kTasks = 256;
    static constexpr std::size_t kStep = 64;

    DeviceArray<std::int32_t> counters_;
    DeviceArray<std::int32_t> ones_;
    std::atomic<std::int32_t> rounds_{0};
    std::jthread thread_;
  };
};

TEST_F(CudaResidency, IdleWorkersLeave) {
  start(Residency::Resident);
  DeviceArray<std::int32_t> x(runtime(), 64);
  for (int round = 1; round <= 20; ++round) {
    // The task goes as a burst. It also asks for workers.
    const auto before = runtime().stats().residencies;
    ASSERT_TRUE(runtime().wait(fill(x.view(), round), kDeadline));
    ASSERT_TRUE(
        becomes_true([&] { return runtime().stats().residencies > before; }));
    ASSERT_TRUE(has_left());
    const double seconds = synchronize_context();
    if (round == 20)
      std::printf("cuCtxSynchronize beside idle workers: %.0f us\n",
                  seconds * 1e6);
    EXPECT_LT(seconds, 2);
    EXPECT_EQ(x.read(), Ints(64, round));
  }
}

TEST_F(CudaResidency, ALingerIsAllThatOthersWait) {
  start({.backend = "cuda",
         .residency = Residency::Resident,
         .linger = 1s,
         .lease = 60s});
  DeviceArray<std::int32_t> x(runtime(), 64);
  ASSERT_TRUE(runtime().wait(fill(x.view(), 1), kDeadline));
  ASSERT_TRUE(becomes_true([&] { return runtime().stats().is_resident; }));
  EXPECT_LT(synchronize_context(), 5);
}

TEST_F(CudaResidency, ABusyRuntimeLetsOthersIn) {
  start(Residency::Resident);
  Producer producer(runtime());
  ASSERT_TRUE(producer.has_submitted(100));
  double synchronize = 0;
  double allocate = 0;
  for (int i = 0; i < 20; ++i) {
    synchronize = std::max(synchronize, synchronize_context());
    const auto begin = Clock::now();
    CUdeviceptr memory = 0;
    GPUOS_CUDA_CHECK(driver().cuMemAlloc(&memory, 1 << 20));
    GPUOS_CUDA_CHECK(driver().cuMemFree(memory));
    allocate = std::max(allocate, seconds_since(begin));
  }
  std::printf(
      "beside busy workers, lease %.0f ms, worst of 20: "
      "cuCtxSynchronize %.2f ms, cuMemAlloc and cuMemFree %.2f ms\n",
      std::chrono::duration<double, std::milli>(runtime().options().lease)
          .count(),
      synchronize * 1e3, allocate * 1e3);
  EXPECT_LT(synchronize, 2);
  EXPECT_LT(allocate, 2);
  EXPECT_TRUE(producer.is_right());
}

TEST_F(CudaResidency, IdleRuntimesTakeNoProcessorTime) {
  std::vector<std::unique_ptr<Runtime>> runtimes;
  for (const Residency mode : {Residency::Resident, Residency::Burst}) {
    Runtime& idle =
        *runtimes.emplace_back(std::make_unique<Runtime>(cuda_options(mode)));
    // The compiler's warm-up is over when the first operator exists.
    idle.define(whole_operator("warm", "x[0] + 1", 1));
    DeviceArray<float> x(idle, 64);
    idle.submit("warm", {x.view()}, x.view());
    ASSERT_TRUE(idle.synchronize(kDeadline));
  }
  std::this_thread::sleep_for(500ms);
  const double before = processor_seconds();
  std::this_thread::sleep_for(10s);
  const double spent = processor_seconds() - before;
  std::printf("two runtimes, 10 idle seconds: %.1f ms of processor time\n",
              spent * 1e3);
  EXPECT_LT(spent, 1);
}

// A foreign kernel keeps a multiprocessor's registers. One of the workers
// therefore starts only after the others have left.
TEST_F(CudaResidency, WorkersThatDoNotAllFitRunEveryTask) {
  start(Residency::Resident);
  const Stream theirs = make_stream();
  const std::size_t tasks = 4 * runtime().stats().workers;
  DeviceArray<std::int32_t> x(runtime(), 16 * tasks);
  Gate gate(kernels(), theirs.get());
  std::this_thread::sleep_for(10ms);
  for (std::size_t i = 0; i < tasks; ++i) fill(x.view(16 * i, 16), 1);
  EXPECT_TRUE(runtime().synchronize(10s))
      << "tasks wait for a worker that never gets its turn";
  gate.open();
  ASSERT_TRUE(runtime().synchronize(kDeadline));
  EXPECT_EQ(x.read(), Ints(16 * tasks, 1));
}

TEST_F(CudaResidency, TwoRuntimesShareADevice) {
  start(Residency::Resident);
  Runtime other(cuda_options(Residency::Resident));
  Producer a(runtime());
  Producer b(other);
  ASSERT_TRUE(a.has_submitted(100));
  ASSERT_TRUE(b.has_submitted(100));
  std::this_thread::sleep_for(1s);
  EXPECT_TRUE(a.is_right());
  EXPECT_TRUE(b.is_right());
}

}  // namespace
}  // namespace gpuos::cu
