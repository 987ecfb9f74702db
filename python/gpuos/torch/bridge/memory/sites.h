// Where requests run: a device's runtime, and a stream there.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/Stream.h>

#include <functional>
#include <memory>
#include <vector>

#include "gpuos/bridge.h"

namespace gpuos::bridge {

class Slabs;

/// A runtime's requests.
struct Runner {
  const BridgeTable* table = nullptr;
  void* handle = nullptr;         // null: it was retired
  std::shared_ptr<void> owner{};  // of the handle and of its runtime
  const Runtime* runtime = nullptr;
};

struct Site {
  c10::Stream stream{c10::Stream::DEFAULT, c10::Device(c10::kCPU)};
  void* stream_handle = nullptr;  // the driver's
  Runner runner{};
  Slabs* slabs = nullptr;       // of the stream; stays
  c10::DispatchKeySet keys{};   // of new tensors here, as PyTorch makes them
  c10::DeleterFnPtr deleter{};  // of PyTorch's allocator, or null

  bool is_cpu() const noexcept { return stream.device().is_cpu(); }
};

/// Returns the site of the current stream of `device`. It asks Python for a new
/// stream, so the caller may not hold a lock that Python threads wait for.
/// Threads: any.
const Site& current_site(c10::Device device);

/// Sets how Python is asked for the runner of a device and the handle of a
/// stream.
void set_up_sites(std::function<Runner(c10::Device)> make_runner,
                  std::function<void*(c10::Stream)> find_handle);

/// In the child of a fork, where no runtime works any more: others are made.
void forget_sites();

/// Retires all sites and returns the owners of the runners. Dropping them ends
/// runtimes without other owners. It needs the lock of pending requests, so
/// that no thread copies a site.
std::vector<std::shared_ptr<void>> retire_sites();

/// Returns whether requests run in it. Takes no lock.
bool is_runtime_of_site(const Runtime* runtime) noexcept;

/// Every runner that was made.
std::vector<Runner> all_runners();
/// The slabs of every stream.
std::vector<Slabs*> all_slabs();

}  // namespace gpuos::bridge
