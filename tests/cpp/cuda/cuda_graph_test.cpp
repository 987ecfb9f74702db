#include <unistd.h>

#include <cstdio>
#include <functional>
#include <future>
#include <thread>

#include "cuda_support.h"
#include "operator_support.h"

namespace gpuos::cu {
namespace {

class Graph {
 public:
  Graph(CUstream stream, CUstreamCaptureMode mode,
        const std::function<void()>& work) {
    GPUOS_CUDA_CHECK(driver().cuStreamBeginCapture(stream, mode));
    work();
    GPUOS_CUDA_CHECK(driver().cuStreamEndCapture(stream, &graph_));
    GPUOS_CUDA_CHECK(
        driver().cuGraphInstantiateWithFlags(&executable_, graph_, 0));
  }
  ~Graph() {
    if (executable_ != nullptr) driver().cuGraphExecDestroy(executable_);
    if (graph_ != nullptr) driver().cuGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void run(CUstream stream) const {
    GPUOS_CUDA_CHECK(driver().cuGraphLaunch(executable_, stream));
    GPUOS_CUDA_CHECK(driver().cuStreamSynchronize(stream));
  }

 private:
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

class CudaGraph : public CudaResidencyTest {
 protected:
  static constexpr std::size_t kSize = 64;
  static constexpr CUstreamCaptureMode kModes[] = {
      CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED};

  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    CudaTest::SetUp();
  }

  /// Tasks that go round the burst ring more than once.
  void use_the_rings() {
    DeviceArray<std::int32_t> x(runtime(), 4096);
    ManyTasks many = many_of(8192, 1);
    many.params = {5};
    many.out = {nullptr, address_of(x.data()), 0};
    const Operator op = runtime().find("fill");
    for (int i = 0; i < 9; ++i) runtime().submit_many(op, many);
    for (int i = 0; i < 300; ++i) fill(x.view(), i);
    ASSERT_TRUE(runtime().synchronize(kDeadline));
  }
};

TEST_P(CudaGraph, ManyTasksAreReplayed) {
  for (const CUstreamCaptureMode mode : kModes) {
    start(GetParam());
    constexpr std::size_t kTasks = 200;  // of 56 that fit a launch
    const Stream stream = make_stream();
    DeviceArray<std::int32_t> a(runtime(), kTasks * kSize, 1);
    DeviceArray<std::int32_t> b(runtime(), kTasks * kSize, 2);
    DeviceArray<std::int32_t> out(runtime(), kTasks * kSize, 0);
    ManyTasks many = many_of(kTasks, kSize);
    many.out = out.column(kSize);
    many.inputs = {a.column(kSize), b.column(kSize)};
    const Graph graph(stream.get(), mode, [&] {
      const Ticket ticket =
          runtime().submit_many(runtime().find("add"), many, named(stream));
      EXPECT_TRUE(runtime().is_done(ticket));
      EXPECT_TRUE(runtime().wait(ticket, 0s));
    });
    EXPECT_EQ(out.read(), Ints(kTasks * kSize, 0)) << "captured and run";
    for (int replay = 0; replay < 10; ++replay) {
      use_the_rings();
      Ints values(kTasks * kSize);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<std::int32_t>(i) * (replay + 1);
      a.write(values);
      graph.run(stream.get());
      for (std::int32_t& value : values) value += 2;
      ASSERT_EQ(out.read(), values) << replay;
    }
    ASSERT_TRUE(runtime().synchronize(kDeadline));
  }
}

TEST_P(CudaGraph, TasksWithManyArgumentsAreReplayed) {
  for (const CUstreamCaptureMode mode : kModes) {
    start(GetParam());
    constexpr std::size_t kTasks = 60;  // two places more for each one's block
    const Stream stream = make_stream();
    const Operator op = runtime().define({.name = "blend",
                                          .expression = "o = a*x + b*y + c*k",
                                          .params = {{"k", DType::Int32}},
                                          .dtypes = {DType::Int32}});
    std::vector<DeviceArray<std::int32_t>> in;
    for (int i = 0; i < 5; ++i) in.emplace_back(runtime(), kTasks * kSize, i);
    DeviceArray<std::int32_t> out(runtime(), kTasks * kSize, 0);
    const Graph graph(stream.get(), mode, [&] {
      Ticket last;
      for (std::size_t t = 0; t < kTasks; ++t) {
        std::vector<TensorView> inputs;
        for (const auto& array : in)
          inputs.push_back(array.view(t * kSize, kSize));
        const Scalar scalar(static_cast<int>(t));
        last = runtime().submit(op, inputs, out.view(t * kSize, kSize),
                                {&scalar, 1}, named(stream));
      }
      runtime().flush(named(stream));
      EXPECT_TRUE(runtime().is_done(last));
    });
    for (int replay = 1; replay <= 10; ++replay) {
      use_the_rings();
      // Inputs in order of first use: a, x, b, y, c.
      for (int i = 0; i < 5; ++i)
        in[static_cast<std::size_t>(i)].write(Ints(kTasks * kSize, replay + i));
      graph.run(stream.get());
      const Ints got = out.read();
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i], replay * (replay + 1) + (replay + 2) * (replay + 3) +
                              (replay + 4) * static_cast<int>(i / kSize));
    }
  }
}

// Called for the first time while its stream is captured, with memory that its
// tasks leave for each other and that replays go on using.
TEST_P(CudaGraph, AProgramIsReplayed) {
  constexpr std::int64_t kRows = 2, kColumns = 100'000;
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  builder.output(ProgramBuilder::apply(
      Op::Subtract,
      {x, ProgramBuilder::reduce(Op::Max, x, std::vector{1}, true)}));
  const Program program = builder.build();
  for (const CUstreamCaptureMode mode : kModes) {
    start(GetParam());
    const Stream stream = make_stream();
    const auto matrix = [](float* data) {
      return shaped({data, 1}, {kRows, kColumns});
    };
    DeviceArray<float> in(runtime(), kRows * kColumns);
    DeviceArray<float> out(runtime(), kRows * kColumns, -7.0f);
    DeviceArray<float> other(runtime(), kRows * kColumns);
    const auto submit = [&](float* to, gpuos::Stream where) {
      const TensorView from = matrix(in.data()), result = matrix(to);
      runtime().submit(program, {&from, 1}, {&result, 1}, {}, where);
    };
    const Graph graph(stream.get(), mode, [&] {
      submit(out.data(), named(stream));
      runtime().flush(named(stream));
    });
    EXPECT_EQ(out.read()[5], -7.0f) << "captured and run";
    for (int replay = 1; replay <= 10; ++replay) {
      std::vector<float> values(in.size(), 1.0f);
      values[static_cast<std::size_t>(replay) * 777] = 100.0f;
      values[kColumns + 3] = 50.0f + static_cast<float>(replay);
      in.write(values);
      for (int i = 0; i < 40; ++i) submit(other.data(), {});
      graph.run(stream.get());
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] -= i < kColumns ? 100.0f : 50.0f + static_cast<float>(replay);
      ASSERT_EQ(out.read(), values) << replay;
      ASSERT_EQ(other.read(), values) << replay;
    }
    ASSERT_TRUE(runtime().synchronize(kDeadline));
  }
}

