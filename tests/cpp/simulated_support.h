#pragma once

#include <dlfcn.h>

#include <chrono>

#include "contract.h"
#include "simulator/simulator.h"

namespace gpuos {

using Clock = std::chrono::steady_clock;

/// Null where libcuda.so.1 is another one.
inline sim::Simulator* find_simulator() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto get =
      reinterpret_cast<sim::GetSimulator*>(dlsym(library, sim::kGetSimulator));
  return get != nullptr ? get() : nullptr;
}

/// A test on the device that is simulated.
class SimulatedTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(simulator_ = find_simulator(), nullptr)
        << "libcuda.so.1 is not the simulator: run this test by ctest";
    simulator_->reset_counts();
  }
  sim::Simulator& simulator() const { return *simulator_; }
  sim::Counts counts() const { return simulator_->counts(); }

  sim::Simulator* simulator_ = nullptr;
};

inline RuntimeOptions simulated_options(Residency residency = Residency::Auto) {
  RuntimeOptions options;
  options.backend = "cuda";
  options.residency = residency;
  return options;
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
