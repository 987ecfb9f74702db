// Faults kill the context, so each of them runs in a separate process.
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <thread>

#include "cuda_support.h"
#include "operator_support.h"

namespace gpuos::cu {
namespace {

/// The body of an endless operator, which ends after 5 s.
constexpr const char* kLoop =
    "unsigned long long start, now;\n"
    "asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(start));\n"
    "do {\n"
    "  asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(now));\n"
    "} while (now - start < 5000000000ull);\n";
constexpr const char* kTrap = "asm volatile(\"trap;\");";
constexpr const char* kIllegalAddress =
    "*reinterpret_cast<volatile int*>(16) = 1;";
/// Shorter than the loop, longer than the watchdog of fault_options().
constexpr double kMost = 3;

/// Ends the process unless `is_right`. Its parent shows the text.
void expect(bool is_right, const std::string& text) {
  if (is_right) return;
  std::fprintf(stderr, "%s\n", text.c_str());
  std::_Exit(1);
}

/// `call` must fail soon with a TaskError that names the operator "bad".
void expect_dead(const std::string& what, const std::function<void()>& call) {
  const auto start = Clock::now();
  std::string came = "nothing was thrown";
  bool is_right = false;
  try {
    call();
  } catch (const TaskError& error) {
    is_right = error.operator_name() == "bad" &&
               std::string(error.what()).find("bad") != std::string::npos;
    came = "TaskError of '" + error.operator_name() + "': " + error.what();
  } catch (const std::exception& error) {
    came = std::string("another error: ") + error.what();
  }
  expect(is_right, what + ": " + came);
  expect(seconds_since(start) < kMost, what + ": it took too long");
}

class CudaFaults : public CudaResidencyTest {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    CudaTest::SetUp();
  }

  static OperatorDefinition bad(const std::string& body) {
    return {.name = "bad",
            .source = "GPUOS_OPERATOR(bad) {\n" + body + "\n}",
            .dtypes = {DType::Int32},
            .inputs = -1,
            .elementwise = false};
  }
  RuntimeOptions fault_options() const {
    RuntimeOptions options = cuda_options(GetParam());
    options.watchdog = 1s;
    return options;
  }

  [[noreturn]] void let_threads_wait(const char* body) {
    alarm(60);
    start(fault_options());
    const Operator op = runtime().define(bad(body));
    DeviceArray<std::int32_t> x(runtime(), 64), y(runtime(), 64);
    const Ticket stuck = runtime().submit(op, {}, x.view());
    std::optional<Ticket> behind;
    try {
      behind = copy(x.view(), y.view());
    } catch (const TaskError&) {  // NOLINT(bugprone-empty-catch)
      // Told at once, because it had to wait.
    }
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
          expect_dead("wait", [&] { runtime().wait(stuck, kDeadline); });
        });
      }
      if (behind) {
        threads.emplace_back([&] {
          expect_dead("wait behind it",
                      [&] { runtime().wait(*behind, kDeadline); });
        });
      }
      threads.emplace_back([&] {
        expect_dead("synchronize", [&] { runtime().synchronize(kDeadline); });
      });
      threads.emplace_back([&] {
        expect_dead("wait_for_memory", [&] {
          runtime().wait_for_memory(x.data(), 64, kDeadline);
        });
      });
    }
    expect(runtime().stats().is_dead, "stats().is_dead");
    expect_dead("a later wait", [&] { runtime().wait(stuck, kDeadline); });
    expect_dead("a later is_done", [&] { runtime().is_done(stuck); });
    expect_dead("a later submit", [&] { fill(y.view(), 1); });
    expect_dead("a later define", [&] {
      runtime().define(whole_operator("late", "x[0] + 1", 1));
    });
    expect_dead("a later copy", [&] { y.read(); });
    expect_dead("close", [&] { runtime().close(); });
    const auto end = Clock::now();
    runtime_.reset();
    expect(seconds_since(end) < kMost, "the destructor took too long");
    std::exit(0);
  }

  /// A producer that never waits learns it too.
  [[noreturn]] void let_a_producer_run() {
    alarm(60);
    start(fault_options());
    const Operator op = runtime().define(bad(kIllegalAddress));
    DeviceArray<std::int32_t> x(runtime(), 64), y(runtime(), 64);
    runtime().submit(op, {}, x.view());
    runtime().flush();
    const auto end = Clock::now() + 3s;
    expect_dead("submit", [&] {
      while (Clock::now() < end) {
        fill(y.view(), 1);
        runtime().flush();
      }
    });
    expect_dead("synchronize", [&] { runtime().synchronize(kDeadline); });
    std::exit(0);
  }

  /// Runs the operator among dependent tasks. In bursts it is a member of their
  /// chain.
  [[noreturn]] void stand_in_a_row(const char* body) {
    alarm(60);
    start(fault_options());
    OperatorDefinition other = bad("");
    other.name = "fine";
    other.source = "GPUOS_OPERATOR(fine) {}";
    const Operator fine = runtime().define(other);
    const Operator op = runtime().define(bad(body));
    DeviceArray<std::int32_t> x(runtime(), 64);
    std::string name;
    try {
      for (int i = 0; i < 5; ++i) runtime().submit(fine, {}, x.view());
      runtime().submit(op, {}, x.view());
      for (int i = 0; i < 5; ++i) runtime().submit(fine, {}, x.view());
      runtime().synchronize(kDeadline);
    } catch (const TaskError& error) {
      name = error.operator_name();
    }
    // Others begin while a fault is on its way.
    const bool is_right =
        body == kLoop ? name == "bad" : name.find("bad") != std::string::npos;
    expect(is_right, "expected 'bad', got '" + name + "'");
    std::exit(0);
  }

  [[noreturn]] void destroy_at_once() {
    alarm(60);
    start(fault_options());
    const Operator op = runtime().define(bad(kLoop));
    DeviceArray<std::int32_t> x(runtime(), 64);
    const auto begin = Clock::now();
    runtime().submit(op, {}, x.view());
    runtime_.reset();
    expect(seconds_since(begin) < 4, "the destructor waited for the operator");
    std::exit(0);
  }

  /// A module is loaded when nothing runs, and something runs forever.
  [[noreturn]] void define_beside(const char* body,
                                  std::chrono::milliseconds watchdog) {
    alarm(60);
    RuntimeOptions options = fault_options();
    options.watchdog = watchdog;
    start(options);
    const Operator op = runtime().define(bad(body));
    DeviceArray<std::int32_t> x(runtime(), 64), y(runtime(), 64);
    const Ticket stuck = runtime().submit(op, {}, x.view());
    runtime().flush();
    // Does a launch wait too while the driver waits with a module?
    std::jthread third([&] {
      std::this_thread::sleep_for(100ms);
      expect_dead("another task",
                  [&] { runtime().wait(copy(x.view(), y.view()), kDeadline); });
    });
    std::jthread other([&] {
      std::this_thread::sleep_for(50ms);
      try {
        runtime().define(whole_operator("other", "x[0] + 1", 1));
      } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
        // Whatever it says, it must not keep the others.
      }
    });
    expect_dead("wait", [&] { runtime().wait(stuck, kDeadline); });
    third.join();
    other.join();
    expect_dead("close", [&] { runtime().close(); });
    const auto end = Clock::now();
    runtime_.reset();
    expect(seconds_since(end) < kMost, "the destructor took too long");
    std::exit(0);
  }

  /// Built-in tasks are not watched individually.
  [[noreturn]] void use_freed_memory() {
    alarm(60);
    start(fault_options());
    constexpr std::int64_t kSize = 16;
    constexpr std::size_t kTasks = 300;
    CUdeviceptr memory = 0;
    GPUOS_CUDA_CHECK(driver().cuMemAlloc(&memory, 64 << 20));
    ManyTasks many = many_of(kTasks, kSize);
    many.out = {nullptr, memory, kSize * 4};
    many.params = {1};
    const Operator op = runtime().find("fill");
    expect(runtime().wait(runtime().submit_many(op, many), kDeadline), "wait");
    std::this_thread::sleep_for(100ms);  // the control thread sleeps again
    GPUOS_CUDA_CHECK(driver().cuMemFree(memory));
    const auto begin = Clock::now();
    bool is_told = false;
    try {
      runtime().wait(runtime().submit_many(op, many), 10s);
    } catch (const TaskError&) {
      is_told = true;
    } catch (const InvalidArgument&) {
      is_told = true;  // better still
    }
    expect(is_told, "the wait ended without an error");
    expect(seconds_since(begin) < kMost, "the wait took too long");
    std::exit(0);
  }
};

