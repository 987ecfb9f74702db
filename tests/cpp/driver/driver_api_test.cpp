#include "driver/driver_api.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "driver/check.h"
#include "driver/owned.h"
#include "errors.h"
#include "gpuos/diagnose.h"
#include "gpuos/error.h"

namespace gpuos::cu {
namespace {

TEST(Driver, ThrowsWithAHintOrIsComplete) {
  if (try_driver() != nullptr) {
    EXPECT_EQ(&driver(), try_driver());
    EXPECT_NE(driver().cuInit, nullptr);
    EXPECT_NE(std::string(driver_path()), "");
    return;
  }
  EXPECT_TRUE(
      says(thrown_by<BackendUnavailable>([&] { driver(); }), "install"));
}

TEST(Driver, OpensOnceFromManyThreads) {
  std::vector<const DriverApi*> seen(8);
  {
    std::vector<std::jthread> threads;
    for (const DriverApi*& api : seen)
      threads.emplace_back([&api] { api = try_driver(); });
  }
  for (const DriverApi* api : seen) EXPECT_EQ(api, seen[0]);
}

TEST(CheckCuda, SuccessIsQuiet) {
  EXPECT_NO_THROW(check_cuda(CUDA_SUCCESS, "cuInit(0)"));
}

TEST(CheckCuda, FailureNamesTheFunctionAndTheCode) {
  try {
    check_cuda(CUDA_ERROR_OUT_OF_MEMORY, "driver().cuMemAlloc(&pointer, 8)");
    FAIL() << "no exception";
  } catch (const CudaError& error) {
    EXPECT_EQ(error.code(), 2);
    EXPECT_EQ(error.call(), "cuMemAlloc");
    EXPECT_TRUE(std::string(error.what()).starts_with("cuMemAlloc: "));
  }
}

TEST(CheckCuda, NotReadyIsAnAnswerOfAQuery) {
  EXPECT_TRUE(check_ready(CUDA_SUCCESS, "cuStreamQuery(s)"));
  EXPECT_FALSE(check_ready(CUDA_ERROR_NOT_READY, "cuStreamQuery(s)"));
  EXPECT_THROW(check_ready(CUDA_ERROR_ILLEGAL_ADDRESS, "cuStreamQuery(s)"),
               CudaError);
}

int destroyed = 0;
void count_destroyed(int) noexcept { ++destroyed; }

TEST(Owned, DestroysOnceAfterMoves) {
  destroyed = 0;
  {
    Owned<int, count_destroyed> first(7);
    Owned<int, count_destroyed> second(std::move(first));
    Owned<int, count_destroyed> third;
    third = std::move(second);
    EXPECT_EQ(third.get(), 7);
    EXPECT_FALSE(first);
  }
  EXPECT_EQ(destroyed, 1);
}

const Finding* find(const std::vector<Finding>& findings,
                    std::string_view what) {
  for (const Finding& finding : findings)
    if (finding.what == what) return &finding;
  return nullptr;
}

TEST(Diagnose, NamesEveryPartAndWhatToInstall) {
  const std::vector<Finding> findings = diagnose();
  for (const std::string what :
       {"driver", "nvrtc", "nvjitlink", "cuda headers", "cccl headers",
        "bundled headers", "compiler", "worker image", "cache"}) {
    const Finding* finding = find(findings, what);
    ASSERT_NE(finding, nullptr) << what;
    EXPECT_TRUE(finding->found ? !finding->where.empty()
                               : !finding->hint.empty())
        << what;
  }
}

TEST(Diagnose, NamesTheSearchedPlaces) {
  const std::vector<Finding> findings = diagnose();
  for (const std::string what :
       {"nvrtc", "nvjitlink", "cuda headers", "cccl headers", "compiler"})
    EXPECT_FALSE(find(findings, what)->searched.empty()) << what;
  const auto& places = find(findings, "cuda headers")->searched;
  EXPECT_EQ(places.back(), "/usr/local/cuda/include");
}

TEST(Diagnose, MissingHeadersComeWithTheCommandThatBringsThem) {
  for (const Finding& finding : diagnose()) {
    if (finding.found || finding.what.find("headers") == std::string::npos)
      continue;
    EXPECT_TRUE(finding.hint.find("pip install ") != std::string::npos ||
                finding.hint.starts_with("cannot be unpacked: "))
        << finding.hint;
  }
}

TEST(Diagnose, BuiltinsOfNvrtcAreLookedForWithIt) {
  const std::vector<Finding> findings = diagnose();
  const Finding* builtins = find(findings, "nvrtc builtins");
  EXPECT_EQ(builtins != nullptr, find(findings, "nvrtc")->found);
  if (builtins == nullptr) GTEST_SKIP() << "no NVRTC";
  EXPECT_EQ(builtins->version, find(findings, "nvrtc")->version);
  EXPECT_TRUE(says(builtins->where, "libnvrtc-builtins.so"));
}

}  // namespace
}  // namespace gpuos::cu
