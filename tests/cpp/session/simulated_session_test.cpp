// Device calls of host code in cells, on a simulated device. Its memory is
// memory, and its kernels are only recorded.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gpuos/error.h"
#include "gpuos/runtime.h"
#include "gpuos/session.h"
#include "nvrtc_support.h"
#include "simulated_support.h"

namespace gpuos {
namespace {

constexpr const char* kKernels =
    "__global__ void k(int* x, int n) {}\n"
    "__global__ void k(int* x, float by) {}\n"
    "template <typename T, int N> __global__ void t(T x) {}\n"
    "__global__ void one(int* x, float by) {}\n"
    "__global__ void only(int* __restrict__ x, const int (*__restrict__)[2]) "
    "{}\n"
    "namespace m { __global__ void k() {} }\n"
    "__global__ void first(); __global__ void second();\n"
    "void both() { first<<<1, 1>>>(); second<<<2, 1>>>(); }\n"
    "__global__ void first() {} __global__ void second() {}\n"
    "__device__ int table[4]; __device__ float by = 3;\n";
constexpr const char* kHost =
    "int* p = nullptr; int n = 3; int twice(int x) { return 2 * x; }";

class SimulatedSession : public SimulatedTest {
 protected:
  void SetUp() override {
    SimulatedTest::SetUp();
    if (HasFailure()) return;
    GPUOS_SKIP_WITHOUT_NVRTC();
    runtime_ = std::make_unique<Runtime>(simulated_options());
    session_ = std::make_unique<Session>(*runtime_);
    try {
      session_->run(kHost);
    } catch (const BackendUnavailable& error) {
      GTEST_SKIP() << error.what();
    }
    session_->run(kKernels);
  }
  void TearDown() override {
    session_.reset();
    runtime_.reset();
    if (simulator_ != nullptr) simulator_->synchronize();
  }

  Session& session() { return *session_; }
  void end_session() { session_.reset(); }
  /// Returns the launches of `text`, each as "k 1 32 (...)".
  std::vector<sim::KernelLaunch> launched(const std::string& text) {
    simulator_->reset_counts();
    const CellResult result = session_->run(text);
    std::vector<sim::KernelLaunch> found = simulator_->kernels();
    EXPECT_EQ(result.launches, found.size()) << text;
    return found;
  }
  template <typename T>
  T value(std::string_view name) {
    T value{};
    session_->read(name, &value, sizeof value);
    return value;
  }
  template <typename T>
  static T argument(const sim::KernelLaunch& launch, std::size_t i) {
    T value{};
    EXPECT_EQ(launch.arguments.at(i).size(), sizeof value);
    std::memcpy(&value, launch.arguments.at(i).data(), sizeof value);
    return value;
  }

 private:
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Session> session_;
};

TEST_F(SimulatedSession, ALoopLaunchesInOrder) {
  const auto all =
      launched("for (int i = 1; i < 4; ++i) k<<<i, 16 * i>>>(p, twice(i));");
  ASSERT_EQ(all.size(), 3u);
  for (unsigned int i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i].name, "_Z1kPii");
    EXPECT_EQ(all[i].grid, i + 1);
    EXPECT_EQ(all[i].block, 16 * (i + 1));
    EXPECT_EQ(argument<void*>(all[i], 0), nullptr);
    EXPECT_EQ(argument<int>(all[i], 1), static_cast<int>(2 * (i + 1)));
  }
}

// The same launch as a statement of the session and in host code.
TEST_F(SimulatedSession, HostCodeLaunchesAsTheSessionDoes) {
  session().bind("count", 5);
  for (const char* launch :
       {"m::k<<<1, 2>>>();", "one<<<count, 64>>>(table, 7);", "both();",
        "t<int, 3><<<1, 1>>>(4);", "only<<<1, 1>>>(p, nullptr);",
        "one<<<dim3(2), dim3(3)>>>(&table, 5);"}) {
    const auto plain = launched(launch);
    const auto in_host = launched("if (n == 3) { " + std::string(launch) + "}");
    ASSERT_EQ(plain.size(), in_host.size()) << launch;
    EXPECT_FALSE(plain.empty()) << launch;
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_EQ(plain[i].name, in_host[i].name) << launch;
      EXPECT_EQ(plain[i].grid, in_host[i].grid) << launch;
      EXPECT_EQ(plain[i].block, in_host[i].block) << launch;
      EXPECT_EQ(plain[i].arguments, in_host[i].arguments) << launch;
    }
  }
}

