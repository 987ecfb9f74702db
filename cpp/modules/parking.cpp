#include "modules/parking.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/process_exit.h"
#include "driver/driver_api.h"

namespace gpuos::cu {
namespace {

// Parks one runtime after the other, and runs the job inside of all.
void run_inside(const std::vector<Parkable*>& runtimes, std::size_t next,
                const std::shared_ptr<std::function<void()>>& job) {
  if (next == runtimes.size()) {
    (*job)();
    return;
  }
  runtimes[next]->run_parked(
      [runtimes, next, job] { run_inside(runtimes, next + 1, job); });
}

// Unloads a module. Returns false if its launches still run. It works in any
// thread, and does not invalidate a graph that the thread captures.
bool unload(const DroppedModule& dropped) noexcept {
  const DriverApi* api = try_driver();
  const HoldsExit hold{HoldsExit::For::kDriver};
  CUcontext context = dropped.context;
  if (api == nullptr || api->cuCtxPushCurrent(context) != CUDA_SUCCESS)
    return true;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  api->cuThreadExchangeStreamCaptureMode(&mode);
  const bool have_ended = dropped.launches->have_ended();
  if (have_ended) api->cuModuleUnload(dropped.module);
  api->cuThreadExchangeStreamCaptureMode(&mode);
  api->cuCtxPopCurrent(&context);
  return have_ended;
}

}  // namespace

Parking& Parking::instance() {
  // Never destroyed: handles that outlive main() may still drop modules.
  static auto* const parking = new Parking;
  return *parking;
}

void Parking::note_stuck(int ordinal) {
  const std::lock_guard lock(mutex_);
  stuck_.insert(ordinal);
}

bool Parking::is_stuck(int ordinal) const {
  const std::lock_guard lock(mutex_);
  return stuck_.contains(ordinal);
}

void Parking::enter(Parkable* runtime) {
  const std::lock_guard lock(mutex_);
  runtimes_.push_back(runtime);
}

void Parking::leave(Parkable* runtime) {
  const std::lock_guard jobs(jobs_mutex_);
  const std::lock_guard lock(mutex_);
  std::erase(runtimes_, runtime);
}

void Parking::run_parked(int ordinal, std::function<void()> job) {
  const std::lock_guard jobs(jobs_mutex_);
  const std::vector<Parkable*> runtimes = runtimes_on(ordinal);
  run_inside(runtimes, 0,
             std::make_shared<std::function<void()>>(std::move(job)));
  if (runtimes.empty()) unload_dropped(ordinal);
}

void Parking::drop(DroppedModule module) noexcept {
  const int ordinal = module.ordinal;
  {
    const std::lock_guard lock(mutex_);
    const bool is_captured = module.launches->is_captured();
    (is_captured ? captured_ : dropped_).push_back(std::move(module));
    if (is_captured) return;
    bool has_runtime = false;
    for (Parkable* runtime : runtimes_) {
      if (runtime->ordinal() != ordinal) continue;
      has_runtime = true;
      runtime->notify_dropped();
    }
    if (has_runtime) return;
  }
  unload_dropped(ordinal);
}

std::size_t Parking::dropped_count(int ordinal) const noexcept {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count(dropped_, ordinal, &DroppedModule::ordinal));
}

void Parking::unload_dropped(int ordinal) noexcept {
  std::vector<DroppedModule> mine;
  {
    const std::lock_guard lock(mutex_);
    const auto others = std::ranges::partition(
        dropped_, [&](const auto& d) { return d.ordinal != ordinal; });
    std::ranges::move(others, std::back_inserter(mine));
    dropped_.erase(others.begin(), others.end());
  }
  // An unloaded module drops the objects that it keeps.
  std::erase_if(mine, unload);
  const std::lock_guard lock(mutex_);
  std::ranges::move(mine, std::back_inserter(dropped_));
}

std::vector<Parkable*> Parking::runtimes_on(int ordinal) const {
  const std::lock_guard lock(mutex_);
  std::vector<Parkable*> found;
  for (Parkable* runtime : runtimes_) {
    if (runtime->ordinal() == ordinal) found.push_back(runtime);
  }
  return found;
}

}  // namespace gpuos::cu
