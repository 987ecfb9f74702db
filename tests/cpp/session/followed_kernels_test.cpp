// Handles that follow a session, on a driver that is simulated: after each step
// of a session they launch what a new handle launches.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "driver/driver_api.h"
#include "errors.h"
#include "gpuos/error.h"
#include "gpuos/session.h"
#include "nvrtc_support.h"
#include "simulated_support.h"

namespace gpuos {
namespace {

class FollowedKernels : public SimulatedTest {
 protected:
  void SetUp() override {
    SimulatedTest::SetUp();
    if (HasFailure()) return;
    GPUOS_SKIP_WITHOUT_NVRTC();
    session_ = std::make_unique<Session>();
    try {
      session_->run("__global__ void k(int* x) { *x = 0; }");
      session_->kernel("k");
    } catch (const BackendUnavailable& error) {
      GTEST_SKIP() << error.what();
    }
  }

  Session& session() { return *session_; }
  void end_session() { session_.reset(); }

  /// Returns the module that `kernel` launches, or the start of its error up to
  /// the first colon.
  std::string launched(const Kernel& kernel) {
    simulator_->reset_counts();
    try {
      kernel.launch(1, 1, KernelArgs::of(this));
    } catch (const Error& error) {
      return std::string(error.what()).substr(0, 12);
    } catch (const InvalidArgument& error) {
      return std::string(error.what()).substr(0, 12);
    }
    const auto all = simulator_->kernels();
    return all.size() == 1 ? std::to_string(all[0].module) : "not one";
  }
  /// Returns the same for a new handle.
  std::string newest(const char* name) {
    try {
      return launched(session_->kernel(name));
    } catch (const Error& error) {
      return std::string(error.what()).substr(0, 12);
    } catch (const InvalidArgument& error) {
      return std::string(error.what()).substr(0, 12);
    }
  }

 private:
  std::unique_ptr<Session> session_;
};

TEST_F(FollowedKernels, RandomCellsAreFollowed) {
  const std::vector<std::string> cells{
      "__global__ void k(int* x) { *x = 1; }",
      "__global__ void k(int* x) { *x = 2 + f(3); }",
      "__global__ void k(const int* x) { if (*x == 1) __syncthreads(); }",
      "__device__ int f(int x) { return x + 1; }",
      "__device__ int f(int x) { return x + 2; }",
      "__device__ int v = 3;",
      "__device__ float v = 3;",
      "__global__ void g(int* x) { *x = v; }",
      "__global__ void k(int* x) { nonsense }",
      "k<<<1, 1>>>(nullptr);",
      ""};
  const Kernel kept = session().kernel("k(int*)");
  const std::string first = launched(kept);
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    session().run(
        "__device__ int f(int x) { return x; } __device__ int v = 1;"
        "__global__ void k(int* x) { *x = 0; }");
    session().run("__global__ void g(int* x) { *x = f(v); }");
    const Kernel k = session().follow("k(int*)"), g = session().follow("g");
    for (int i = 0; i < 12; ++i) {
      std::string what = "undo";
      if (random() % 4 == 0) {
        session().undo();
      } else {
        what = cells[random() % cells.size()];
        try {
          session().run(what);
        } catch (const CompileError&) {
          what += " (refused)";
        }
      }
      SCOPED_TRACE(what);
      // Either asks first, so that nothing but the handle loads it.
      if (random() % 2 == 0) {
        const std::string followed = launched(k);
        EXPECT_EQ(followed, newest("k(int*)"));
        EXPECT_EQ(launched(g), newest("g"));
      } else {
        EXPECT_EQ(newest("k(int*)"), launched(k));
        EXPECT_EQ(newest("g"), launched(g));
      }
      EXPECT_EQ(launched(kept), first);
    }
  }
  EXPECT_EQ(simulator().faults(), std::vector<std::string>{});
}

TEST_F(FollowedKernels, OtherParametersAreRefusedUntilTheyFitAgain) {
  const Kernel k = session().follow("k");
  EXPECT_EQ(k.name(), "k");
  const std::string first = launched(k);
  session().run("__global__ void k(int* x, int n) { *x = n; }");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(
        thrown_by<InvalidArgument>(
            [&] { k.launch(1, 1, KernelArgs::of(this)); }),
        "k: expected the parameters (int*: 8 bytes) that this handle "
        "was made for, got (int*: 8 bytes, int: 4 bytes); get a new handle");
  }
  EXPECT_TRUE(session().undo());
  EXPECT_EQ(launched(k), first);
}