TEST_P(CudaFaults, AnIllegalAddress) {
  EXPECT_EXIT(let_threads_wait(kIllegalAddress), testing::ExitedWithCode(0),
              "");
}

TEST_P(CudaFaults, ATrap) {
  EXPECT_EXIT(let_threads_wait(kTrap), testing::ExitedWithCode(0), "");
}

TEST_P(CudaFaults, ALoopPastTheWatchdog) {
  EXPECT_EXIT(let_threads_wait(kLoop), testing::ExitedWithCode(0), "");
}

TEST_P(CudaFaults, OneInARow) {
  for (const char* body : {kIllegalAddress, kTrap, kLoop}) {
    // Workers that stay, as auto may have, are done with it before its fault
    // comes.
    if (body == kIllegalAddress && GetParam() != Residency::Burst) continue;
    EXPECT_EXIT(stand_in_a_row(body), testing::ExitedWithCode(0), "") << body;
  }
}

TEST_P(CudaFaults, AProducerGetsTheError) {
  EXPECT_EXIT(let_a_producer_run(), testing::ExitedWithCode(0), "");
}

TEST_P(CudaFaults, TheDestructorDoesNotWaitForALoop) {
  EXPECT_EXIT(destroy_at_once(), testing::ExitedWithCode(0), "");
}

TEST_P(CudaFaults, AnEndlessLoopDuringADefinition) {
  EXPECT_EXIT(define_beside(kLoop, 1s), testing::ExitedWithCode(0), "");
}

// Long before the watchdog would speak.
TEST_P(CudaFaults, AFaultDuringADefinition) {
  const std::string late = std::string(kLoop).replace(
      std::string(kLoop).find("5000000000"), 10, "500000000");
  EXPECT_EXIT(define_beside((late + kTrap).c_str(), 20s),
              testing::ExitedWithCode(0), "");
}

TEST_P(CudaFaults, BuiltInTasksOnFreedMemory) {
  EXPECT_EXIT(use_freed_memory(), testing::ExitedWithCode(0), "");
}

TEST_P(CudaFaults, AnAddressThatIsNoMemoryIsRefused) {
  start(GetParam());
  for (const std::uintptr_t address : {0x10ul, 0x1000ul, 0x100000ul}) {
    const TensorView nowhere(reinterpret_cast<std::int32_t*>(address), 16);
    EXPECT_THROW(fill(nowhere, 1), InvalidArgument) << address;
  }
  EXPECT_FALSE(runtime().stats().is_dead);
}

GPUOS_FOR_EACH_RESIDENCY(CudaFaults);

}  // namespace
}  // namespace gpuos::cu