TEST_F(SimulatedSession, ArgumentsAreConvertedAsCppDoes) {
  const auto all = launched(
      "k<<<1, 1>>>(p, 1.5f); k<<<1, 1>>>(p, short(2)); t<double, 2><<<1, "
      "1>>>(n);");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(argument<float>(all[0], 1), 1.5f);
  EXPECT_EQ(argument<int>(all[1], 1), 2);
  EXPECT_EQ(argument<double>(all[2], 0), 3.0);
}

TEST_F(SimulatedSession, StatementsAndLaunchesOfACellKeepTheirOrder) {
  const auto all = launched(
      "m::k<<<1, 1>>>();\nn = 8;\nk<<<1, 1>>>(p, n);\nboth();\nn = 9;\n"
      "k<<<1, 1>>>(p, n);");
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].name, "_ZN1m1kEv");
  EXPECT_EQ(argument<int>(all[1], 1), 8);
  EXPECT_EQ(all[2].name, "_Z5firstv");
  EXPECT_EQ(all[3].grid, 2u);
  EXPECT_EQ(argument<int>(all[4], 1), 9);
}

TEST_F(SimulatedSession, ANewKernelIsLaunchedByOldHostCode) {
  session().run("void run() { for (int i = 0; i < 1; ++i) m::k<<<1, 1>>>(); }");
  const std::uint64_t loaded = session().stats().loaded;
  EXPECT_EQ(launched("run();").size(), 1u);
  EXPECT_EQ(launched("run();").size(), 1u);
  EXPECT_EQ(session().stats().loaded, loaded + 1);
  session().run("namespace m { __global__ void k() { __syncthreads(); } }");
  EXPECT_EQ(launched("run();").size(), 1u);
  EXPECT_EQ(session().stats().loaded, loaded + 2);
}

TEST_F(SimulatedSession, MemoryIsTheDevices) {
  session().run(
      "int from[4] = {1, 2, 3, 4}; int to[4] = {}; int* q = nullptr;\n"
      "int errors = cudaMalloc(&p, sizeof from) + cudaMalloc(&q, 16) +\n"
      "  cudaMemcpy(p, from, sizeof from, cudaMemcpyHostToDevice) +\n"
      "  cudaMemset(q, 0, 16) +\n"
      "  cudaMemcpy(q, p, 8, cudaMemcpyDeviceToDevice) +\n"
      "  cudaMemcpy(to, q, sizeof to, cudaMemcpyDeviceToHost) +\n"
      "  cudaDeviceSynchronize() + cudaFree(p) + cudaFree(q) +\n"
      "  cudaFree(nullptr) + cudaGetLastError();");
  EXPECT_EQ(value<int>("errors"), 0);
  EXPECT_EQ((value<std::array<int, 4>>("to")),
            (std::array<int, 4>{1, 2, 0, 0}));
}

TEST_F(SimulatedSession, StreamsAndEventsAreTheDrivers) {
  session().run(
      "int from[2] = {1, 2}, to[2] = {}; float ms = -1;\n"
      "cudaStream_t s; cudaEvent_t a, b;\n"
      "int errors = cudaStreamCreate(&s) + cudaEventCreate(&a) +\n"
      "  cudaEventCreate(&b) + cudaMalloc(&p, 8) + cudaEventRecord(a, s) +\n"
      "  cudaMemcpyAsync(p, from, 8, cudaMemcpyHostToDevice, s) +\n"
      "  cudaMemcpyAsync(to, p, 8, cudaMemcpyDeviceToHost, s) +\n"
      "  cudaEventRecord(b) + cudaStreamWaitEvent(s, b) +\n"
      "  cudaStreamSynchronize(s) + cudaEventSynchronize(b) +\n"
      "  cudaDeviceSynchronize() + cudaStreamQuery(s) + cudaEventQuery(a) +\n"
      "  cudaEventDestroy(a) + cudaEventDestroy(b) + cudaStreamDestroy(s);\n"
      "int again = cudaStreamDestroy(s), peeked = cudaPeekAtLastError();\n"
      "int last = cudaGetLastError();");
  EXPECT_EQ(value<int>("errors"), 0);
  EXPECT_EQ((value<std::array<int, 2>>("to")), (std::array<int, 2>{1, 2}));
  EXPECT_EQ(value<int>("again"), 400);
  EXPECT_EQ(value<int>("peeked"), 400);
  EXPECT_EQ(value<int>("last"), 400);
}

