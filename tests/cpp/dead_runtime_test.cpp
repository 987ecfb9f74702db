#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

#include "contract.h"

namespace gpuos {
namespace {

using namespace std::chrono_literals;

// A fault may spoil the process, and what is asked of it is that it ends.
class DeadRuntime : public Contract {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    Contract::SetUp();
    runtime_.reset();
  }

  static OperatorDefinition bad(const std::string& body) {
    return {.name = "bad",
            .source =
                "GPUOS_OPERATOR(bad) {\n"
                "  volatile float* out = "
                "task.pointer<volatile float>(0);\n" +
                body + "\n}",
            .inputs = 0,
            .elementwise = false};
  }

  static void expect(bool is_right, const char* what) {
    if (is_right) return;
    std::fprintf(stderr, "%s\n", what);
    std::_Exit(1);
  }

  static void expect_dead(const char* what, const std::function<void()>& call) {
    try {
      call();
    } catch (const TaskError& error) {
      expect(error.operator_name() == "bad", error.what());
      return;
    }
    expect(false, what);
  }

  [[noreturn]] void fault_and_exit(const std::string& body) const {
    alarm(60);
    RuntimeOptions impatient = options();
    impatient.watchdog = 500ms;
    impatient.workers = is_host() ? 2 : 0;
    {
      Runtime runtime(impatient);
      const Operator op = runtime.define(bad(body));
      DeviceArray<float> out(runtime, 1024), other(runtime, 1024);
      const Ticket stuck = runtime.submit(op, {}, out.view(0, 1));
      const Ticket behind = runtime.submit("fill", {}, out.view(0, 1), {1});
      expect_dead("the ticket", [&] { runtime.wait(stuck, kDeadline); });
      expect_dead("the ticket again", [&] { runtime.is_done(stuck); });
      expect_dead("what waits for it",
                  [&] { runtime.wait(behind, kDeadline); });
      expect_dead("synchronize", [&] { runtime.synchronize(kDeadline); });
      expect_dead("submit", [&] {
        for (int i = 0; i < 100'000; ++i)
          runtime.submit("fill", {}, other.view(), {1});
      });
      expect(runtime.stats().is_dead, "stats");
    }
    std::exit(0);
  }
};

TEST_P(DeadRuntime, AnEndlessLoop) {
  EXPECT_EXIT(fault_and_exit("for (;;) out[0] = out[0] + 1;"),
              testing::ExitedWithCode(0), "");
}

TEST_P(DeadRuntime, AnIllegalAddress) {
  if (is_host()) GTEST_SKIP() << "the system ends the process";
  EXPECT_EXIT(fault_and_exit("out[1ull << 40] = 1;"),
              testing::ExitedWithCode(0), "");
}

TEST_P(DeadRuntime, ATrap) {
  if (is_host()) GTEST_SKIP() << "the system ends the process";
  EXPECT_EXIT(fault_and_exit("asm volatile(\"trap;\");"),
              testing::ExitedWithCode(0), "");
}

GPUOS_INSTANTIATE_CONTRACT(DeadRuntime);

}  // namespace
}  // namespace gpuos
