#pragma once

#include <dlfcn.h>

#include <chrono>
#include <thread>

#include "contract.h"
#include "simulator/simulator.h"

namespace gpuos {

using Clock = std::chrono::steady_clock;

template <typename Condition>
bool becomes_true(Condition condition) {
  const auto deadline = Clock::now() + kDeadline;
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

inline constexpr const char* kNoSimulator =
    "libcuda.so.1 is not the simulator: run this test by ctest";

/// Null where libcuda.so.1 is another one.
inline sim::Simulator* find_simulator() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto get =
      reinterpret_cast<sim::GetSimulator*>(dlsym(library, sim::kGetSimulator));
  return get != nullptr ? get() : nullptr;
}

inline std::string mode_name(const testing::TestParamInfo<Residency>& info) {
  static const char* const kNames[] = {"auto", "resident", "burst"};
  return kNames[static_cast<int>(info.param)];
}

/// Keeps tasks of whole operators from ending as long as it lives.
class Hold {
 public:
  explicit Hold(sim::Simulator& simulator) : simulator_(simulator) {
    simulator_.hold_whole_tasks(true);
  }
  ~Hold() { simulator_.hold_whole_tasks(false); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  sim::Simulator& simulator_;
};

/// Returns an operator whose tasks wait while whole tasks are held.
inline OperatorDefinition stand_definition() {
  return {.name = "stand",
          .source = "GPUOS_OPERATOR(stand) {}",
          .dtypes = {DType::Int32},
          .inputs = 1,
          .elementwise = false};
}

}  // namespace gpuos
