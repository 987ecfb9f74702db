// Independent calls that are queued in one go, between others, on a device that
// is simulated.
#include <array>
#include <random>
#include <set>

#include "nvrtc_support.h"
#include "operators/operator_definition.h"
#include "runtime/runtime_core.h"
#include "simulated_support.h"

namespace gpuos {
namespace {

class SimulatedApart : public SimulatedTest,
                       public testing::WithParamInterface<Residency> {
 protected:
  void SetUp() override {
    SimulatedTest::SetUp();
    if (simulator_ != nullptr) simulator_->mix(true);
  }
  void TearDown() override {
    if (core_ != nullptr) core_->close();
    core_.reset();
    if (simulator_ == nullptr) return;
    simulator_->synchronize();
    EXPECT_EQ(simulator_->counts().unmet_waits, 0u);
    simulator_->mix(false);
  }

  /// False: there is no such backend in this build.
  bool start(std::uint32_t capacity, std::size_t words) {
    RuntimeOptions options = simulated_options(GetParam());
    options.queue_capacity = capacity;
    options.flush_after = flush_after_;
    try {
      core_ = std::make_shared<RuntimeCore>(options);
    } catch (const BackendUnavailable&) {
      return false;
    }
    add_ = core_->registry.find("add");
    model_.assign(words, 1);
    words_ = static_cast<std::int32_t*>(core_->backend->allocate(4 * words));
    core_->backend->copy_to_device(words_, model_.data(), 4 * words);
    return true;
  }

  /// Makes `call` the mix of some words, in the model too.
  void mix(Call& call, std::size_t out, std::size_t a, std::size_t b) {
    const auto address = [this](std::size_t i) {
      return reinterpret_cast<std::uint64_t>(words_ + i);
    };
    const std::array addresses{address(out), address(a), address(b)};
    write_call(call, *add_, DType::Int32, 1, addresses, {});
    const auto word = [this](std::size_t i) {
      return static_cast<std::uint32_t>(model_[i]);
    };
    model_[out] =
        static_cast<std::int32_t>(31 * word(out) + word(a) + 7 * word(b));
  }

  std::vector<std::int32_t> read() {
    EXPECT_TRUE(core_->synchronize(deadline_after(kDeadline)));
    std::vector<std::int32_t> words(model_.size());
    core_->backend->copy_to_host(words.data(), words_, 4 * words.size());
    return words;
  }

  /// Makes calls that do not meet each other.
  void make_level(std::mt19937& random) {
    std::set<std::size_t> read, written;
    calls_.clear();
    const std::size_t most = 1 + random() % 20;
    for (std::size_t i = 0; i < most; ++i) {
      const std::size_t out = random() % model_.size();
      const std::size_t a = random() % model_.size();
      const std::size_t b = random() % model_.size();
      if (written.contains(a) || written.contains(b) || written.contains(out) ||
          read.contains(out))
        continue;
      read.insert({a, b});
      written.insert(out);
      mix(calls_.emplace_back(), out, a, b);
      widen(calls_.back(), random);
    }
  }

  // Views with steps, as columns, have ranges with elements of others in them.
  void widen(Call& call, std::mt19937& random) {
    for (std::size_t i = 0; i < call.access_count; ++i) {
      if (random() % 4 != 0) continue;
      Access& access = call.accesses[i];
      const auto begin = reinterpret_cast<std::uint64_t>(words_);
      access.low -= std::min<std::uint64_t>(access.low - begin, random() % 40);
      access.high = std::min<std::uint64_t>(access.high + random() % 40,
                                            begin + 4 * model_.size());
    }
  }

  std::shared_ptr<RuntimeCore> core_;
  std::shared_ptr<OperatorRecord> add_;
  std::int32_t* words_ = nullptr;
  std::vector<std::int32_t> model_;
  std::vector<Call> calls_;
  std::chrono::microseconds flush_after_{200};
};

TEST_P(SimulatedApart, LevelsEqualASequentialRun) {
  for (const std::uint32_t capacity : {64u, 1024u, 32768u}) {
    if (!start(capacity, 100)) GTEST_SKIP() << "no backend for CUDA";
    std::mt19937 random(capacity);
    std::size_t together = 0;
    for (int step = 0; step < 2000; ++step) {
      make_level(random);
      const bool tries = random() % 4 != 0;
      if (tries && core_->submitter.submit_independent(calls_, {}))
        ++together;
      else
        for (Call& call : calls_) core_->submitter.submit(call, {});
      if (step % 301 == 0) {
        ASSERT_EQ(read(), model_);
      }
    }
    ASSERT_EQ(read(), model_);
    EXPECT_GT(together, 100u);
    core_->close();
  }
}

TEST_P(SimulatedApart, IndependentCallsAreOneFlush) {
  if (!start(1024, 90)) GTEST_SKIP() << "no backend for CUDA";
  for (std::size_t i = 0; i < 30; ++i)
    mix(calls_.emplace_back(), 3 * i, 3 * i + 1, 3 * i + 2);
  EXPECT_TRUE(core_->submitter.submit_independent(calls_, {}));
  EXPECT_EQ(read(), model_);
  EXPECT_EQ(simulator_->counts().tasks, 30u);
  EXPECT_LE(simulator_->counts().bursts, 1u);
  EXPECT_EQ(core_->submitter.counts().ordered.load(), 0u);
}

TEST_P(SimulatedApart, ALongCallIsLaunchedByItself) {
  if (GetParam() != Residency::Burst) GTEST_SKIP() << "is about bursts";
  GPUOS_SKIP_WITHOUT_NVRTC();
  flush_after_ = std::chrono::seconds(10);  // so that nothing else launches
  if (!start(4096, 20)) GTEST_SKIP() << "no backend for CUDA";
  const auto submit = [&](std::size_t out, std::uint32_t tiles) {
    Call call;
    mix(call, out, out + 1, out + 2);
    call.tiles = tiles;
    core_->submitter.submit(call, {});
    return core_->stats().bursts;
  };
  EXPECT_EQ(submit(0, 255), 0u);
  EXPECT_EQ(submit(3, 256), 0u);  // not alone, and 511 are not many
  EXPECT_EQ(submit(6, 1), 1u);
  EXPECT_EQ(submit(9, 256), 2u);
  EXPECT_EQ(submit(12, 1), 2u);
  EXPECT_TRUE(core_->synchronize(deadline_after(kDeadline)));
  EXPECT_EQ(core_->stats().bursts, 3u);
}

TEST_P(SimulatedApart, AnUndisturbedFlushDoesNotWait) {
  if (GetParam() != Residency::Burst) GTEST_SKIP() << "is about bursts";
  GPUOS_SKIP_WITHOUT_NVRTC();
  flush_after_ = std::chrono::seconds(10);  // so that nothing else launches
  if (!start(4096, 500)) GTEST_SKIP() << "no backend for CUDA";
  OperatorDefinition definition = stand_definition();
  definition.inputs = 2;  // the simulator mixes two
  std::vector<OperatorRegistry::Draft> drafts;
  drafts.push_back({definition, record_of(definition)});
  core_->registry.apply(drafts);
  add_ = drafts[0].record;
  const auto submit = [&](std::size_t out) {
    Call call;
    mix(call, out, out + 1, out + 2);
    core_->submitter.submit(call, {});
  };
  {
    const Hold hold(*simulator_);
    submit(0);
    core_->submitter.flush(nullptr);
    ASSERT_TRUE(becomes_true([&] { return simulator_->counts().holds_task; }));
    add_ = core_->registry.find("add");
    EXPECT_NE(core_->submitter.load(), program::Load::Backlog);
    submit(3);
    EXPECT_NE(core_->submitter.load(), program::Load::Backlog);
    for (std::size_t i = 1; i < 128; ++i) submit(12 + 3 * i);
    EXPECT_EQ(core_->submitter.load(), program::Load::Backlog);
    core_->submitter.flush(nullptr);
    submit(6);
    submit(3);  // meets the one before
    core_->submitter.flush(nullptr);
    submit(9);
  }
  EXPECT_EQ(read(), model_);
  EXPECT_NE(core_->submitter.load(), program::Load::Backlog);
  EXPECT_EQ(simulator_->counts().bursts, 4u);
  EXPECT_EQ(simulator_->counts().bursts_independent, 3u);
}

GPUOS_FOR_EACH_RESIDENCY(SimulatedApart);

}  // namespace
}  // namespace gpuos
