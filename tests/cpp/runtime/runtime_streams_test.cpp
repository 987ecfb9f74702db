// Random tasks on overlapping views, from several threads, while operators are
// replaced. The results equal those of the tasks run one by one.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "contract.h"
#include "operator_support.h"

namespace gpuos {
namespace {

constexpr std::size_t kSize = 300;
constexpr int kThreads = 4;
constexpr int kStreams = 1000;  // of each thread
constexpr int kTasks = 40;      // of each stream
constexpr int kSwaps = 8;

/// The memory that the tasks of one thread share, and its expected contents.
class Shared {
 public:
  Shared(Runtime& runtime, const Operator& swapped, unsigned seed)
      : runtime_(runtime),
        swapped_(swapped),
        random_(seed),
        expected_(kSize),
        memory_(runtime, kSize) {}

  void run_stream() {
    for (auto& value : expected_) value = pick(100);
    memory_.write(expected_);
    for (int task = 0; task < kTasks; ++task) run_task();
  }
  bool is_right() const { return memory_.read() == expected_; }

 private:
  struct Span {
    std::size_t first;
    std::size_t count;
  };

  std::int32_t pick(std::size_t end) {
    return static_cast<std::int32_t>(random_() % end);
  }
  std::size_t pick_place(std::size_t count) {
    return random_() % (kSize - count + 1);
  }
  // An input is the output itself or does not touch it.
  std::size_t pick_input(const Span& out) {
    for (;;) {
      const std::size_t in = pick_place(out.count);
      if (in == out.first || in + out.count <= out.first ||
          out.first + out.count <= in)
        return in;
    }
  }
  TensorView view(std::size_t first, std::size_t count) const {
    return memory_.view(first, count);
  }

  void run_task() {
    const std::size_t count = 1 + random_() % 60;
    const Span out{pick_place(count), count};
    const std::size_t a = pick_input(out);
    const std::size_t b = pick_input(out);
    const TensorView to = view(out.first, count);
    const std::vector<std::int32_t> before = expected_;
    const auto expect = [&](auto function) {
      for (std::size_t i = 0; i < count; ++i) {
        // Unsigned, for it wraps.
        const auto x = static_cast<std::uint32_t>(before[a + i]);
        const auto y = static_cast<std::uint32_t>(before[b + i]);
        expected_[out.first + i] = static_cast<std::int32_t>(function(x, y));
      }
    };
    const std::int32_t value = pick(100);
    switch (random_() % 4) {
      case 0:
        runtime_.submit("fill", {}, to, {value});
        expect([&](auto, auto) { return value; });
        break;
      case 1:
        runtime_.submit("copy", {view(a, count)}, to);
        expect([](auto x, auto) { return x; });
        break;
      case 2:
        runtime_.submit("mul", {view(a, count), view(b, count)}, to);
        expect([](auto x, auto y) { return x * y; });
        break;
      default:
        runtime_.submit(swapped_, {view(a, count), view(b, count)}, to);
        expect([](auto x, auto y) { return x + y; });
    }
  }

  Runtime& runtime_;
  Operator swapped_;
  std::mt19937 random_;
  std::vector<std::int32_t> expected_;
  DeviceArray<std::int32_t> memory_;
};

class RuntimeStreams : public Contract {};

TEST_P(RuntimeStreams, RandomStreamsDuringSwapsEqualASequentialRun) {
  const std::array versions{
      OperatorDefinition{.name = "swapped", .expression = "o = x + y"},
      whole_operator("swapped", "x[1] + x[0]", 2, DType::Int32),
      OperatorDefinition{.name = "swapped", .expression = "o = y + x"}};
  const Operator swapped = runtime().define(versions[0]);
  std::atomic<int> running{kThreads};
  std::atomic<int> swaps{0};
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (unsigned seed = 1; seed <= kThreads; ++seed) {
    threads.emplace_back([&, seed] {
      Shared shared(runtime(), swapped, seed);
      // However long a compilation takes, every swap is one under load.
      for (int stream = 0; stream < kStreams || swaps < kSwaps; ++stream) {
        shared.run_stream();
        wrong += shared.is_right() ? 0 : 1;
      }
      --running;
    });
  }
  while (running != 0) {
    ++swaps;
    runtime().replace(swapped, versions[swaps % versions.size()]);
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(swaps, kSwaps);
}

GPUOS_INSTANTIATE_CONTRACT(RuntimeStreams);

}  // namespace
}  // namespace gpuos
