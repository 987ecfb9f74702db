#include "memory/sites.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <utility>

#include "memory/slabs.h"
#include "pytorch/keys.h"

namespace gpuos::bridge {
namespace {

std::mutex sites_mutex;
// Under sites_mutex. It never moves nor shrinks, and stays when the process
// ends. Python, which owns the runtimes, has ended by then.
auto& sites = *new std::deque<Site>;
std::atomic<std::size_t> first_valid{0};
std::function<std::shared_ptr<Runner>(c10::Device)> make_runner;
std::function<void*(c10::Stream)> find_handle;

/// The runtime of one site. There are few sites. Null: it was retired.
struct Known {
  std::atomic<const Runtime*> runtime{nullptr};
  Known* next = nullptr;
};
std::atomic<Known*> known_runtimes{nullptr};  // written under sites_mutex

thread_local const Site* last GPUOS_NEAR_TLS = nullptr;
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

const Site* find(c10::Stream stream) {
  const std::lock_guard lock(sites_mutex);
  for (std::size_t i = first_valid; i < sites.size(); ++i)
    if (sites[i].stream == stream) return &sites[i];
  return nullptr;
}

std::shared_ptr<Runner> runner_of(c10::Device device) {
  {
    const std::lock_guard lock(sites_mutex);
    for (std::size_t i = first_valid; i < sites.size(); ++i)
      if (sites[i].stream.device() == device) return sites[i].runner;
  }
  return make_runner(device);
}

// Live results may still use the slabs of a retired site.
Slabs* slabs_of(c10::Stream stream) {
  for (const Site& site : sites)
    if (site.stream == stream) return site.slabs;
  return new Slabs(stream);
}

const Site& add(c10::Stream stream) {
  std::shared_ptr<Runner> runner = runner_of(stream.device());
  void* const handle = stream.device().is_cpu() ? nullptr : find_handle(stream);
  if (const Site* known = find(stream)) return *known;  // meanwhile
  const std::lock_guard lock(sites_mutex);
  // Pairs with the acquire in is_runtime_of_site().
  known_runtimes.store(
      new Known{&runner->runtime,
                known_runtimes.load(std::memory_order_relaxed)},
      std::memory_order_release);
  return sites.emplace_back(
      Site{stream, handle, std::move(runner), slabs_of(stream),
           keys_of(stream.device()),
           c10::GetAllocator(stream.device_type())->raw_deleter()});
}

}  // namespace

void set_up_sites(std::function<std::shared_ptr<Runner>(c10::Device)> make,
                  std::function<void*(c10::Stream)> find) {
  make_runner = std::move(make);
  find_handle = std::move(find);
}

const Site& current_site(c10::Device device) {
  const c10::Stream stream = stream_of(device);
  if (last != nullptr && valid == first_valid && last->stream == stream)
    return *last;
  const Site* site = find(stream);
  last = site != nullptr ? site : &add(stream);
  valid = first_valid;
  return *last;
}

void forget_sites() { first_valid = sites.size(); }

std::vector<std::shared_ptr<Runner>> retire_sites() {
  std::vector<std::shared_ptr<Runner>> runners;
  const std::lock_guard lock(sites_mutex);
  for (std::size_t i = first_valid; i < sites.size(); ++i)
    runners.push_back(std::exchange(sites[i].runner, nullptr));
  for (Known* known = known_runtimes; known != nullptr; known = known->next)
    known->runtime = nullptr;
  first_valid = sites.size();
  return runners;
}

bool is_runtime_of_site(const Runtime* runtime) noexcept {
  // Pairs with the release in add().
  const Known* known = known_runtimes.load(std::memory_order_acquire);
  while (known != nullptr && known->runtime != runtime) known = known->next;
  return known != nullptr;
}

std::vector<Slabs*> all_slabs() {
  const std::lock_guard lock(sites_mutex);
  std::vector<Slabs*> all;
  for (std::size_t i = first_valid; i < sites.size(); ++i)
    all.push_back(sites[i].slabs);
  return all;
}

std::vector<std::shared_ptr<Runner>> all_runners() {
  const std::lock_guard lock(sites_mutex);
  std::vector<std::shared_ptr<Runner>> runners;
  for (std::size_t i = first_valid; i < sites.size(); ++i)
    if (std::ranges::find(runners, sites[i].runner) == runners.end())
      runners.push_back(sites[i].runner);
  return runners;
}

}  // namespace gpuos::bridge
