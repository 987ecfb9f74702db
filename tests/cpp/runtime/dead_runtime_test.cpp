#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

#include "contract.h"

namespace gpuos {
namespace {

using namespace std::chrono_literals;

// A fault may damage the process. The tests check only that it ends.
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

  static constexpr const char* kEndless = "for (;;) out[0] = out[0] + 1;";

  RuntimeOptions impatient() const {
    RuntimeOptions impatient = options();
    impatient.watchdog = 500ms;
    impatient.workers = is_host() ? 2 : 0;
    return impatient;
  }

  [[noreturn]] void fault_and_exit(const std::string& body) const {
    alarm(kCompileDeadline.count());
    {
      Runtime runtime(impatient());
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

  [[noreturn]] void hear_of_it_and_exit() const {
    alarm(kCompileDeadline.count());
    {
      Runtime runtime(impatient()), other(options());
      const Operator op = runtime.define(bad(kEndless));
      DeviceArray<float> out(runtime, 1), mine(runtime, 1), its(other, 1);
      runtime.submit(op, {}, out.view());
      runtime.flush();
      // It never waits, and looks at nothing before the time is over.
      expect(becomes_true([&] { return runtime.stats().is_dead; }),
             "is_dead becomes true");
      expect_dead("the first submission",
                  [&] { runtime.submit("fill", {}, mine.view(), {1}); });
      // Its kernels run concurrently with the endless one only if the device
      // has space.
      if (is_host()) {
        const Ticket ticket = other.submit("fill", {}, its.view(), {1});
        expect(other.wait(ticket, kDeadline), "another runtime");
        expect(!other.stats().is_dead, "another runtime is alive");
      }
    }
    std::exit(0);
  }
};

TEST_P(DeadRuntime, AnEndlessLoop) {
  EXPECT_EXIT(fault_and_exit(kEndless), testing::ExitedWithCode(0), "");
}

TEST_P(DeadRuntime, AnEndlessLoopWithoutAWaiter) {
  EXPECT_EXIT(hear_of_it_and_exit(), testing::ExitedWithCode(0), "");
}

GPUOS_INSTANTIATE_CONTRACT(DeadRuntime);

}  // namespace
}  // namespace gpuos
