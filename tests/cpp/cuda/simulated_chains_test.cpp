// Tests the chains that the host side of the CUDA backend makes, on a simulated
// device.
#include <array>
#include <random>
#include <thread>

#include "nvrtc_support.h"
#include "queue/descriptor.h"
#include "simulated_support.h"

namespace gpuos {
namespace {

using namespace std::chrono_literals;

#define GPUOS_START(...) \
  start(__VA_ARGS__);    \
  if (!skip_.empty()) GTEST_SKIP() << skip_

class SimulatedChains : public SimulatedTest,
                        public testing::WithParamInterface<Residency> {
 protected:
  void SetUp() override {
    SimulatedTest::SetUp();
    if (simulator_ != nullptr) simulator_->mix(true);
  }
  void TearDown() override {
    runtime_.reset();
    if (simulator_ == nullptr) return;
    simulator_->synchronize();
    EXPECT_EQ(counts().unmet_waits, 0u);
    simulator_->mix(false);
  }

  RuntimeOptions options() const { return simulated_options(GetParam()); }
  Runtime& start(const RuntimeOptions& options) {
    try {
      runtime_ = std::make_unique<Runtime>(options);
    } catch (const BackendUnavailable& error) {
      skip_ = error.what();
      return *runtime_;
    }
    add_ = runtime_->find("add");
    return *runtime_;
  }
  Runtime& runtime() { return *runtime_; }

  using Words = DeviceArray<std::int32_t>;
  Ticket mix(const Words& words, std::size_t out, std::size_t a,
             std::size_t b) {
    return runtime().submit(add_, {words.view(a, 1), words.view(b, 1)},
                            words.view(out, 1));
  }
  void define_whole(bool is_checked = false) {
    OperatorDefinition definition = stand_definition();
    definition.inputs = 2;  // the simulator mixes two
    definition.checked = is_checked;
    whole_ = runtime().define(definition);
  }
  void mix_by_whole(const Words& words, std::size_t out, std::size_t a,
                    std::size_t b) {
    runtime().submit(whole_, {words.view(a, 1), words.view(b, 1)},
                     words.view(out, 1));
  }
  static void mix(std::vector<std::int32_t>& words, std::size_t out,
                  std::size_t a, std::size_t b) {
    const auto word = [&](std::size_t i) {
      return static_cast<std::uint32_t>(words[i]);
    };
    words[out] =
        static_cast<std::int32_t>(31 * word(out) + word(a) + 7 * word(b));
  }

  /// Checks streams in which two of three tasks use a whole operator, if any.
  void check_random_streams(bool has_whole) {
    for (const std::uint32_t capacity : {64u, 1024u}) {
      GPUOS_START({.backend = "cuda",
                   .residency = GetParam(),
                   .queue_capacity = capacity});
      if (has_whole) define_whole();
      std::mt19937 random(capacity);
      for (const std::size_t size : {3u, 12u, 100u}) {
        std::vector<std::int32_t> model(size, 1);
        const Words words(runtime(), model);
        const auto pick = [&] { return random() % size; };
        for (int step = 0; step < 2500; ++step) {
          const std::size_t out = pick(), a = pick(), b = pick();
          if (has_whole && random() % 3 != 0)
            mix_by_whole(words, out, a, b);
          else if (const Ticket ticket = mix(words, out, a, b); step % 100 == 0)
            runtime().is_done(ticket);
          mix(model, out, a, b);
          if (step % 501 == 0) {
            ASSERT_EQ(words.read(), model);
          }
        }
        ASSERT_EQ(words.read(), model);
      }
      if (GetParam() == Residency::Burst) {
        EXPECT_GT(counts().chained, 0u);
      }
    }
  }

  std::string skip_;

 private:
  std::unique_ptr<Runtime> runtime_;
  Operator add_;
  Operator whole_;
};

TEST_P(SimulatedChains, AChainOfLinksIsAFewLaunchesOrPlaces) {
  GPUOS_START(options());
  std::vector<std::int32_t> model{1, 2};
  const Words words(runtime(), model);
  for (int i = 0; i < 1000; ++i) {
    mix(words, 0, 0, 1);
    mix(model, 0, 0, 1);
  }
  EXPECT_EQ(words.read(), model);
  EXPECT_EQ(counts().tasks, 1000u);
  EXPECT_TRUE(runtime().synchronize(kDeadline));
  EXPECT_EQ(runtime().stats().tasks_completed, 1000u);
  if (GetParam() == Residency::Burst) {
    // One place after the other would be a launch a link.
    EXPECT_EQ(counts().chained, 1000u);
    EXPECT_LE(counts().bursts, 100u);
  }
}

TEST_P(SimulatedChains, GrowWhileTheDeviceHasOthersToRun) {
  if (GetParam() != Residency::Burst) GTEST_SKIP() << "is about bursts";
  GPUOS_SKIP_WITHOUT_NVRTC();
  // The simulator only interprets programs.
  GPUOS_START({.backend = "cuda",
               .residency = GetParam(),
               .flush_after = 10s,
               .compile_programs_after = 0});
  define_whole();
  // Nine arguments are two records, so blocks of an odd number have a gap.
  const Operator wide = runtime().define(
      {.name = "wide", .expression = "out = a - b - c - d - e - f - g - h"});
  std::vector<std::int32_t> model{1, 2, 0};
  const Words words(runtime(), model);
  const TensorView x = words.view(0, 1), y = words.view(1, 1);
  const auto links = [&](int count) {
    for (int i = 0; i < count; ++i) {
      mix(words, 0, 0, 1);
      runtime().submit(wide, std::array{x, y, y, y, y, y, y, y}, x);
      mix(model, 0, 0, 1);
      mix(model, 0, 1, 1);
    }
    return runtime().stats().bursts;
  };
  const Hold hold(simulator());
  mix_by_whole(words, 2, 2, 2);
  runtime().flush();
  ASSERT_TRUE(becomes_true([&] { return counts().holds_task; }));
  constexpr int kOfABlock = 42;  // pairs of three records; two are left
  const std::uint64_t before = runtime().stats().bursts;
  // Two blocks follow the one that is held, and then as many as fit.
  EXPECT_EQ(links(2 * kOfABlock), before);
  EXPECT_EQ(links(kOfABlock), before + 1);
  constexpr int kMore = kMostChainBlocks - 2;
  EXPECT_EQ(links(kMore * kOfABlock), before + 1);
  EXPECT_EQ(links(2 * kOfABlock), before + 2);
  simulator().hold_whole_tasks(false);
  EXPECT_EQ(words.read(), model);
}

TEST_P(SimulatedChains, RandomStreamsEqualASequentialRun) {
  check_random_streams(false);
}

TEST_P(SimulatedChains, RandomStreamsOfWholeOperatorsEqualASequentialRun) {
  GPUOS_SKIP_WITHOUT_NVRTC();
  check_random_streams(true);
}

TEST_P(SimulatedChains, WholeOperatorsAreMembersInBursts) {
  GPUOS_SKIP_WITHOUT_NVRTC();
  GPUOS_START(options());
  define_whole();
  std::vector<std::int32_t> model{1, 2};
  const Words words(runtime(), model);
  for (int i = 0; i < 500; ++i) {
    mix_by_whole(words, 0, 0, 1);
    if (i % 3 == 0) mix(words, 0, 0, 1);
    for (int times = i % 3 == 0 ? 2 : 1; times > 0; --times)
      mix(model, 0, 0, 1);
  }
  EXPECT_EQ(words.read(), model);
  EXPECT_TRUE(runtime().synchronize(kDeadline));
  if (GetParam() != Residency::Burst) return;
  // One that is launched before the next one comes is none.
  EXPECT_GT(counts().chained, counts().tasks * 9 / 10);
  EXPECT_LE(counts().bursts, 100u);
}

// Their tickets end with the chain.
TEST_P(SimulatedChains, ChainsOfLongWholeOperatorsAreShort) {
  if (GetParam() != Residency::Burst) GTEST_SKIP() << "is about bursts";
  GPUOS_SKIP_WITHOUT_NVRTC();
  GPUOS_START({.backend = "cuda", .residency = GetParam(), .flush_after = 10s});
  define_whole();
  std::vector<std::int32_t> model{1, 2, 0};
  const Words words(runtime(), model);
  const auto links = [&](int count) {
    const std::uint64_t before = runtime().stats().bursts;
    for (int i = 0; i < count; ++i) {
      mix_by_whole(words, 0, 0, 1);
      mix(model, 0, 0, 1);
    }
    runtime().flush();
    return runtime().stats().bursts - before;
  };
  {
    const Hold hold(simulator());
    mix_by_whole(words, 2, 2, 2);
    mix(model, 2, 2, 2);
    runtime().flush();
    ASSERT_TRUE(becomes_true([&] { return counts().holds_task; }));
    EXPECT_EQ(links(160), 10u);
  }
  // Chains of short tasks get longer if the device keeps up.
  EXPECT_TRUE(runtime().synchronize(kDeadline));
  EXPECT_LE(links(16), 1u);
  for (const int length : {16, 32, 64}) {
    EXPECT_EQ(links(length), 1u) << length;
    EXPECT_TRUE(runtime().synchronize(kDeadline));
    EXPECT_EQ(links(length + 1), 2u) << "it grew when it was full";
    EXPECT_TRUE(runtime().synchronize(kDeadline));
  }
  EXPECT_EQ(words.read(), model);
}

TEST_P(SimulatedChains, WholeOperatorsOfResidentWorkersAreNoMembers) {
  if (GetParam() != Residency::Resident) GTEST_SKIP() << "is about these";
  GPUOS_SKIP_WITHOUT_NVRTC();
  RuntimeOptions patient = options();
  patient.linger = patient.lease = 10s;
  GPUOS_START(patient);
  define_whole();
  const Words words(runtime(), {1, 2});
  // Until the workers exist, tasks come as bursts.
  ASSERT_TRUE(becomes_true([&] {
    mix_by_whole(words, 0, 0, 1);
    return runtime().stats().is_resident;
  }));
  EXPECT_TRUE(runtime().synchronize(kDeadline));
  const std::uint64_t before = counts().chained;
  for (int i = 0; i < 100; ++i) mix_by_whole(words, 0, 0, 1);
  EXPECT_TRUE(runtime().synchronize(kDeadline));
  EXPECT_EQ(counts().chained, before);
}

TEST_P(SimulatedChains, CheckedOperatorsAreNoMembers) {
  GPUOS_SKIP_WITHOUT_NVRTC();
  GPUOS_START(options());
  define_whole(true);
  const Words words(runtime(), {1, 2});
  for (int i = 0; i < 100; ++i) mix_by_whole(words, 0, 0, 1);
  EXPECT_TRUE(runtime().synchronize(kDeadline));
  EXPECT_EQ(counts().chained, 0u);
}

// A whole operator may take long, and another worker is free.
TEST_P(SimulatedChains, IndependentTasksRunInParallelToTheNewestMember) {
  if (GetParam() != Residency::Burst) GTEST_SKIP() << "is about bursts";
  GPUOS_SKIP_WITHOUT_NVRTC();
  GPUOS_START({.backend = "cuda", .residency = GetParam(), .flush_after = 10s});
  define_whole();
  std::vector<std::int32_t> model(9, 1);
  const Words words(runtime(), model);
  mix_by_whole(words, 0, 0, 0);
  mix_by_whole(words, 1, 0, 0);
  // These read what the first one has written, as the second one does.
  for (std::size_t i = 2; i < 9; ++i) {
    if (i % 2 == 0)
      mix_by_whole(words, i, 0, 0);
    else
      mix(words, i, 0, 0);
  }
  for (std::size_t i = 0; i < 9; ++i) mix(model, i, 0, 0);
  EXPECT_EQ(words.read(), model);
  EXPECT_EQ(counts().chained, 2u);
  EXPECT_EQ(counts().bursts, 2u);
  // A task that touches only memory of members does not either.
  mix_by_whole(words, 2, 0, 0);
  mix_by_whole(words, 0, 2, 2);
  mix_by_whole(words, 1, 0, 0);
  mix(words, 2, 2, 2);
  words.read();
  EXPECT_EQ(counts().chained, 5u);
  EXPECT_EQ(counts().bursts, 4u);
}

TEST_P(SimulatedChains, AMemberThatDoesNotEndIsSeen) {
  GPUOS_SKIP_WITHOUT_NVRTC();
  RuntimeOptions strict = options();
  strict.watchdog = 100ms;
  strict.flush_after = 10s;
  // Sequences of whole operators and others.
  for (const std::string_view row : {"www", "oww", "ow", "wo", "oow", "owo"}) {
    GPUOS_START(strict);
    define_whole();
    const Words words(runtime(), {1, 2});
    std::string name;
    const Hold hold(simulator());
    try {
      for (const char what : row) {
        if (what == 'w')
          mix_by_whole(words, 0, 0, 1);
        else
          mix(words, 0, 0, 1);
      }
      runtime().synchronize(kDeadline);
    } catch (const TaskError& error) {
      name = error.operator_name();
    }
    EXPECT_EQ(name, "stand") << row;
  }
}

TEST_P(SimulatedChains, ThreadsEachHaveTheirOwn) {
  GPUOS_START(options());
  constexpr std::size_t kThreads = 4, kWords = 5;
  std::vector<std::int32_t> models[kThreads];
  std::vector<std::unique_ptr<Words>> words;
  for (auto& model : models) {
    model.assign(kWords, 1);
    words.push_back(std::make_unique<Words>(runtime(), model));
  }
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(static_cast<unsigned>(t));
        for (int step = 0; step < 2000; ++step) {
          const std::size_t out = random() % kWords, a = random() % kWords;
          const Ticket ticket = mix(*words[t], out, a, 4);
          mix(models[t], out, a, 4);
          if (step % 300 == 0) runtime().wait(ticket, kDeadline);
        }
      });
    }
  }
  for (std::size_t t = 0; t < kThreads; ++t)
    EXPECT_EQ(words[t]->read(), models[t]);
}

