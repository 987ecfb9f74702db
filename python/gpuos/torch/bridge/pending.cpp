#include "pending.h"

#include <utility>

#include "hooks.h"
#include "keys.h"

namespace gpuos::bridge {
namespace {

constexpr std::size_t kErrorSize = 1024;
constexpr std::int64_t kWaitNs = 60'000'000'000;

/// `uses`: how often the requests at hand name a storage. If nobody else holds
/// it, no one can ask for what is in it any more.
bool is_still_needed(void*, const void* owner, std::uint32_t uses) {
  auto* storage = const_cast<c10::StorageImpl*>(
      static_cast<const c10::StorageImpl*>(owner));
  return !is_held_by(storage, uses);
}

}  // namespace

Pending pending;

void on_access(c10::StorageImpl*) { pending.flush(); }

void Pending::Batch::clear() {
  requests.clear();
  views.clear();
  storages.clear();
  outputs.clear();
}

void Pending::append(const Deferred& deferred) {
  Request request = deferred.request;
  if (!deferred.views.empty()) {
    request.views = static_cast<std::uint32_t>(batch_.views.size());
    batch_.views.insert(batch_.views.end(), deferred.views.begin(),
                        deferred.views.end());
  }
  batch_.requests.push_back(request);
  for (std::uint32_t i = 0; i < deferred.storage_count; ++i) {
    c10::StorageImpl* storage = deferred.storages[i];
    c10::raw::intrusive_ptr::incref(storage);
    watch(storage);
    batch_.storages.push_back(storage);
  }
  c10::raw::weak_intrusive_ptr::incref(deferred.out);
  batch_.outputs.push_back(deferred.out);
  mark(deferred.out);
}

void Pending::add(std::span<const Deferred> requests) {
  if (requests.empty()) return;
  const Place& place = current_place(requests.front().device);
  std::string error;
  Batch done;
  {
    const std::lock_guard lock(mutex_);
    if (!batch_.requests.empty() &&
        (batch_.place.stream != place.stream ||
         batch_.requests.size() + requests.size() > capacity_))
      done = take(error);
    batch_.place = place;
    for (const Deferred& request : requests) append(request);
    count_.store(batch_.requests.size(), std::memory_order_release);
  }
  counters.intercepted.fetch_add(requests.size(), std::memory_order_relaxed);
  if (!done.requests.empty()) release(std::move(done), true);
  TORCH_CHECK(error.empty(), error);
}

void Pending::run(std::string& error) {
  char message[kErrorSize] = "";
  const auto& [stream, stream_handle, runner] = batch_.place;
  BridgeResult result = runner.table->run(
      runner.handle, batch_.requests.data(), batch_.requests.size(),
      batch_.views.data(), batch_.views.size(), {&is_still_needed, nullptr},
      stream_handle, !batch_.place.is_cpu(), message, kErrorSize);
  if (result == BridgeResult::Done && batch_.place.is_cpu())
    result =
        runner.table->synchronize(runner.handle, kWaitNs, message, kErrorSize);
  if (result == BridgeResult::TimedOut)
    error = "gpuos.torch: pending operations did not finish within 60 s";
  else if (result == BridgeResult::Failed)
    error = message;
}

Pending::Batch Pending::take(std::string& error) {
  if (!late_error_.empty()) error = std::exchange(late_error_, {});
  if (batch_.requests.empty()) return {};
  run(error);
  for (c10::StorageImpl* storage : batch_.storages) unwatch(storage);
  // Pairs with is_empty(): who sees 0 finds the results, or the work that
  // makes them ahead of its own in the stream.
  count_.store(0, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_relaxed);
  counters.flushes.fetch_add(1, std::memory_order_relaxed);
  return std::exchange(batch_, std::exchange(spare_, {}));
}

void Pending::release(Batch batch, bool unmarks) {
  for (c10::TensorImpl* out : batch.outputs) {
    const auto weak = c10::weak_intrusive_ptr<c10::TensorImpl>::reclaim(out);
    if (!unmarks) continue;
    if (const auto tensor = weak.lock()) unmark(tensor.get());
  }
  for (c10::StorageImpl* storage : batch.storages)
    c10::raw::intrusive_ptr::decref(storage);
  batch.clear();
  const std::lock_guard lock(mutex_);
  std::swap(spare_, batch);
}

void Pending::flush() {
  std::string error;
  Batch done;
  {
    const std::lock_guard lock(mutex_);
    done = take(error);
  }
  if (!done.requests.empty()) release(std::move(done), true);
  TORCH_CHECK(error.empty(), error);
}

void Pending::flush_behind() {
  Batch done;
  {
    const std::lock_guard lock(mutex_);
    std::string error;
    done = take(error);
    late_error_ = error;
  }
  if (!done.requests.empty()) release(std::move(done), false);
}

void Pending::synchronize() {
  flush();
  char message[kErrorSize] = "";
  for (const Runner& runner : all_runners())
    TORCH_CHECK(runner.table->synchronize(runner.handle, kWaitNs, message,
                                          kErrorSize) == BridgeResult::Done,
                "gpuos.torch: waiting for operations failed: ", message);
}

RequestStats Pending::stats() {
  RequestStats sum;
  for (const Runner& runner : all_runners()) {
    const RequestStats one = runner.table->stats(runner.handle);
    sum.requests += one.requests;
    sum.runs += one.runs;
    sum.tasks += one.tasks;
    sum.programs += one.programs;
    sum.unwritten += one.unwritten;
  }
  return sum;
}

}  // namespace gpuos::bridge
