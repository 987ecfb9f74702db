#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "contract.h"

namespace gpuos {
namespace {

/// Members that a worker of the device runs without a call, and the members
/// between them.
class QuickMembers : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (IsSkipped() || is_host()) return;
    restart({.backend = GetParam(), .residency = Residency::Resident});
  }
};

template <typename T>
T result_of(const std::string& op, T a, T b) {
  if (op == "copy") return a;
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    const U x = static_cast<U>(a), y = static_cast<U>(b);
    return static_cast<T>(op == "add" ? x + y : op == "sub" ? x - y : x * y);
  } else {
    return op == "add" ? a + b : op == "sub" ? a - b : a * b;
  }
}

/// Three buffers that members read and write at random, and the expected
/// values. Each has `count` elements after `first` others.
template <typename T>
class Model {
 public:
  Model(Runtime& runtime, std::size_t first, std::size_t count)
      : runtime_(runtime), first_(first), count_(count) {
    for (std::size_t k = 0; k < 3; ++k) {
      std::vector<T> start(first + count);
      for (std::size_t i = 0; i < start.size(); ++i)
        start[i] = static_cast<T>(i % 7 + k);
      values_[k] = start;
      arrays_.emplace_back(runtime, start);
    }
  }

  void run(const std::string& op, std::size_t out, std::size_t a,
           std::size_t b) {
    if (op == "copy")
      runtime_.submit(op, {view(a)}, view(out));
    else
      runtime_.submit(op, {view(a), view(b)}, view(out));
    for (std::size_t i = first_; i < first_ + count_; ++i)
      values_[out][i] = result_of(op, values_[a][i], values_[b][i]);
  }

  void run_at_random(int members, unsigned seed) {
    std::mt19937 random(seed);
    const std::vector<std::string> ops = {"add", "sub", "mul", "add", "copy"};
    for (int i = 0; i < members; ++i) {
      // Floating numbers are not multiplied, because they would soon be
      // infinite.
      std::string op = ops[random() % ops.size()];
      if (!std::is_integral_v<T> && op == "mul") op = "sub";
      const std::size_t a = random() % 3, b = random() % 3;
      run(op, random() % 3, a, b);
    }
  }

  void check() const {
    for (std::size_t k = 0; k < 3; ++k)
      ASSERT_EQ(arrays_[k].read(), values_[k]) << "buffer " << k;
  }

 private:
  TensorView view(std::size_t k) const {
    return arrays_[k].view(first_, count_);
  }

  Runtime& runtime_;
  std::size_t first_, count_;
  std::array<std::vector<T>, 3> values_;
  std::vector<DeviceArray<T>> arrays_;
};

template <typename T>
void run_all_sizes(Runtime& runtime) {
  unsigned seed = 1;
  for (const std::size_t count : {1u, 4u, 100u, 1023u, 1024u, 1032u, 4096u}) {
    for (const std::size_t first : {0u, 1u, 4u}) {
      SCOPED_TRACE(testing::Message() << count << " behind " << first);
      Model<T> model(runtime, first, count);
      model.run_at_random(100, ++seed);
      model.check();
    }
  }
}

TEST_P(QuickMembers, ComputeFloat32) { run_all_sizes<float>(runtime()); }
TEST_P(QuickMembers, ComputeFloat64) { run_all_sizes<double>(runtime()); }
TEST_P(QuickMembers, ComputeInt32) { run_all_sizes<std::int32_t>(runtime()); }
TEST_P(QuickMembers, ComputeInt64) { run_all_sizes<std::int64_t>(runtime()); }

TEST_P(QuickMembers, MultiplyFloatingNumbers) {
  Model<float> model(runtime(), 0, 1024);
  for (int i = 0; i < 18; ++i) {
    model.run("mul", 0, 0, 1);
    model.run("sub", 0, 0, 2);
    model.run("mul", 0, 1, 0);
    model.run("sub", 0, 2, 0);
  }
  model.check();
}

TEST_P(QuickMembers, OfOtherSizesReadWhatOnlySomeLanesWrote) {
  DeviceArray<std::int32_t> x(runtime(), 4096, 1), y(runtime(), 4096);
  for (int i = 0; i < 200; ++i) {
    const TensorView part = x.view(0, i % 2 == 0 ? 8 : 2048);
    runtime().submit("add", {part, part}, part);
    runtime().submit("add", {x.view(), x.view()}, y.view());
    runtime().submit("sub", {x.view(0, 2048), x.view(0, 2048)},
                     x.view(0, 2048));
    runtime().submit("add", {y.view(4, 8), x.view(4, 8)}, x.view(4, 8));
  }
  std::vector<std::int32_t> a(4096, 1), b(4096);
  for (int i = 0; i < 200; ++i) {
    for (int k = 0; k < (i % 2 == 0 ? 8 : 2048); ++k)
      a[k] = result_of("add", a[k], a[k]);
    for (int k = 0; k < 4096; ++k) b[k] = result_of("add", a[k], a[k]);
    for (int k = 0; k < 2048; ++k) a[k] = 0;
    for (int k = 4; k < 12; ++k) a[k] = result_of("add", b[k], a[k]);
  }
  EXPECT_EQ(x.read(), a);
  EXPECT_EQ(y.read(), b);
}

GPUOS_INSTANTIATE_CONTRACT(QuickMembers);

}  // namespace
}  // namespace gpuos