TEST_P(SimulatedChains, RunBeforeAModuleIsLoadedAndAfterIt) {
  GPUOS_START(options());
  std::vector<std::int32_t> model{1, 2};
  const Words words(runtime(), model);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 50; ++i) {
      mix(words, 0, 0, 1);
      mix(model, 0, 0, 1);
    }
    try {
      const JitModule module(
          JitSource{.source = "extern \"C\" __global__ void k() {}"});
      module.kernel("k");
    } catch (const BackendUnavailable& error) {
      GTEST_SKIP() << error.what();
    }
  }
  EXPECT_EQ(words.read(), model);
}

TEST_P(SimulatedChains, RunWithoutAWaiter) {
  GPUOS_START(
      {.backend = "cuda", .residency = GetParam(), .flush_after = 20ms});
  std::vector<std::int32_t> model{1, 2};
  const Words words(runtime(), model);
  for (int i = 0; i < 20; ++i) mix(words, 0, 0, 1);
  EXPECT_TRUE(becomes_true([&] { return counts().tasks == 20; }));
}

TEST_P(SimulatedChains, TrySubmitMakesMembersToo) {
  GPUOS_START(options());
  std::vector<std::int32_t> model{1, 2};
  const Words words(runtime(), model);
  const Operator add = runtime().find("add");
  const TensorView x = words.view(0, 1), y = words.view(1, 1);
  int tried = 0;
  const auto accepts = [&] {
    // The first task asks who owns the memory, and a task that changes the ring
    // waits.
    mix(words, 0, 0, 1);
    mix(model, 0, 0, 1);
    const std::uint64_t before = runtime().stats().tasks_chained;
    for (int i = 0; i < 20; ++i) {
      if (!runtime().try_submit(add, std::array{x, y}, x)) continue;
      mix(model, 0, 0, 1);
      ++tried;
    }
    return tried >= 40 && runtime().stats().tasks_chained > before;
  };
  EXPECT_TRUE(becomes_true(accepts));
  EXPECT_EQ(words.read(), model);
}

TEST_P(SimulatedChains, ManyTasksAreNotMembers) {
  // Two parts of a quarter of the small queue, and half of one. A part after
  // the first one is noted on its own.
  for (const std::uint32_t capacity : {1024u, 64u}) {
    GPUOS_START({.backend = "cuda",
                 .residency = GetParam(),
                 .queue_capacity = capacity});
    std::vector<std::int32_t> model(80, 1);
    const Words words(runtime(), model);
    ManyTasks many = many_of(40, 1);
    many.out = words.column(1);
    many.inputs = {words.column(1), words.column(1)};
    for (int round = 0; round < 20; ++round) {
      runtime().submit_many(runtime().find("add"), many);
      for (std::size_t i = 0; i < 40; ++i) mix(model, i, i, i);
      for (const std::size_t out : {3, 3, 20, 35, 39, 60, 60}) {
        mix(words, out, 38, 4);
        mix(model, out, 38, 4);
      }
    }
    EXPECT_EQ(words.read(), model);
  }
}

GPUOS_FOR_EACH_RESIDENCY(SimulatedChains);

}  // namespace
}  // namespace gpuos
