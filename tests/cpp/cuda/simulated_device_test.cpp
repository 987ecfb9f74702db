// Tests of the CUDA backend's host side on a simulated device. They need
// correct threads, but no correct operators.
#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "contract.h"
#include "gpuos/interrupt.h"
#include "gpuos/jit_module.h"
#include "nvrtc_support.h"
#include "operator_support.h"
#include "simulated_support.h"

namespace gpuos {
namespace {

using namespace std::chrono_literals;

class SimulatedDevice : public SimulatedTest {
 protected:
  void SetUp() override {
    SimulatedTest::SetUp();
    if (HasFailure()) return;
    GPUOS_SKIP_WITHOUT_NVRTC();
    simulator_->set_launch_time(0us);
    simulator_->set_load_time(0us);
  }
  void TearDown() override {
    runtime_.reset();
    if (simulator_ != nullptr) simulator_->synchronize();
  }

  Runtime& start(Residency residency, std::chrono::microseconds linger,
                 std::chrono::microseconds lease) {
    RuntimeOptions options = simulated_options(residency);
    options.linger = linger;
    options.lease = lease;
    return start(options);
  }
  Runtime& start(const RuntimeOptions& options) {
    runtime_ = std::make_unique<Runtime>(options);
    EXPECT_EQ(runtime().stats().device, sim::Simulator::kDeviceName);
    return runtime();
  }
  Runtime& runtime() { return *runtime_; }

  std::uint64_t residencies() const { return simulator_->counts().residencies; }
  std::uint64_t burst_tasks() const { return simulator_->counts().burst_tasks; }
  /// Returns the longest wait of a burst after resident workers.
  std::chrono::microseconds longest_behind() const {
    return simulator_->counts().longest_behind;
  }
  /// Returns the number of round trips until workers stay.
  std::int32_t earn_a_stay(const Operator& op,
                           const DeviceArray<std::int32_t>& x) {
    std::int32_t rounds = 0;
    EXPECT_TRUE(becomes_true([&] {
      round_trip(op, x);
      ++rounds;
      return residencies() != 0;
    }));
    return rounds;
  }

  /// Runs one task on `x`, waits for it, and returns its duration.
  Clock::duration round_trip(const Operator& op,
                             const DeviceArray<std::int32_t>& x) {
    const auto begin = Clock::now();
    const Ticket ticket = runtime().submit(op, {x.view()}, x.view());
    EXPECT_TRUE(runtime().wait(ticket, kDeadline));
    return Clock::now() - begin;
  }

  static OperatorDefinition plus(int value) {
    return whole_operator("plus_" + std::to_string(value),
                          "x[0] + " + std::to_string(value), 1, DType::Int32);
  }

