#include "modules/parking.h"

#include <algorithm>
#include <exception>
#include <memory>

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

void unload(CUcontext context, CUmodule module) noexcept {
  const DriverApi* api = try_driver();
  const HoldsExit hold{HoldsExit::For::kDriver};
  if (api == nullptr || api->cuCtxPushCurrent(context) != CUDA_SUCCESS) return;
  api->cuModuleUnload(module);
  api->cuCtxPopCurrent(&context);
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
  run_inside(runtimes_on(ordinal), 0,
             std::make_shared<std::function<void()>>(std::move(job)));
}

void Parking::drop(int ordinal, CUcontext context, CUmodule module) noexcept {
  {
    const std::lock_guard lock(mutex_);
    bool has_runtime = false;
    for (Parkable* runtime : runtimes_) {
      if (runtime->ordinal() != ordinal) continue;
      has_runtime = true;
      runtime->notify_dropped();
    }
    if (has_runtime) {
      dropped_.push_back({ordinal, context, module});
      return;
    }
  }
  unload(context, module);
}

std::size_t Parking::dropped_count(int ordinal) const noexcept {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count(
      dropped_, ordinal, [](const Dropped& d) { return d.ordinal; }));
}

void Parking::unload_dropped(int ordinal) noexcept {
  std::vector<Dropped> mine;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(dropped_, [&](const Dropped& dropped) {
      if (dropped.ordinal == ordinal) mine.push_back(dropped);
      return dropped.ordinal == ordinal;
    });
  }
  for (const Dropped& dropped : mine) unload(dropped.context, dropped.module);
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