TEST_F(FollowedKernels, ANameThatIsGoneIsRefusedUntilItIsBack) {
  session().run("__global__ void gone(int* x) { *x = 1; }");
  const Kernel gone = session().follow("gone");
  const std::string first = launched(gone);
  EXPECT_TRUE(session().undo());
  EXPECT_THROW(gone.launch(1, 1, KernelArgs::of(this)), InvalidArgument);
  session().run("__global__ void gone(int* x) { *x = 2; }");
  EXPECT_NE(launched(gone), first);
  EXPECT_THROW(session().follow("nothing"), InvalidArgument);
}

TEST_F(FollowedKernels, AfterTheSessionTheLastOneStays) {
  const Kernel k = session().follow("k");
  session().run("__global__ void k(int* x) { *x = 5; }");
  const std::string last = launched(k);
  session().run("__global__ void k(int* x) { *x = 6; }");
  end_session();
  EXPECT_EQ(launched(k), last);
}

TEST_F(FollowedKernels, NothingIsLinkedForALaunchThatChangesNothing) {
  const Kernel k = session().follow("k");
  session().run("__device__ int unrelated(int x) { return x; }");
  const SessionStats before = session().stats();
  for (int i = 0; i < 3; ++i) launched(k);
  EXPECT_EQ(session().stats().linked, before.linked);
  EXPECT_EQ(session().stats().loaded, before.loaded);
}

// The graph's kernel uses the storage, which nothing else does any more.
TEST_F(FollowedKernels, WhatAGraphUsesStaysLoaded) {
  session().run("__device__ int v; __global__ void g(int* x) { *x = v; }");
  const std::uint64_t captured = simulator().modules().captured;
  const std::uint64_t unloaded = simulator().modules().unloads;
  cu::CUstream stream = nullptr;
  cu::driver().cuStreamCreate(&stream, 0);
  cu::driver().cuStreamBeginCapture(stream, cu::CU_STREAM_CAPTURE_MODE_GLOBAL);
  session().follow("g").launch(1, 1, KernelArgs::of(this), 0, Stream(stream));
  cu::CUgraph graph = nullptr;
  cu::driver().cuStreamEndCapture(stream, &graph);
  end_session();
  EXPECT_EQ(simulator().modules().captured, captured + 1);
  // The image of k was unloaded: those of g and v remain.
  EXPECT_EQ(simulator().modules().unloads, unloaded + 1);
  EXPECT_EQ(simulator().faults(), std::vector<std::string>{});
}

TEST_F(FollowedKernels, ThreadsMayLaunchWhileCellsRun) {
  const Kernel k = session().follow("k");
  simulator().reset_counts();
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 2; ++t) {
      threads.emplace_back([&, t](const std::stop_token& stop) {
        while (!stop.stop_requested()) k.launch(t + 1, 1, KernelArgs::of(this));
      });
    }
    for (int i = 0; i < 20; ++i) {
      session().run(
          "__global__ void k(int* x) { *x = " + std::to_string(i % 4) + "; }");
      if (i % 5 == 4) session().undo();
    }
  }
  EXPECT_EQ(simulator().faults(), std::vector<std::string>{});
  EXPECT_EQ(launched(k), newest("k"));
}

}  // namespace
}  // namespace gpuos