TEST_P(CudaGraph, DependentTasksAreReplayedInOrder) {
  start(GetParam());
  const Stream stream = make_stream();
  DeviceArray<std::int32_t> x(runtime(), kSize, 0), one(runtime(), kSize, 1);
  const Graph graph(stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, [&] {
    for (int i = 0; i < 100; ++i)
      add(x.view(), one.view(), x.view(), named(stream));
    runtime().flush(named(stream));
  });
  for (int replay = 1; replay <= 10; ++replay) {
    graph.run(stream.get());
    EXPECT_EQ(x.read(), Ints(kSize, 100 * replay));
  }
}

// Others may use the runtime while a graph is captured in the strictest mode.
TEST_P(CudaGraph, AGlobalCaptureDuringTasksOfAnotherThread) {
  start(GetParam());
  const Stream stream = make_stream();
  DeviceArray<std::int32_t> x(runtime(), kSize, 0), one(runtime(), kSize, 1);
  DeviceArray<std::int32_t> y(runtime(), kSize);
  int rounds = 0;
  std::jthread other([&](const std::stop_token& is_over) {
    for (; !is_over.stop_requested(); ++rounds)
      EXPECT_TRUE(
          runtime().wait(add(x.view(), one.view(), x.view()), kDeadline));
  });
  {
    const Graph graph(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL, [&] {
      for (int i = 0; i < 20; ++i) {
        kernels().ramp(y.data(), kSize, i, stream.get());
        add(y.view(), y.view(), y.view(), named(stream));
        runtime().flush(named(stream));
        std::this_thread::sleep_for(10ms);  // the control thread works
      }
    });
    other.request_stop();
    other.join();
    graph.run(stream.get());
  }
  const Ints got = y.read();
  for (std::size_t i = 0; i < kSize; ++i)
    EXPECT_EQ(got[i], 2 * (19 + static_cast<std::int32_t>(i)));
  EXPECT_EQ(x.read(), Ints(kSize, rounds));
}