TEST_F(SimulatedSession, EachKindOfMemoryIsTheDevices) {
  session().run(
      "int from[2][2] = {{1, 2}, {3, 4}}, to[2] = {}; size_t pitch = 0, all;\n"
      "int *managed, *pinned, *rows; cudaDeviceProp its; size_t unused;\n"
      "int errors = cudaMallocManaged(&managed, 8) +\n"
      "  cudaMallocHost(&pinned, 8) + cudaMallocPitch(&rows, &pitch, 8, 2) +\n"
      "  cudaMemcpy2D(rows, pitch, from, 8, 8, 2, cudaMemcpyHostToDevice) +\n"
      "  cudaMemcpy2D(to, 4, rows, pitch, 4, 2, cudaMemcpyDeviceToHost) +\n"
      "  cudaMemset2D(rows, pitch, 0, 8, 2) + cudaMemGetInfo(&unused, &all) +\n"
      "  cudaGetDeviceProperties(&its, 0) + cudaFree(managed) +\n"
      "  cudaFreeHost(pinned) + cudaFree(rows);\n"
      "int processors = its.multiProcessorCount, major = its.major;\n"
      "int narrow = cudaMemcpy2D(to, 4, from, 8, 8, 1, cudaMemcpyDefault);");
  EXPECT_EQ(value<int>("errors"), 0);
  EXPECT_EQ((value<std::array<int, 2>>("to")), (std::array<int, 2>{1, 3}));
  EXPECT_EQ(value<std::size_t>("pitch"), 512u);
  EXPECT_EQ(value<int>("processors"), 132);
  EXPECT_EQ(value<int>("major"), 9);
  EXPECT_EQ(value<int>("narrow"), 1);
}

TEST_F(SimulatedSession, MemoryOfCellsIsFreedAtTheEnd) {
  const std::string leave =
      "for (int i = 0; i < 3; ++i) { int *a, *b, *c; cudaStream_t s;"
      " cudaEvent_t e; cudaMalloc(&a, 4); cudaMallocManaged(&b, 4);"
      " cudaMallocHost(&c, 4); cudaStreamCreate(&s); cudaEventCreate(&e); }";
  const auto before = simulator().held();
  session().run(leave);
  EXPECT_NE(simulator().held(), before);
  session().run("int reset = cudaDeviceReset();");
  EXPECT_EQ(value<int>("reset"), 0);
  EXPECT_EQ(simulator().held(), before);
  session().run(leave);
  end_session();
  EXPECT_EQ(simulator().held(), before);
}

TEST_F(SimulatedSession, AnErrorIsTheLastUntilItIsAskedFor) {
  session().run(
      "int wrong = cudaMemcpy(&n, &n, 4, static_cast<cudaMemcpyKind>(9));\n"
      "int fine = cudaDeviceSynchronize();\n"
      "int last = cudaGetLastError(); int after = cudaGetLastError();");
  EXPECT_EQ(value<int>("wrong"), 1);
  EXPECT_EQ(value<int>("fine"), 0);
  EXPECT_EQ(value<int>("last"), 1);
  EXPECT_EQ(value<int>("after"), 0);
}

TEST_F(SimulatedSession, DestructorsOfASessionMayFreeMemory) {
  session().run(
      "struct Memory { int* data = nullptr; Memory() { cudaMalloc(&data, 8); }"
      "  ~Memory() { ok = cudaFree(data) == cudaSuccess; } "
      "  bool ok; };\nMemory memory;");
  EXPECT_NO_THROW(session().run("cudaDeviceSynchronize();"));
}

}  // namespace
}  // namespace gpuos
