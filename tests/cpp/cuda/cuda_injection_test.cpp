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

  /// The message of the CompileError that `definition` must end with.
  std::string refusal(const Operator& op,
                      const OperatorDefinition& definition) {
    try {
      runtime().replace(op, definition);
    } catch (const CompileError& error) {
      return error.what();
    }
    return "no error";
  }

  void expect_adds(const Operator& op, int value) {
    DeviceArray<std::int32_t> x(runtime(), kSize, 5), out(runtime(), kSize);
    runtime().submit(op, {x.view()}, out.view());
    EXPECT_EQ(out.read(), Ints(kSize, 5 + value));
  }
};

TEST_P(CudaInjection, ManyCyclesLeaveNoMemoryBehind) {
  start(GetParam());
  const auto cycle = [&](int round) {
    const Operator op = runtime().define(plus("passing", round % 30));
    expect_adds(op, round % 30);
    runtime().undefine(op);
  };
  std::atomic<int> flowing{0};
  std::jthread producer([&](const std::stop_token& stop) {
    DeviceArray<std::int32_t> x(runtime(), kSize, 0), one(runtime(), kSize, 1);
    const Operator op = runtime().find("add");
    while (!stop.stop_requested()) {
      runtime().submit(op, {x.view(), one.view()}, x.view());
      ++flowing;
    }
    EXPECT_EQ(x.read(), Ints(kSize, flowing));
  });
  for (int round = 0; round < 30; ++round) cycle(round);
  const std::size_t before = free_bytes();
  const auto unloads = runtime().stats().unloads;
  const int flowed = flowing;
  for (int round = 0; round < 300; ++round) cycle(round);
  EXPECT_GT(flowing, flowed);
  producer = {};
  ASSERT_TRUE(runtime().synchronize(kDeadline));
  EXPECT_TRUE(becomes_true([&] {
    return runtime().stats().unloads >= unloads + 290;
  })) << runtime().stats().unloads - unloads;
  const std::size_t after = free_bytes();
  std::printf("300 cycles: %lld bytes of device memory lost\n",
              static_cast<long long>(before) - static_cast<long long>(after));
  EXPECT_LT(before, after + (std::size_t{8} << 20));
}

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

TEST_P(CudaInjection, WhatNeedsTooMuchIsRefusedWithBothNumbers) {
  start(GetParam());
  const Operator op = runtime().define(whole(
      "op",
      "for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())\n"
      "  task.pointer<int>(0)[i] = task.pointer<const int>(1)[i] + 9;"));
  const std::string registers =
      std::to_string(runtime().stats().registers_per_thread);
  const std::string stack =
      std::to_string(runtime().stats().stack_bytes_per_thread);
  // More values alive than registers, so the cap makes a stack of the rest.
  const std::string wide =
      refusal(op, whole("op",
                        "volatile int* p = task.pointer<volatile int>(0);\n"
                        "int v[1000];\n"
                        "#pragma unroll\n"
                        "for (int i = 0; i < 1000; ++i) v[i] = p[i];\n"
                        "#pragma unroll\n"
                        "for (int i = 0; i < 1000; ++i) p[1000 - i] = v[i];"));
  EXPECT_NE(wide.find("op: needs "), std::string::npos) << wide;
  EXPECT_NE(wide.find("with " + registers + " registers"), std::string::npos)
      << wide;
  EXPECT_NE(wide.find("the worker has " + stack), std::string::npos) << wide;
  expect_adds(op, 9);

  const std::string shared =
      refusal(op, whole("op",
                        "__shared__ int s[64];\n"
                        "s[lane.index() % 64] = 1;\n"
                        "lane.barrier();\n"
                        "task.pointer<int>(0)[0] = s[3];"));
  EXPECT_NE(shared.find("op: uses 256 bytes of __shared__ memory"),
            std::string::npos)
      << shared;
  expect_adds(op, 9);

  const std::string wrong = refusal(op, whole("op", "wrong();"));
  EXPECT_NE(wrong.find("op.cu:2"), std::string::npos) << wrong;
  expect_adds(op, 9);
  EXPECT_EQ(runtime().stats().injections, 1u);
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
