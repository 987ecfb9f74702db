// Random streams of dependent tasks from several threads against a run of one
// task after the other.
#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include "contract.h"
#include "operator_support.h"

namespace gpuos {
namespace {

constexpr std::size_t kSize = 256;
constexpr std::size_t kShared = 64;

/// One thread's tasks, and their expected results.
template <typename T>
class Streams {
 public:
  Streams(Runtime& runtime, const DeviceArray<T>& shared, unsigned seed)
      : runtime_(runtime),
        shared_(shared),
        shared_values_(shared.read()),
        random_(seed),
        model_(kSize) {
    for (T& value : model_) value = static_cast<T>(pick(100));
    memory_ = std::make_unique<DeviceArray<T>>(runtime, model_);
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      if (i % 331 == 0 && memory_->read() != model_) ++wrong_;
      if (i % 97 == 0) runtime_.is_done(last_);
    }
    if (memory_->read() != model_) ++wrong_;
  }
  int wrong() const { return wrong_; }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }

  // A range of own memory that is `out` itself or does not touch it.
  std::size_t pick_input(std::size_t out, std::size_t n) {
    for (;;) {
      // Mostly what was written a moment ago, so that rows of tasks grow.
      const std::size_t in = pick(3) == 0 ? pick(kSize - n + 1) : last_out_;
      if (in + n > kSize) continue;
      if (in == out || in + n <= out || out + n <= in) return in;
      last_out_ = pick(kSize - n + 1);
    }
  }

  void step() {
    const std::size_t n = 1 + pick(24);
    const std::size_t out = pick(2) == 0 && last_out_ + n <= kSize
                                ? last_out_
                                : pick(kSize - n + 1);
    const std::size_t a = pick_input(out, n);
    const std::size_t common = pick(kShared - n + 1);
    // The third one is a whole operator.
    const char* const names[] = {"add", "sub", "difference"};
    const std::size_t which = pick(3);
    const std::vector<T> before = model_;
    for (std::size_t i = 0; i < n; ++i)
      model_[out + i] =
          apply(which == 0, before[a + i], shared_values_[common + i]);
    const TensorView in = memory_->view(a, n), with = shared_.view(common, n);
    last_ = runtime_.submit(names[which], {in, with}, memory_->view(out, n));
    last_out_ = out;
  }

  static T apply(bool is_sum, T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      const auto p = static_cast<std::uint32_t>(a);
      const auto q = static_cast<std::uint32_t>(b);
      return static_cast<T>(is_sum ? p + q : p - q);
    } else {
      return is_sum ? a + b : a - b;
    }
  }

  Runtime& runtime_;
  const DeviceArray<T>& shared_;
  std::vector<T> shared_values_;
  std::mt19937 random_;
  std::vector<T> model_;
  std::unique_ptr<DeviceArray<T>> memory_;
  std::size_t last_out_ = 0;
  Ticket last_;
  int wrong_ = 0;
};

class ChainStreams : public Contract {
 protected:
  template <typename T>
  void check(Residency residency, std::uint32_t capacity) {
    restart({.backend = GetParam(),
             .residency = residency,
             .queue_capacity = capacity});
    std::vector<T> values(kShared);
    for (std::size_t i = 0; i < kShared; ++i)
      values[i] = static_cast<T>(static_cast<double>(i) * 0.75);
    const DeviceArray<T> shared(runtime(), values);
    runtime().define(whole_operator("difference", "x[0] - x[1]", 2,
                                    shared.view(0, 1).dtype));
    for (const unsigned threads : {1u, 3u}) {
      std::vector<Streams<T>> streams;
      streams.reserve(threads);
      for (unsigned i = 0; i < threads; ++i)
        streams.emplace_back(runtime(), shared, 100 * capacity + i);
      {
        std::vector<std::jthread> running;
        for (Streams<T>& stream : streams)
          running.emplace_back([&stream] { stream.run(3000); });
      }
      for (const Streams<T>& stream : streams) EXPECT_EQ(stream.wrong(), 0);
    }
    EXPECT_GT(runtime().stats().tasks_chained, 0u);
  }
  template <typename T>
  void check_all() {
    for (const Residency residency :
         {Residency::Burst, Residency::Resident, Residency::Auto}) {
      for (const std::uint32_t capacity : {64u, 4096u})
        check<T>(residency, capacity);
    }
  }
};

TEST_P(ChainStreams, OfIntegersEqualASequentialRun) {
  check_all<std::int32_t>();
}

TEST_P(ChainStreams, OfFloatsEqualASequentialRun) { check_all<float>(); }

GPUOS_INSTANTIATE_CONTRACT(ChainStreams);

}  // namespace
}  // namespace gpuos
