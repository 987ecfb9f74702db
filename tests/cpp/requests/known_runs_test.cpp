// All that decides the tasks of a run makes it another run.
#include "requests/known_runs.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace gpuos::requests {
namespace {

/// Holds b = x + y and c = b * 2, where x and y are matrices.
struct TwoRequests {
  std::vector<float> memory = std::vector<float>(64);
  std::vector<Request> requests = std::vector<Request>(2);
  std::vector<TensorView> views;
  bool is_needed = true;

  TwoRequests() {
    const auto address = [this](std::size_t at) { return &memory[at]; };
    const auto bits = [](float* at) {
      return reinterpret_cast<std::uint64_t>(at);
    };
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Request& request = requests[i];
      request.function =
          i == 0 ? &kRequestFunction<Op::Add> : &kRequestFunction<Op::Multiply>;
      request.operands = 2;
      request.is_fresh = true;
      request.compute = request.out_dtype = DType::Float32;
      request.dtypes = {DType::Float32, DType::Float32};
      request.elems = 4;
      request.out = address(32 + 8 * i);
      request.out_owner = request.out;
      request.views = static_cast<std::uint32_t>(views.size());
      for (std::size_t view = 0; view < 3; ++view) {
        views.emplace_back(nullptr, 2, DType::Float32);
        views.back().dims = 2;
        views.back().shape[1] = 2;
        views.back().has_strides = true;
        views.back().strides[0] = 2;
        views.back().strides[1] = 1;
      }
    }
    for (std::size_t i = 0; i < 2; ++i) {
      requests[0].owners[i] = address(8 * i);
      requests[0].values[i] = bits(address(8 * i));
    }
    requests[1].owners[0] = requests[0].out_owner;
    requests[1].values[0] = bits(static_cast<float*>(requests[0].out));
    requests[1].numbers = 2;
    requests[1].values[1] = std::bit_cast<std::uint64_t>(2.0);
  }
};

class KnownRunsTest : public testing::Test {
 protected:
  /// Returns whether the run is known. It is known later.
  bool find(TwoRequests& run) {
    RequestArrays arrays;
    arrays.begin(run.requests, run.views);
    AliasAnalysis aliases;
    aliases.begin(arrays, false);
    const StillNeeded needed{[](void* context, const void*, std::uint32_t) {
                               return *static_cast<bool*>(context);
                             },
                             &run.is_needed};
    if (known_.find(arrays, aliases, needed) != nullptr) return true;
    EXPECT_TRUE(known_.wants());
    known_.keep({});
    return false;
  }

  KnownRuns known_;
};

TEST_F(KnownRunsTest, OtherMemoryAndNumbersAreTheSameRun) {
  TwoRequests first;
  TwoRequests second;
  second.requests[1].values[1] = std::bit_cast<std::uint64_t>(3.0);
  EXPECT_FALSE(find(first));
  EXPECT_TRUE(find(second));
}

TEST_F(KnownRunsTest, OtherPartsOfAnArrayAreAnotherRun) {
  for (const std::size_t elems : {1, 2}) {
    TwoRequests run;
    run.requests[1].values[0] += elems * sizeof(float);
    EXPECT_FALSE(find(run));
  }
}

TEST_F(KnownRunsTest, AnythingElseIsAnotherRun) {
  const std::vector<std::function<void(TwoRequests&)>> changes{
      [](TwoRequests& run) {
        run.requests[0].function = run.requests[1].function;
      },
      [](TwoRequests& run) { run.requests[0].compute = DType::Float64; },
      [](TwoRequests& run) { run.requests[0].out_dtype = DType::Float16; },
      [](TwoRequests& run) { run.requests[0].dtypes[1] = DType::Int32; },
      [](TwoRequests& run) { run.requests[0].is_fresh = false; },
      [](TwoRequests& run) { run.requests[0].elems = 2; },
      [](TwoRequests& run) { run.requests[0].axes = 1; },
      [](TwoRequests& run) { run.requests[0].keepdims = true; },
      [](TwoRequests& run) { run.requests[0].operands = 1; },
      [](TwoRequests& run) { run.requests[1].integers = 2; },
      [](TwoRequests& run) { run.requests[1].numbers = 0; },
      [](TwoRequests& run) { run.requests[1].out = nullptr; },
      [](TwoRequests& run) { run.requests[1].views = Request::kFlat; },
      [](TwoRequests& run) { run.requests.pop_back(); },
      [](TwoRequests& run) {
        run.requests[0].owners[1] = run.requests[0].owners[0];
      },
      [](TwoRequests& run) { run.requests[1].values[0] += sizeof(float); },
      [](TwoRequests& run) {
        run.requests[1].out_owner = run.requests[0].out_owner;
      },
      [](TwoRequests& run) { run.views[1].shape[1] = 1; },
      [](TwoRequests& run) { run.views[1].strides[0] = 3; },
      [](TwoRequests& run) { run.views[1].has_strides = false; },
      [](TwoRequests& run) { run.views[1].dims = 1; },
      [](TwoRequests& run) { run.is_needed = false; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    known_ = {};
    TwoRequests run;
    EXPECT_FALSE(find(run)) << i;
    TwoRequests changed;
    changes[i](changed);
    EXPECT_FALSE(find(changed)) << i;
    EXPECT_TRUE(find(run)) << i;
  }
}

TEST_F(KnownRunsTest, RunsThatNeverRepeatAreSeldomLookedUp) {
  std::size_t wanted = 0;
  for (std::uint64_t elems = 1; elems <= 160; ++elems) {
    TwoRequests run;
    run.requests[0].elems = elems;
    RequestArrays arrays;
    arrays.begin(run.requests, run.views);
    AliasAnalysis aliases;
    aliases.begin(arrays, false);
    EXPECT_EQ(known_.find(arrays, aliases, {}), nullptr);
    if (known_.wants()) ++wanted;
  }
  EXPECT_EQ(wanted, 25u);
}

}  // namespace
}  // namespace gpuos::requests
