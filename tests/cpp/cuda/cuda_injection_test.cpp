#include <algorithm>
#include <cstdio>
#include <thread>

#include "cuda_support.h"
#include "operator_support.h"

namespace gpuos::cu {
namespace {

class CudaInjection : public CudaResidencyTest {
 protected:
  static constexpr std::size_t kSize = 256;

  static OperatorDefinition plus(const std::string& name, int value) {
    return whole_operator(name, "x[0] + " + std::to_string(value), 1,
                          DType::Int32);
  }
  static OperatorDefinition whole(const std::string& name,
                                  const std::string& body) {
    return {.name = name,
            .source = "GPUOS_OPERATOR(" + name + ") {\n" + body + "\n}",
            .dtypes = {DType::Int32},
            .inputs = 1,
            .elementwise = false};
  }

  void expect_adds(const Operator& op, int value) {
    DeviceArray<std::int32_t> x(runtime(), kSize, 5), out(runtime(), kSize);
    runtime().submit(op, {x.view()}, out.view());
    EXPECT_EQ(out.read(), Ints(kSize, 5 + value));
  }
};

TEST_P(CudaInjection, ReplaceUnderTheLoadOfManyThreads) {
  start(GetParam());
  constexpr int kSwaps = 40;
  const Operator op = runtime().define(plus("op", 0));
  std::atomic<std::int32_t> published{0};
  std::atomic<int> tasks{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t](const std::stop_token& stop) {
      DeviceArray<std::int32_t> x(runtime(), kSize, 0), out(runtime(), kSize);
      for (int i = 0; !stop.stop_requested(); ++i, ++tasks) {
        const std::int32_t least = published;
        runtime().submit(op, {x.view()}, out.view());
        if (i % (16 << t) != 0) continue;
        const Ints got = out.read();
        // The version is never a mixture, and never older than the last
        // finished replace().
        ASSERT_EQ(got, Ints(kSize, got[0]));
        ASSERT_GE(got[0], least);
        ASSERT_LE(got[0], kSwaps);
      }
    });
  }
  double worst = 0;
  for (int swap = 1; swap <= kSwaps; ++swap) {
    runtime().replace(op, plus("op", swap));
    published = swap;
    worst = std::max(worst, runtime().stats().last_pause_us);
    std::this_thread::sleep_for(5ms);
  }
  threads.clear();
  ASSERT_TRUE(runtime().synchronize(kDeadline));
  std::printf("%d swaps beside %d tasks, worst pause %.0f us\n", kSwaps,
              tasks.load(), worst);
  expect_adds(op, kSwaps);
}

// Spills that fill the stack are slow but correct.
TEST_P(CudaInjection, SpillsThatFitRun) {
  start(GetParam());
  const Operator op = runtime().define(
      whole("spill",
            "if (lane.index() != 0) return;\n"
            "const volatile int* in = task.pointer<const volatile int>(1);\n"
            "volatile int* out = task.pointer<volatile int>(0);\n"
            "int v[128];\n"
            "#pragma unroll\n"
            "for (int i = 0; i < 128; ++i) v[i] = in[i];\n"
            "#pragma unroll\n"
            "for (int i = 0; i < 128; ++i) out[127 - i] = v[i];"));
  Ints values(128);
  for (int i = 0; i < 128; ++i) values[static_cast<std::size_t>(i)] = i;
  DeviceArray<std::int32_t> in(runtime(), values), out(runtime(), 128);
  runtime().submit(op, {in.view()}, out.view());
  EXPECT_EQ(out.read(), Ints(values.rbegin(), values.rend()));
}

TEST_P(CudaInjection, TheLanesOfOneWorkerMeetAtABarrier) {
  start(GetParam());
  const Operator op = runtime().define(
      whole("prefix",
            "volatile int* out = task.pointer<volatile int>(0);\n"
            "const int* in = task.pointer<const int>(1);\n"
            "if (lane.index() == 0) {\n"
            "  int sum = 0;\n"
            "  for (gpuos::u32 i = 0; i < task.count; ++i)\n"
            "    out[i] = sum += in[i];\n"
            "}\n"
            "lane.barrier();\n"
            "const int total = out[task.count - 1];\n"
            "lane.barrier();\n"
            "for (gpuos::u32 i = lane.index(); i < task.count; "
            "i += lane.count())\n"
            "  out[i] = total - out[i];"));
  constexpr int kCount = 20'000;  // one worker runs all of it
  Ints expected(kCount);
  for (int i = 0; i < kCount; ++i)
    expected[static_cast<std::size_t>(i)] = kCount - 1 - i;
  DeviceArray<std::int32_t> in(runtime(), kCount, 1);
  for (int round = 0; round < 5; ++round) {
    DeviceArray<std::int32_t> out(runtime(), kCount);
    runtime().submit(op, {in.view()}, out.view());
    ASSERT_EQ(out.read(), expected);
  }
}

GPUOS_FOR_EACH_RESIDENCY(CudaInjection);

}  // namespace
}  // namespace gpuos::cu
