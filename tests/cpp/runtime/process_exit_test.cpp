#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "contract.h"

namespace gpuos {
namespace {

// The process ends soon with its code, for any objects that exist when main()
// ends.
class ProcessExit : public Contract {
 protected:
  static constexpr int kCode = 42;

  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    Contract::SetUp();
    runtime_.reset();
  }

  /// A runtime in the middle of its work.
  std::unique_ptr<Runtime> busy_runtime() const {
    alarm(kCompileDeadline.count());
    auto runtime = std::make_unique<Runtime>(options());
    // Its memory must live as long as its tasks.
    static auto* x = new DeviceArray<float>(*runtime, 100'000, 1.0f);
    for (int i = 0; i < 500; ++i)
      runtime->submit("add", {x->view(), x->view()}, x->view());
    return runtime;
  }

  /// Makes a runtime with a slow watchdog. The alarm ends a process that waits
  /// for it.
  std::unique_ptr<Runtime> stuck_runtime() const {
    alarm(kCompileDeadline.count());
    RuntimeOptions patient = options();
    patient.watchdog = std::chrono::hours(1);
    auto runtime = std::make_unique<Runtime>(patient);
    const Operator op = runtime->define(
        {.name = "endless",
         .source = "GPUOS_OPERATOR(endless) {\n"
                   "  volatile float* out = task.pointer<volatile float>(0);\n"
                   "  for (;;) out[0] = out[0] + 1;\n"
                   "}",
         .inputs = 0,
         .elementwise = false});
    static auto* out = new DeviceArray<float>(*runtime, 1);
    runtime->submit(op, {}, out->view());
    runtime->flush();
    return runtime;
  }
};

// Expects that a process that runs the statements ends with kCode.
#define GPUOS_EXPECT_END(...) \
  EXPECT_EXIT(__VA_ARGS__, testing::ExitedWithCode(kCode), "")

TEST_P(ProcessExit, WithALeakedRuntime) {
  GPUOS_EXPECT_END({
    static Runtime* leaked = busy_runtime().release();
    static_cast<void>(leaked);
    std::exit(kCode);
  });
}
TEST_P(ProcessExit, WithARuntimeThatStaticDestructionEnds) {
  GPUOS_EXPECT_END({
    static std::unique_ptr<Runtime> runtime = busy_runtime();
    std::exit(kCode);
  });
}
TEST_P(ProcessExit, WhileAnotherThreadWaits) {
  GPUOS_EXPECT_END({
    static Runtime* leaked = busy_runtime().release();
    std::thread([] { leaked->synchronize(kDeadline); }).detach();
    std::exit(kCode);
  });
}
TEST_P(ProcessExit, AfterClose) {
  GPUOS_EXPECT_END({
    static std::unique_ptr<Runtime> runtime = busy_runtime();
    runtime->close();
    std::exit(kCode);
  });
}
TEST_P(ProcessExit, DuringAnEndlessOperator) {
  GPUOS_EXPECT_END({
    static std::unique_ptr<Runtime> runtime = stuck_runtime();
    std::exit(kCode);
  });
}
TEST_P(ProcessExit, AfterAnExceptionDuringAnEndlessOperator) {
  GPUOS_EXPECT_END(
      try {
        const auto runtime = stuck_runtime();
        throw kCode;
      } catch (int code) { std::exit(code); });
}
TEST_P(ProcessExit, AHurriedCloseReportsAnEndlessOperator) {
  GPUOS_EXPECT_END({
    const auto runtime = stuck_runtime();
    runtime->hurry();
    try {
      runtime->close();
    } catch (const TaskError& error) {
      std::exit(error.operator_name() == "endless" ? kCode : 1);
    }
    std::exit(2);
  });
}
GPUOS_INSTANTIATE_CONTRACT(ProcessExit);

}  // namespace
}  // namespace gpuos
