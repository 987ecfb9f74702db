// Where requests run: a device's runtime, and a stream there.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/Stream.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gpuos/requests.h"

namespace gpuos::bridge {

class Slabs;

/// A runtime's requests.
struct Runner {
  Runner(std::shared_ptr<void> of, Runtime& on)
      : owner(std::move(of)), runtime(on), requests(on) {}

  std::shared_ptr<void> owner;  // of the runtime; it is released last
  Runtime& runtime;
  RequestRunner requests;
};

struct Site {
  c10::Stream stream{c10::Stream::DEFAULT, c10::Device(c10::kCPU)};
  void* stream_handle = nullptr;     // the driver's
  std::shared_ptr<Runner> runner{};  // null: it was retired
  Slabs* slabs = nullptr;            // of the stream; stays
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
void set_up_sites(std::function<std::shared_ptr<Runner>(c10::Device)> make,
                  std::function<void*(c10::Stream)> find);

/// In the child of a fork, where no runtime works any more: others are made.
void forget_sites();

/// Retires all sites and returns their runners. Dropping them ends runtimes
/// without other owners. It needs the lock of pending requests, so
/// that no thread copies a site.
std::vector<std::shared_ptr<Runner>> retire_sites();

/// Returns whether requests run in it. Takes no lock.
bool is_runtime_of_site(const Runtime* runtime) noexcept;

/// Every runner that was made.
std::vector<std::shared_ptr<Runner>> all_runners();
/// The slabs of every stream.
std::vector<Slabs*> all_slabs();

}  // namespace gpuos::bridge
