#include "places.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <utility>

#include "keys.h"
#include "slabs.h"

namespace gpuos::bridge {
namespace {

std::mutex places_mutex;
std::deque<Place> places;  // under places_mutex; never moves nor shrinks
std::atomic<std::size_t> first_valid{0};
std::function<Runner(c10::Device)> make_runner;
std::function<void*(c10::Stream)> find_handle;

/// A runtime of some place; there are few, and they stay.
struct Known {
  const Runtime* runtime = nullptr;
  const Known* next = nullptr;
};
std::atomic<const Known*> known_runtimes{
    nullptr};  // written under places_mutex

thread_local const Place* last GPUOS_NEAR_TLS = nullptr;
thread_local std::size_t valid GPUOS_NEAR_TLS = 0;  // first_valid of `last`

c10::Stream stream_of(c10::Device device) {
  if (device.is_cpu()) return c10::Stream(c10::Stream::DEFAULT, device);
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

c10::DispatchKeySet keys_of(c10::Device device) {
  const c10::DispatchKeySet kernels(device.is_cpu() ? DispatchKey::CPU
                                                    : DispatchKey::CUDA);
  const auto backend = kernels.highestBackendKey();
  return kernels | c10::getAutocastRelatedKeySetFromBackend(backend) |
         c10::getAutogradRelatedKeySetFromBackend(backend);
}

const Place* find(c10::Stream stream) {
  const std::lock_guard lock(places_mutex);
  for (std::size_t i = first_valid; i < places.size(); ++i)
    if (places[i].stream == stream) return &places[i];
  return nullptr;
}

Runner runner_of(c10::Device device) {
  {
    const std::lock_guard lock(places_mutex);
    for (std::size_t i = first_valid; i < places.size(); ++i)
      if (places[i].stream.device() == device) return places[i].runner;
  }
  return make_runner(device);
}

const Place& add(c10::Stream stream) {
  const Runner runner = runner_of(stream.device());
  void* const handle = stream.device().is_cpu() ? nullptr : find_handle(stream);
  if (const Place* known = find(stream)) return *known;  // meanwhile
  const std::lock_guard lock(places_mutex);
  // Pairs with the acquire in is_runtime_of_place().
  known_runtimes.store(
      new Known{runner.runtime, known_runtimes.load(std::memory_order_relaxed)},
      std::memory_order_release);
  return places.emplace_back(
      Place{stream, handle, runner, new Slabs(stream), keys_of(stream.device()),
            c10::GetAllocator(stream.device_type())->raw_deleter()});
}

}  // namespace

void set_up_places(std::function<Runner(c10::Device)> make,
                   std::function<void*(c10::Stream)> handle) {
  make_runner = std::move(make);
  find_handle = std::move(handle);
}

const Place& current_place(c10::Device device) {
  const c10::Stream stream = stream_of(device);
  if (last != nullptr && valid == first_valid && last->stream == stream)
    return *last;
  const Place* place = find(stream);
  last = place != nullptr ? place : &add(stream);
  valid = first_valid;
  return *last;
}

void forget_places() { first_valid = places.size(); }

bool is_runtime_of_place(const Runtime* runtime) noexcept {
  // Pairs with the release in add().
  const Known* known = known_runtimes.load(std::memory_order_acquire);
  while (known != nullptr && known->runtime != runtime) known = known->next;
  return known != nullptr;
}

std::vector<Slabs*> all_slabs() {
  const std::lock_guard lock(places_mutex);
  std::vector<Slabs*> all;
  for (std::size_t i = first_valid; i < places.size(); ++i)
    all.push_back(places[i].slabs);
  return all;
}

std::vector<Runner> all_runners() {
  const std::lock_guard lock(places_mutex);
  std::vector<Runner> runners;
  for (std::size_t i = first_valid; i < places.size(); ++i) {
    const Runner& runner = places[i].runner;
    bool is_new = true;
    for (const Runner& known : runners)
      is_new = is_new && known.handle != runner.handle;
    if (is_new) runners.push_back(runner);
  }
  return runners;
}

}  // namespace gpuos::bridge
