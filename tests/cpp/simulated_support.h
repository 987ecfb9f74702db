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

/// Null where libcuda.so.1 is another one.
inline sim::Simulator* find_simulator() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto get =
      reinterpret_cast<sim::GetSimulator*>(dlsym(library, sim::kGetSimulator));
  return get != nullptr ? get() : nullptr;
}

}  // namespace gpuos
