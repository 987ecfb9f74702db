// Loaded code is unloaded: thousands of operators and modules during tasks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "cuda_support.h"
#include "gpuos/jit_module.h"
#include "gpuos/module_registry.h"
#include "operator_support.h"

namespace gpuos::cu {
namespace {

constexpr int kCycles = 10'000;
constexpr int kWarmUp = 1'000;
constexpr int kKinds = 8;
constexpr std::size_t kMiB = std::size_t{1} << 20;

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

struct Memory {
  std::size_t device_free;
  std::size_t resident;
};

class CudaLifetime : public CudaTest {
 protected:
  static Memory memory() { return {free_bytes(), resident_bytes()}; }

  static void expect_flat(const char* what, const Memory& before,
                          const Memory& after) {
    const auto grown = [](std::size_t from, std::size_t to) {
      return (static_cast<double>(to) - static_cast<double>(from)) /
             static_cast<double>(kMiB);
    };
    const double device = grown(after.device_free, before.device_free);
    const double host = grown(before.resident, after.resident);
    std::printf(
        "%s, cycles %d to %d: device memory %+.1f MiB, resident set "
        "%+.1f MiB\n",
        what, kWarmUp, kCycles, device, host);
    EXPECT_LE(device, 4);
    EXPECT_LE(host, 16);
  }

  // Runs `cycle` while another thread submits, and counts wrong results.
  template <typename Cycle>
  void repeat(const char* what, Cycle cycle) {
    start(Residency::Auto);
    DeviceArray<std::int32_t> x(runtime(), 256), out(runtime(), 256);
    std::atomic<bool> ends{false};
    std::atomic<int> wrong{0};
    std::atomic<int> rounds{0};
    std::jthread feeder([&] {
      for (int i = 0; !ends; ++i) {
        fill(x.view(), i);
        add(x.view(), x.view(), out.view());
        if (out.read() != Ints(256, 2 * i)) ++wrong;
        ++rounds;
      }
    });
    Memory before{};
    for (int i = 0; i < kCycles; ++i) {
      if (i == kWarmUp) before = memory();
      cycle(i);
    }
    runtime().synchronize(30s);
    const Memory after = memory();
    ends = true;
    feeder.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(rounds, 0);
    expect_flat(what, before, after);
  }
};

TEST_F(CudaLifetime, OperatorsComeAndGo) {
  repeat("define and undefine", [&](int i) {
    const Operator op = runtime().define(
        whole_operator("comes", "x[0] * " + std::to_string(i % kKinds), 1));
    runtime().undefine(op);
  });
  EXPECT_TRUE(
      becomes_true([&] { return runtime().stats().unloads >= kCycles - 1; }));
}

TEST_F(CudaLifetime, ModulesComeAndGo) {
  const std::size_t loaded = ModuleRegistry::list().size();
  repeat("JitModule and Kernel", [&](int i) {
    const JitModule module(
        JitSource{.source = "extern \"C\" __global__ void k(int* x) { *x = " +
                            std::to_string(i % kKinds) + "; }"});
    module.kernel("k");
  });
  EXPECT_EQ(ModuleRegistry::list().size(), loaded);
}

TEST_F(CudaLifetime, KernelThatIsDroppedInFlightFinishes) {
  start(Residency::Auto);
  DeviceArray<std::int32_t> out(runtime(), 1);
  {
    const JitModule module(JitSource{.source = R"(
extern "C" __global__ void slow(int* x) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < 50000000ull);
  *x = 7;
}
)"});
    module["slow"].launch(1, 1, KernelArgs::of(out.data()));
  }
  GPUOS_CUDA_CHECK(driver().cuCtxSynchronize());
  EXPECT_EQ(out.read(), Ints{7});
}

}  // namespace
}  // namespace gpuos::cu