 private:
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(SimulatedDevice, AwaitedTasksMakeWorkersStayAndNoBurstWaitsForThem) {
  constexpr auto kLease = 100ms;
  start(Residency::Auto, kLease, kLease);
  simulator().set_launch_time(200us);
  const Operator op = runtime().find("copy");
  const DeviceArray<std::int32_t> x(runtime(), 64);
  const std::int32_t rounds = earn_a_stay(op, x);
  const std::uint64_t before = residencies();
  EXPECT_GT(before, 0u);
  const auto begin = Clock::now();
  std::int32_t more = 0;
  for (; Clock::now() - begin < 2s; ++more) round_trip(op, x);
  const auto leases =
      static_cast<std::uint64_t>((Clock::now() - begin) / kLease);
  // On a busy machine they also leave because the next task comes late.
  EXPECT_LE(residencies() - before, 2 * leases + 3);
  EXPECT_LT(longest_behind(), kLease / 2);
  EXPECT_EQ(x.read()[0], rounds + more);
}

TEST_F(SimulatedDevice, TasksThatComeDuringALoadRunOnceAndWaitForNoLease) {
  constexpr int kLoads = 10;
  start(Residency::Resident, 2s, 2s);
  simulator().set_load_time(5ms);
  const Operator copy = runtime().find("copy");
  const DeviceArray<std::int32_t> x(runtime(), 64);
  std::atomic<std::int32_t> rounds{0};
  std::atomic<Clock::duration> worst{Clock::duration{}};
  std::jthread producer([&](const std::stop_token& stop) {
    for (; !stop.stop_requested(); ++rounds)
      worst = std::max(worst.load(), round_trip(copy, x));
  });
  for (int i = 0; i < kLoads; ++i) {
    ASSERT_TRUE(becomes_true([&] { return runtime().stats().is_resident; }));
    const std::int32_t rounds_before = rounds;
    runtime().define(plus(i));
    ASSERT_TRUE(becomes_true([&] { return rounds > rounds_before; }));
  }
  producer = {};
  EXPECT_EQ(runtime().stats().parks, static_cast<std::uint64_t>(kLoads));
  EXPECT_LT(worst.load(), 1s);
  EXPECT_EQ(x.read()[0], rounds);
}

TEST_F(SimulatedDevice, ModulesLoadBetweenTasksWhileAnotherRuntimeLives) {
  constexpr int kLoads = 20;
  start(Residency::Resident, 2s, 2s);
  const Runtime other(simulated_options(Residency::Auto));
  const DeviceArray<std::int32_t> x(runtime(), 64);
  const Operator copy = runtime().find("copy");
  const std::size_t loaded = ModuleRegistry::list().size();
  const auto begin = Clock::now();
  for (int i = 0; i < kLoads; ++i) {
    round_trip(copy, x);
    ASSERT_TRUE(becomes_true([&] { return runtime().stats().is_resident; }));
    const JitModule module(
        JitSource{.source = "extern \"C\" __global__ void k() {}"});
    const Kernel kernel = module.kernel("k");
    EXPECT_EQ(ModuleRegistry::list().size(), loaded + 1);
  }
  EXPECT_EQ(ModuleRegistry::list().size(), loaded);
  EXPECT_EQ(runtime().stats().parks, static_cast<std::uint64_t>(kLoads));
  // Without a park each load would have waited for a lease.
  EXPECT_LT(Clock::now() - begin, 2s * kLoads / 2);
}

TEST_F(SimulatedDevice, APauseEndsTheStayAndTheNextTaskIsABurst) {
  start(Residency::Auto, 20ms, 20ms);
  const Operator op = runtime().find("copy");
  const DeviceArray<std::int32_t> x(runtime(), 64);
  const std::int32_t rounds = earn_a_stay(op, x);
  ASSERT_GT(residencies(), 0u);
  ASSERT_TRUE(becomes_true([&] {
    return runtime().stats().residency_reason.starts_with("bursts") &&
           !runtime().stats().is_resident;
  })) << runtime().stats().residency_reason;
  const auto bursts_before = burst_tasks();
  const auto residencies_before = residencies();
  round_trip(op, x);
  EXPECT_EQ(burst_tasks(), bursts_before + 1);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(residencies(), residencies_before);
  EXPECT_EQ(x.read()[0], rounds + 1);
}

TEST_F(SimulatedDevice, StaysThatServeFewTasksGetRare) {
  constexpr std::int32_t kRounds = 400;
  start(Residency::Auto, 50ms, 50ms);
  const Operator op = runtime().find("copy");
  const DeviceArray<std::int32_t> x(runtime(), 64);
  const std::int32_t rounds = earn_a_stay(op, x);
  ASSERT_GT(residencies(), 0u);
  for (std::int32_t i = 0; i < kRounds; ++i) {
    simulator().synchronize();
    round_trip(op, x);
  }
  EXPECT_LE(residencies(), 8u);
  EXPECT_EQ(x.read()[0], rounds + kRounds);
}

TEST_F(SimulatedDevice, ABurstAfterAStayDoesNotWaitForRemainingTasks) {
  constexpr auto kLease = 1000ms;
  start(Residency::Auto, kLease, kLease);
  const Operator stand = runtime().define(stand_definition());
  const Operator op = runtime().find("copy");
  const DeviceArray<std::int32_t> x(runtime(), 64), y(runtime(), 64);
  earn_a_stay(op, x);
  ASSERT_TRUE(becomes_true([&] { return runtime().stats().is_resident; }));
  {
    const Hold hold(simulator());
    runtime().submit(stand, {y.view()}, y.view());
    runtime().submit(op, {y.view()}, y.view());
    ASSERT_TRUE(becomes_true([&] { return simulator().counts().holds_task; }));
    std::this_thread::sleep_for(kLease);
  }
  ASSERT_TRUE(becomes_true([&] { return residencies() == 2; }));
  const auto bursts_before = burst_tasks();
  EXPECT_LT(round_trip(op, x), kLease / 2);
  EXPECT_EQ(burst_tasks(), bursts_before + 1);
  EXPECT_EQ(y.read()[0], 2);
}

TEST_F(SimulatedDevice, NothingIsLostOverManyLeasesOfAFullQueue) {
  start({.backend = "cuda",
         .residency = Residency::Resident,
         .queue_capacity = 64,
         .linger = 1ms,
         .lease = 2ms});
  constexpr std::size_t kOutputs = 100;
  const Operator op = runtime().find("copy");
  const DeviceArray<std::int32_t> x(runtime(), kOutputs);
  const auto deadline = Clock::now() + kDeadline;
  std::int32_t laps = 0;
  for (; residencies() < 100 && Clock::now() < deadline; ++laps) {
    for (std::size_t i = 0; i < kOutputs; ++i) {
      const TensorView one = x.view(i, 1);
      runtime().submit(op, {one}, one);
    }
  }
  EXPECT_GE(residencies(), 100u);
  EXPECT_EQ(x.read(), std::vector<std::int32_t>(kOutputs, laps));
}

TEST_F(SimulatedDevice, TilesOfOneCallHaveTheSameArguments) {
  constexpr std::size_t kElems = 20 * 16384;
  constexpr int kCalls = 7;
  for (const Residency residency : {Residency::Burst, Residency::Resident}) {
    start(simulated_options(residency));
    simulator().reset_counts();
    // More arguments than a descriptor holds.
    const Operator op = runtime().define(whole_operator(
        "mix", "a * x[0] + b * x[1] + c", 2, DType::Float32, {"a", "b", "c"}));
    const DeviceArray<float> x(runtime(), kElems);
    std::vector<DeviceArray<float>> outs;
    for (int i = 0; i < kCalls; ++i) outs.emplace_back(runtime(), kElems);
    const std::vector<TensorView> inputs{x.view(), x.view()};
    const std::vector<Scalar> numbers{1.0f, 2.0f, 3.0f};
    const auto submit = [&](const DeviceArray<float>& out) {
      runtime().submit(op, inputs, out.view(), numbers);
    };
    // One fits the parameters of a launch, several together do not.
    submit(outs[0]);
    ASSERT_TRUE(runtime().synchronize(kDeadline));
    for (const auto& out : outs) submit(out);
    ASSERT_TRUE(runtime().synchronize(kDeadline));
    const sim::Counts counts = simulator().counts();
    EXPECT_GE(counts.tasks, 20u * (kCalls + 1));
    EXPECT_EQ(counts.stray_tiles, 0u);
  }
}

TEST_F(SimulatedDevice, ManyTilesOfOneTaskNeedOneDescriptor) {
  constexpr std::size_t kTiles = 300;
  start(simulated_options(Residency::Burst));
  const Operator op = runtime().find("add");
  const DeviceArray<float> x(runtime(), kTiles * 16384);
  const DeviceArray<float> y(runtime(), kTiles * 16384);
  simulator().reset_counts();
  for (const auto* out : {&x, &y}) {
    runtime().submit(op, {x.view(), y.view()}, out->view());
    ASSERT_TRUE(runtime().synchronize(kDeadline));
  }
  const sim::Counts counts = simulator().counts();
  EXPECT_EQ(counts.burst_tasks, 2 * kTiles);
  EXPECT_EQ(counts.tiled, 2 * kTiles);
  EXPECT_EQ(counts.stray_tiles, 0u);
}

TEST_F(SimulatedDevice, FlushesGrowWhileTheDeviceHasTwoToRun) {
  constexpr std::size_t kTogether = 64;
  constexpr int kLong = 512 / kTogether;
  constexpr int kLongest = 2048 / kTogether;
  start({.backend = "cuda", .residency = Residency::Burst, .flush_after = 10s});
  const Operator stand = runtime().define(stand_definition());
  const Operator copy = runtime().find("copy");
  const DeviceArray<std::int32_t> held(runtime(), 1);
  const DeviceArray<std::int32_t> x(runtime(), 1);
  const DeviceArray<std::int32_t> y(runtime(), 8192);
  ManyTasks many = many_of(kTogether, 1);
  many.out = y.column(1);
  many.inputs = {x.column(0)};
  const auto bursts_after = [&](int calls) {
    for (int i = 0; i < calls; ++i) {
      runtime().submit_many(copy, many);
      many.out.base += kTogether * sizeof(std::int32_t);
    }
    return runtime().stats().bursts;
  };
  const Hold hold(simulator());
  runtime().submit(stand, {held.view()}, held.view());
  runtime().flush();
  ASSERT_TRUE(becomes_true([&] { return simulator().counts().holds_task; }));
  const std::uint64_t before = runtime().stats().bursts;
  EXPECT_EQ(bursts_after(kLong), before + 1);
  EXPECT_EQ(bursts_after(kLongest - 1), before + 1);
  EXPECT_EQ(bursts_after(1), before + 2);
  simulator().hold_whole_tasks(false);
  ASSERT_TRUE(runtime().synchronize(kDeadline));
  EXPECT_EQ(bursts_after(kLong), before + 3);
}

TEST_F(SimulatedDevice, ALoadThatNeverReturnsBlocksNoOther) {
  start({.backend = "cuda",
         .residency = Residency::Burst,
         .watchdog = 500ms,
         .flush_after = 10s});
  const Operator stand = runtime().define(stand_definition());
  const Operator copy = runtime().find("copy");
  const DeviceArray<std::int32_t> x(runtime(), 64);
  Buffer early = runtime().allocate(64);
  Buffer late = runtime().allocate(64);
  std::vector<std::future<void>> others;
  std::future<void> freed;
  std::future<void> closed;
  runtime().submit(copy, {x.view()}, x.view());
  early.reset();  // to be freed with the next one, because of that task
  runtime().flush();
  const Hold hold(simulator());
  runtime().submit(stand, {x.view()}, x.view());
  runtime().flush();
  ASSERT_TRUE(becomes_true([&] { return simulator().counts().holds_task; }));
  others.push_back(
      std::async(std::launch::async, [&] { runtime().define(plus(1)); }));
  ASSERT_TRUE(becomes_true([&] { return simulator().counts().is_loading; }));
  // This runs before the others, which wait with the submit lock.
  freed = std::async(std::launch::async, [&] { late.reset(); });
  freed.wait_for(50ms);
  for (int i = 0; i < 3; ++i) {
    others.push_back(std::async(std::launch::async, [&] {
      runtime().wait(runtime().submit(copy, {x.view()}, x.view()), kDeadline);
    }));
  }
  others.push_back(
      std::async(std::launch::async, [&] { runtime().allocate(64); }));
  for (std::future<void>& other : others) {
    ASSERT_EQ(other.wait_for(kDeadline), std::future_status::ready);
    EXPECT_THROW(other.get(), TaskError);
  }
  EXPECT_EQ(freed.wait_for(kDeadline), std::future_status::ready);
  closed = std::async(std::launch::async, [&] { runtime().close(); });
  ASSERT_EQ(closed.wait_for(kDeadline), std::future_status::ready);
  EXPECT_THROW(closed.get(), TaskError);
  EXPECT_TRUE(simulator().counts().is_loading);
}

TEST_F(SimulatedDevice, AWaitForAStreamCanBeInterrupted) {
  simulator().hold_events(true);
  {
    int asked = 0;
    const Interrupt interrupt(
        [](void* count) noexcept { return ++*static_cast<int*>(count) == 2; },
        &asked);
    EXPECT_THROW(synchronize(), Cancelled);
    EXPECT_EQ(asked, 2);
  }
  simulator().hold_events(false);
  const Interrupt never([](void*) noexcept { return false; }, nullptr);
  synchronize();
}

}  // namespace
}  // namespace gpuos
