#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "contract.h"

namespace gpuos {
namespace {

// Whatever lives when main() ends: the process ends, soon and with its code.
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
    alarm(60);
    auto runtime = std::make_unique<Runtime>(options());
    // Its memory must live as long as its tasks.
    static auto* x = new DeviceArray<float>(*runtime, 100'000, 1.0f);
    for (int i = 0; i < 500; ++i)
      runtime->submit("add", {x->view(), x->view()}, x->view());
    return runtime;
  }

  [[noreturn]] void exit_with_leaked() const {
    static Runtime* leaked = busy_runtime().release();
    static_cast<void>(leaked);
    std::exit(kCode);
  }
  [[noreturn]] void exit_with_static() const {
    static std::unique_ptr<Runtime> runtime = busy_runtime();
    std::exit(kCode);
  }
  [[noreturn]] void exit_while_another_thread_waits() const {
    static Runtime* leaked = busy_runtime().release();
    std::thread([] { leaked->synchronize(kDeadline); }).detach();
    std::exit(kCode);
  }
  [[noreturn]] void exit_after_close() const {
    static std::unique_ptr<Runtime> runtime = busy_runtime();
    runtime->close();
    std::exit(kCode);
  }
};

TEST_P(ProcessExit, WithALeakedRuntime) {
  EXPECT_EXIT(exit_with_leaked(), testing::ExitedWithCode(kCode), "");
}

TEST_P(ProcessExit, WithARuntimeThatStaticDestructionEnds) {
  EXPECT_EXIT(exit_with_static(), testing::ExitedWithCode(kCode), "");
}

TEST_P(ProcessExit, WhileAnotherThreadWaits) {
  EXPECT_EXIT(exit_while_another_thread_waits(), testing::ExitedWithCode(kCode),
              "");
}

TEST_P(ProcessExit, AfterClose) {
  EXPECT_EXIT(exit_after_close(), testing::ExitedWithCode(kCode), "");
}

GPUOS_INSTANTIATE_CONTRACT(ProcessExit);

}  // namespace
}  // namespace gpuos
