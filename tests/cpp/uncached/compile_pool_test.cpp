#include "jit/compile_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

#include "compile_request.h"
#include "nvrtc_support.h"

namespace gpuos::jit {
namespace {

using namespace std::chrono_literals;

constexpr int kCode = 7;

// An earlier run must not have cached the code that is compiled here.
[[maybe_unused]] const int is_cache_off = setenv("GPUOS_CACHE_DIR", "off", 1);

class CompilePoolTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    // Before NVRTC is loaded, as in programs that compile late.
    CompilePool::instance();
    GPUOS_SKIP_WITHOUT_NVRTC();
  }

  static void compile_some() {
    for (int i = 0; i < 8; ++i)
      compile_operators(
          request_for("op", concat("GPUOS_OPERATOR(op) {\n"
                                   "  float* o = task.pointer<float>(0);\n"
                                   "  for (gpuos::u32 i = lane.index(); i < "
                                   "task.count; i += lane.count()) o[i] = ",
                                   i, ";\n}\n")));
  }

  [[noreturn]] static void exit_in_the_midst(std::chrono::milliseconds after) {
    std::promise<void> begun;
    CompilePool::instance().post([&begun] {
      begun.set_value();
      compile_some();
    });
    begun.get_future().wait();
    std::this_thread::sleep_for(after);
    std::exit(kCode);
  }
};

TEST_P(CompilePoolTest, AProcessEndsWhileItCompiles) {
  EXPECT_EXIT(exit_in_the_midst(GetParam() * 1ms),
              testing::ExitedWithCode(kCode), "");
}
INSTANTIATE_TEST_SUITE_P(Moments, CompilePoolTest,
                         testing::Values(0, 3, 10, 30, 100),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace gpuos::jit