TEST_P(CudaGraph, AGlobalCaptureDuringAllocationsAndDefinitions) {
  start(GetParam());
  const Stream stream = make_stream();
  DeviceArray<std::int32_t> y(runtime(), kSize);
  std::promise<void> may_begin;
  std::promise<void> is_over;
  auto other = std::async(std::launch::async, [&] {
    may_begin.get_future().wait();
    for (int i = 0; i < 3; ++i) {
      const Operator op = runtime().define(whole_operator(
          "other" + std::to_string(i), "x[0] + " + std::to_string(i), 1));
      DeviceArray<float> x(runtime(), kSize, 1.0f);
      runtime().submit(op, {x.view()}, x.view());
      EXPECT_EQ(x.read(),
                std::vector<float>(kSize, 1.0f + static_cast<float>(i)));
    }
  });
  const Graph graph(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL, [&] {
    may_begin.set_value();
    fill(y.view(), 7, named(stream));
    runtime().flush(named(stream));
    other.wait();
  });
  EXPECT_NO_THROW(other.get());
  graph.run(stream.get());
  EXPECT_EQ(y.read(), Ints(kSize, 7));
}

// The last owner of a runtime may be a thread that compiled for it.
TEST_P(CudaGraph, AGlobalCaptureDuringTheLifeOfARuntime) {
  start(GetParam());
  const Stream stream = make_stream();
  DeviceArray<std::int32_t> y(runtime(), kSize);
  const Graph graph(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL, [&] {
    fill(y.view(), 7, named(stream));
    std::jthread([] {
      Runtime other({.backend = "cuda"});
      const Buffer buffer = other.allocate(1 << 20);
      EXPECT_TRUE(other.synchronize(kDeadline));
    }).join();
    add(y.view(), y.view(), y.view(), named(stream));
    runtime().flush(named(stream));
  });
  graph.run(stream.get());
  EXPECT_EQ(y.read(), Ints(kSize, 14));
}

// The runtime's own stream must not become part of a foreign capture.
TEST_P(CudaGraph, ACaptureDoesNotDrawInOtherStreams) {
  start(GetParam());
  const Stream stream = make_stream();
  DeviceArray<std::int32_t> x(runtime(), kSize), y(runtime(), kSize);
  Gate gate(kernels(), stream.get());
  fill(x.view(), 3, named(stream));
  runtime().flush(named(stream));
  GPUOS_CUDA_CHECK(driver().cuStreamBeginCapture(
      stream.get(), CU_STREAM_CAPTURE_MODE_RELAXED));
  auto other = std::async(std::launch::async, [&] {
    return runtime().wait(copy(x.view(), y.view()), kDeadline);
  });
  std::this_thread::sleep_for(50ms);
  gate.open();
  EXPECT_TRUE(other.get());
  CUgraph graph = nullptr;
  EXPECT_EQ(driver().cuStreamEndCapture(stream.get(), &graph), CUDA_SUCCESS);
  if (graph != nullptr) driver().cuGraphDestroy(graph);
  EXPECT_EQ(y.read(), Ints(kSize, 3));
}

