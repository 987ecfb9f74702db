#include "host_backend_driver.h"

namespace gpuos::host {
namespace {

class HostBackendTest : public testing::TestWithParam<std::uint32_t> {};

TEST_P(HostBackendTest, RunsEveryTaskOfEveryBatchOnce) {
  Driver driver(options(GetParam()));
  const float one = 1;
  std::vector<float> cells(5000);
  std::mt19937 random(3);
  BatchRef last;
  for (std::size_t next = 0; next < cells.size();) {
    std::vector<Driver::Job> jobs;
    const std::size_t size =
        std::min<std::size_t>(1 + random() % 100, cells.size() - next);
    for (std::size_t i = 0; i < size; ++i, ++next)
      jobs.push_back(Driver::add(&cells[next], &cells[next], &one, 1));
    last = driver.submit(jobs);
  }
  // Batches end in any order.
  for (std::uint64_t begin = 0; begin <= last.begin;) {
    driver.ring().advance();
    begin = driver.ring().completed();
    if (begin <= last.begin) {
      ASSERT_TRUE(driver.wait({0, begin, nullptr}));
    }
  }
  EXPECT_EQ(std::count(cells.begin(), cells.end(), 1.0f), 5000);
}

TEST_P(HostBackendTest, AChainRunsInOrder) {
  Driver driver(options(GetParam(), 64));
  std::vector<double> x{1};
  const double one = 1;
  constexpr std::uint32_t kAdd = 1, kMul = 9;
  BatchRef last = driver.submit({Driver::add(&x[0], &x[0], &one, 1, kAdd)});
  double expected = 2;
  for (int i = 0; i < 2000; ++i) {
    static const double factors[] = {0.5, 3};
    const double* factor = &factors[i % 2];
    last =
        driver.submit({Driver::add(&x[0], &x[0], factor, 1, kMul)}, last.begin);
    last =
        driver.submit({Driver::add(&x[0], &x[0], &one, 1, kAdd)}, last.begin);
    expected = expected * *factor + 1;
    if (expected > 1e6) {
      last =
          driver.submit({Driver::add(&x[0], &one, &one, 1, kAdd)}, last.begin);
      expected = 2;
    }
  }
  ASSERT_TRUE(driver.wait(last));
  EXPECT_EQ(x[0], expected);
}

TEST_P(HostBackendTest, AJoinWaitsForAllThatItNames) {
  Driver driver(options(GetParam()));
  std::vector<float> parts(16), sum(1), ones(16, 1);
  for (int round = 1; round <= 100; ++round) {
    std::vector<std::uint64_t> begins;
    for (float& part : parts)
      begins.push_back(
          driver.submit({Driver::add(&part, &part, &ones[0], 1)}).begin);
    BatchRef last = driver.join(begins);
    for (float& part : parts)
      last =
          driver.submit({Driver::add(&sum[0], &sum[0], &part, 1)}, last.begin);
    ASSERT_TRUE(driver.wait(last));
    ASSERT_EQ(sum[0], 8.0f * static_cast<float>(round * (round + 1)));
  }
}

TEST_P(HostBackendTest, GoesOnWhenTheLapTagWraps) {
  constexpr std::uint32_t kCapacity = 64;
  Driver driver(options(GetParam(), kCapacity), ((1ull << 32) - 3) * kCapacity);
  const float one = 1;
  std::vector<float> cells(kCapacity * 6);
  BatchRef last;
  for (float& cell : cells) {
    last = driver.submit({Driver::add(&cell, &cell, &one, 1)});
    ASSERT_TRUE(driver.wait(last));
  }
  EXPECT_EQ(std::count(cells.begin(), cells.end(), 1.0f),
            static_cast<std::ptrdiff_t>(cells.size()));
}

TEST_P(HostBackendTest, SleepingWorkersWakeForEveryTask) {
  RuntimeOptions quick = options(GetParam());
  quick.linger = 1us;
  Driver driver(quick);
  const float one = 1;
  float sum = 0;
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(driver.wait(driver.submit({Driver::add(&sum, &sum, &one, 1)})));
    const auto until =
        Clock::now() + std::chrono::nanoseconds(random() % 20000);
    while (Clock::now() < until) {
    }
  }
  EXPECT_EQ(sum, 2000.0f);
}

INSTANTIATE_TEST_SUITE_P(Workers, HostBackendTest,
                         testing::Values(1u, 2u, 16u));

}  // namespace
}  // namespace gpuos::host