TEST_P(CudaGraph, ASpoiltCaptureDoesNotSpoilTheRuntime) {
  start(GetParam());
  const Stream stream = make_stream();
  DeviceArray<std::int32_t> x(runtime(), kSize), y(runtime(), kSize);
  GPUOS_CUDA_CHECK(driver().cuStreamBeginCapture(
      stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_NE(driver().cuStreamSynchronize(stream.get()), CUDA_SUCCESS);
  const Ticket refused = fill(x.view(), 1, named(stream));
  EXPECT_THROW(runtime().wait(refused, kDeadline), CudaError);
  EXPECT_THROW(runtime().wait(refused, kDeadline), CudaError) << "again";
  CUgraph graph = nullptr;
  EXPECT_NE(driver().cuStreamEndCapture(stream.get(), &graph), CUDA_SUCCESS);
  EXPECT_FALSE(runtime().stats().is_dead);
  ASSERT_TRUE(runtime().wait(fill(y.view(), 2), kDeadline));
  EXPECT_EQ(y.read(), Ints(kSize, 2));
  EXPECT_NO_THROW(runtime().synchronize(kDeadline)) << "it was told";
}

TEST_P(CudaGraph, AFailedLaunchOfTheControlThreadIsReported) {
  start(GetParam());
  const Stream stream = make_stream();
  DeviceArray<std::int32_t> x(runtime(), kSize);
  GPUOS_CUDA_CHECK(driver().cuStreamBeginCapture(
      stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_NE(driver().cuStreamSynchronize(stream.get()), CUDA_SUCCESS);
  fill(x.view(), 1, named(stream));
  std::this_thread::sleep_for(100ms);
  EXPECT_THROW(runtime().synchronize(kDeadline), CudaError);
  EXPECT_NO_THROW(runtime().synchronize(kDeadline));
  CUgraph graph = nullptr;
  EXPECT_NE(driver().cuStreamEndCapture(stream.get(), &graph), CUDA_SUCCESS);
  EXPECT_FALSE(runtime().stats().is_dead);
  ASSERT_TRUE(runtime().wait(fill(x.view(), 2), kDeadline));
  EXPECT_EQ(x.read(), Ints(kSize, 2));
}

TEST_P(CudaGraph, TasksFromBeforeACaptureDoNotSlipIntoIt) {
  start({.backend = "cuda", .residency = GetParam(), .flush_after = 60s});
  const Stream stream = make_stream();
  DeviceArray<std::int32_t> x(runtime(), kSize), y(runtime(), kSize);
  Ticket early = fill(x.view(), 1, named(stream));
  GPUOS_CUDA_CHECK(driver().cuStreamBeginCapture(
      stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_THROW(runtime().flush(named(stream)), Error);
  EXPECT_THROW(runtime().wait(early, kDeadline), Error);
  const Ticket late = fill(y.view(), 1, named(stream));
  CUgraph graph = nullptr;
  EXPECT_EQ(driver().cuStreamEndCapture(stream.get(), &graph), CUDA_SUCCESS);
  if (graph != nullptr) driver().cuGraphDestroy(graph);
  EXPECT_THROW(runtime().wait(late, kDeadline), Error) << "nor out of it";
  EXPECT_FALSE(runtime().stats().is_dead);
  early = fill(x.view(), 3, named(stream));
  ASSERT_TRUE(runtime().wait(early, kDeadline));
  EXPECT_EQ(x.read(), Ints(kSize, 3));
  EXPECT_EQ(y.read(), Ints(kSize, 0));
}

// A graph keeps the code of the operators that it was captured with.
class CudaGraphOfReplacedOperators : public CudaGraph {
 protected:
  [[noreturn]] void replay_after_replace() {
    alarm(60);
    start(GetParam());
    const Stream stream = make_stream();
    const auto plus = [](int value) {
      return whole_operator("op", "x[0] + " + std::to_string(value), 1,
                            DType::Int32);
    };
    const Operator op = runtime().define(plus(1));
    DeviceArray<std::int32_t> x(runtime(), kSize, 0);
    const Graph graph(stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, [&] {
      const TensorView in = x.view();
      runtime().submit(op, {&in, 1}, x.view(), {}, named(stream));
      runtime().flush(named(stream));
    });
    for (int i = 2; i < 12; ++i) {
      runtime().replace(op, plus(i));
      runtime().submit(op, {x.view()}, x.view());
      runtime().synchronize(kDeadline);
      std::this_thread::sleep_for(10ms);  // for the unload
    }
    x.write(Ints(kSize, 0));
    graph.run(stream.get());
    if (x.read() == Ints(kSize, 1)) std::exit(0);
    std::fprintf(stderr, "expected 1, got %d\n", x.read()[0]);
    std::_Exit(1);
  }
};

TEST_P(CudaGraphOfReplacedOperators, RunTheOldOnes) {
  EXPECT_EXIT(replay_after_replace(), testing::ExitedWithCode(0), "");
}

GPUOS_FOR_EACH_RESIDENCY(CudaGraph);
GPUOS_FOR_EACH_RESIDENCY(CudaGraphOfReplacedOperators);

}  // namespace
}  // namespace gpuos::cu
