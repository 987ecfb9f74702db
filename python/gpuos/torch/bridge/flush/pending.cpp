#include "flush/pending.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "flush/backoff.h"
#include "flush/costs.h"
#include "flush/timer.h"
#include "gpuos/runtime.h"
#include "memory/outputs.h"
#include "pytorch/hooks.h"
#include "pytorch/keys.h"
#include "pytorch/private_parts.h"

namespace gpuos::bridge {
namespace {

constexpr std::size_t kAhead = 8;  // storages
constexpr std::chrono::seconds kWait{60};
// No operation takes longer on an idle processor.
constexpr std::int64_t kMostNsAnElement = 20;
// The flushing thread itself runs at most this many. A busy thread could not
// run PyTorch's operators either.
constexpr std::int64_t kLittle = 1 << 13;  // elements

/// `uses` is the number of times that the current requests name a storage.
/// Without other references, its contents can no longer be read.
bool is_still_needed(void*, const void* owner, std::uint32_t uses) {
  auto* storage = const_cast<c10::StorageImpl*>(
      static_cast<const c10::StorageImpl*>(owner));
  return !is_held_by(storage, uses);
}

/// Returns the number of elements that a request visits. For a row function
/// this is the size of its operand.
std::uint64_t elems_of(const Deferred& deferred) {
  const std::uint64_t elems = deferred.request.elems;
  if (deferred.views.size() < 2) return elems;
  return std::max(elems, static_cast<std::uint64_t>(deferred.views[1].size()));
}

/// Waits for what was submitted to the runtime. `what` names it in an error.
void wait_for(const Runner& runner, const char* what, std::string& error) {
  try {
    if (!runner.runtime.synchronize(kWait))
      error = c10::str("gpuos.torch: ", what, " did not finish within ",
                       kWait.count(), " s");
  } catch (const std::exception& failure) {
    error = failure.what();
  }
}

}  // namespace

Pending pending;

void on_access(c10::StorageImpl*) { pending.flush("access to memory"); }

void Pending::Batch::clear() {
  requests.clear();
  views.clear();
  storages.clear();
  last = nullptr;
  counts_uses = true;
  elems = 0;
  bytes = 0;
  owners_lie_apart = true;
  has_chains = false;
  site = {};
}

void Pending::append(const Deferred& deferred) {
  batch_.requests.push_back(deferred.request);
  Request& request = batch_.requests.back();
  if (!deferred.views.empty()) {
    request.views = static_cast<std::uint32_t>(batch_.views.size());
    batch_.views.insert(batch_.views.end(), deferred.views.begin(),
                        deferred.views.end());
  }
  hold(deferred.needs, request, elems_of(deferred));
}

inline void Pending::hold_storages(const Needs& needs, bool is_fresh) {
  const std::uint32_t out = needs.storage_count - 1;
  for (std::uint32_t i = 0; i <= out; ++i) {
    c10::StorageImpl* storage = needs.storages[i];
    if (i == out && is_fresh) {
      incref_unseen(storage);
    } else if (needs.is_marked_at(i)) {
      // Each use by a pending request counts, see is_still_needed().
      c10::raw::intrusive_ptr::incref(storage);
    } else {
      if (storage == batch_.last) continue;
      batch_.last = storage;
      c10::raw::intrusive_ptr::incref(storage);
    }
    batch_.storages.push_back(storage);
  }
}

void Pending::hold(const Needs& needs, const Request& added,
                   std::uint64_t elems) {
  // The next requests' places were read by another processor when their chunk
  // ran: what is written there would wait at the next atomic.
  constexpr std::size_t kNext = 3;  // requests
  prefetch_to_write(&added + kNext, sizeof(Request));
  batch_.elems += elems;
  const bool is_fresh = added.is_fresh;
  if (!is_fresh) {
    const c10::StorageImpl* written = needs.storages[needs.storage_count - 1];
    if (C10_UNLIKELY(written != last_written_)) note_written(written);
  }
  for (std::uint32_t i = 0; i < needs.storage_count; ++i) {
    c10::StorageImpl* storage = needs.storages[i];
    watch(storage);
    if (!has_own_block(*storage, batch_.site)) batch_.owners_lie_apart = false;
    // Nothing asks for the bytes of requests that must not be overtaken, see
    // may_wait().
    if (is_fresh) batch_.bytes += storage->nbytes();
  }
  if (needs.objects != nullptr) {
    batch_.objects.hold(std::span<PyObject* const, HeldObjects::kEach>(
        needs.objects, HeldObjects::kEach));
    batch_.counts_uses = false;
    holds_objects_.store(true, std::memory_order_relaxed);
  } else {
    hold_storages(needs, is_fresh);
  }
  if (C10_UNLIKELY(needs.follows && !batch_.has_chains)) {
    batch_.has_chains = true;
    due_ = std::max(due_, chunk());
  }
  if (C10_UNLIKELY(timer_sleeps_)) {
    timer_sleeps_ = false;
    wake_timer();
  }
  if (batch_.bytes > kMuch) holds_much_.store(true, std::memory_order_relaxed);
  mark(needs.out);
  if (next_recent_ < kStream) note_recent(needs.out, is_fresh);
  ++counters_.intercepted;
  counters_.saved += saved_by_each(batch_.site.is_cpu(), is_fresh);
  count_.store(count_.load(std::memory_order_relaxed) + 1,
               std::memory_order_release);
}

void Pending::note_written(const c10::StorageImpl* storage) {
  writes_old_.store(true, std::memory_order_relaxed);
  last_written_ = storage;
  // Otherwise take() follows the write.
  if (!followed_.is_read()) followed_.forget(storage);
  if (written_.size() <= kMostWritten) written_.push_back(storage);
}

bool Pending::writes(const c10::StorageImpl* storage) {
  if (!writes_old()) return false;
  const std::lock_guard lock(mutex_);
  return written_.size() > kMostWritten ||
         std::find(written_.begin(), written_.end(), storage) != written_.end();
}

void Pending::note_recent(c10::TensorImpl* out, bool is_fresh) {
  c10::TensorImpl*& recent = recent_[next_recent_++ % kRecent];
  if (recent != nullptr) c10::raw::weak_intrusive_ptr::decref(recent);
  recent = out;
  if (is_fresh)
    weak_incref_unseen(recent);
  else
    c10::raw::weak_intrusive_ptr::incref(recent);
}

bool Pending::is_due_before(const Needs& next, std::size_t count) {
  const std::size_t after = batch_.requests.size() + count;
  if (is_early_for(count)) return false;
  if (start_is_wanted_.load(std::memory_order_relaxed))
    due_ = std::min(due_, batch_.requests.size());
  // Waiting for the hand-over of the previous chunk would take longer than
  // continuing with this one.
  const std::size_t most =
      batch_.has_chains ? kChunk + kSlack : kMostIndependent;
  if (starter_ != nullptr && starter_->is_busy() &&
      after <= std::min(capacity(), most) && batch_.elems < 2 * kChunkElems) {
    due_ = std::max(due_, after);
    return false;
  }
  if (after > std::min(capacity(), due_ + kSlack) ||
      batch_.elems >= 2 * kChunkElems)
    return true;
  return (after > due_ || batch_.elems >= kChunkElems) && !next.follows;
}

void Pending::add(std::span<const Deferred> requests, const Site& site) {
  if (requests.empty()) return;
  std::string error;
  Done done;
  Batch chunk_done;
  {
    std::unique_lock lock(mutex_);
    if (C10_UNLIKELY(site.runner == nullptr)) {
      // Another thread called shut_down() since the lookup.
      lock.unlock();
      return add(requests, current_site(site.stream.device()));
    }
    if (count_.load(std::memory_order_relaxed) > 0 &&
        batch_.site.stream != site.stream)
      done = run_all(error, "another device or stream");
    else if (is_due_before(requests.front().needs, requests.size()))
      chunk_done = start_chunk(error, "enough operations");
    batch_.site = site;
    for (const Deferred& request : requests) append(request);
  }
  release(std::move(chunk_done));
  release_all(std::move(done), true);
  TORCH_CHECK(error.empty(), error);
}

void Pending::start_now() {
  std::string error;
  Batch done;
  {
    const std::lock_guard lock(mutex_);
    done = start_chunk(error, "much memory");
  }
  release(std::move(done));
  TORCH_CHECK(error.empty(), error);
}

Pending::Batch Pending::start_chunk(std::string& error, const Cause& cause) {
  Batch done = finish(error);
  wait_for_external(error);
  follow();
  start(error, has_starter(batch_.site), cause);
  generation_.fetch_add(1, std::memory_order_relaxed);
  // Pairs with is_empty().
  count_.store(running_.requests.size(), std::memory_order_release);
  // Hooks that went with the chunk before, though this one needs them.
  for (c10::StorageImpl* storage : running_.storages) watch(storage);
  return done;
}

void Pending::follow() {
  if (C10_UNLIKELY(followed_.is_read()))
    followed_.take(batch_.requests, batch_.views, batch_.site.stream.device());
}

void Pending::wait_for_external(std::string& error) {
  // Pairs with note_external(): the work before that call is awaited here.
  const std::uint32_t own = own_.load(std::memory_order_acquire);
  if (C10_LIKELY(own == 0)) return;
  for (const auto& runner : all_runners())
    wait_for(*runner, "what was submitted to gpuos.torch.runtime()", error);
  followed_.forget_all();
  // Only now: is_empty(), with which it pairs, says that they are done.
  own_.fetch_sub(own, std::memory_order_release);
}

void Pending::start(std::string& error, bool in_background,
                    const Cause& cause) {
  wait_for_external(error);
  start_is_wanted_.store(false, std::memory_order_relaxed);
  holds_much_.store(false, std::memory_order_relaxed);
  due_ = in_background && !batch_.site.is_cpu() ? kFewest : chunk();
  if (batch_.requests.empty()) return;
  const Site site = batch_.site;
  followed_.next_batch();
  running_ = std::exchange(batch_, take_spare());
  batch_.site = site;
  ++counters_.flushes;
  flush_causes.add(cause);
  counters_.saved -= prices_of(site.is_cpu()).flush;
  if (in_background)
    starter_->start([this] { start_error_ = run(); });
  else if (std::string message = run(); !message.empty())
    error = std::move(message);
}

std::string Pending::run() {
  const Site& site = running_.site;
  const Stream stream = site.is_cpu() ? Stream() : Stream(site.stream_handle);
  std::string error;
  try {
    site.runner->requests.run(
        running_.requests, running_.views,
        {.ask = running_.counts_uses ? &is_still_needed : nullptr}, stream,
        running_.owners_lie_apart);
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  try {
    // Also after a failure: some requests were submitted before it.
    site.runner->runtime.flush(stream);
  } catch (const std::exception& failure) {
    if (error.empty()) error = failure.what();
  }
  return error;
}

std::size_t Pending::chunk() const {
  return batch_.site.is_cpu() && starter_ == nullptr ? kChunkOfCaller : kChunk;
}

bool Pending::has_starter(const Site& site) {
  // Workers of the host are threads that want processors too.
  const unsigned wanted = site.is_cpu() ? 8 : 4;
  static const std::uint32_t processors = RequestRunner::processors();
  if (processors < wanted || !uses_starter_) return false;
  if (starter_ == nullptr) starter_ = std::make_unique<Starter>();
  return true;
}

void Pending::use_starter(bool use) {
  const std::lock_guard lock(mutex_);
  uses_starter_ = use;
}

void Pending::stop_starter() {
  const std::lock_guard lock(mutex_);
  starter_.reset();
}

Pending::Batch Pending::finish(std::string& error) {
  if (running_.requests.empty()) return {};
  if (starter_ != nullptr) starter_->wait();
  if (!start_error_.empty()) error = std::exchange(start_error_, {});
  if (running_.site.is_cpu()) {
    wait_for(*running_.site.runner, "pending operations", error);
    followed_.batch_done();
  }
  for (c10::StorageImpl* storage : running_.storages) unwatch(storage);
  return std::exchange(running_, {});
}

Pending::Done Pending::run_all(std::string& error, const Cause& cause) {
  if (!late_error_.empty()) error = std::exchange(late_error_, {});
  Done done;
  done.batches[0] = finish(error);
  // On processors the host may read all that it wrote after finish().
  if (followed_.is_gpu(batch_.site.stream.device())) follow();
  start(error, false, cause);
  done.batches[1] = finish(error);
  // Pairs with is_empty(): a thread that reads 0 sees the results, or its work
  // follows their computation in the stream.
  count_.store(0, std::memory_order_release);
  writes_old_.store(false, std::memory_order_relaxed);
  last_written_ = nullptr;
  written_.clear();
  // Pairs with holds_objects().
  holds_objects_.store(false, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_relaxed);
  done.marked = std::exchange(recent_, {});
  next_recent_ = 0;
  return done;
}

void Pending::release(Batch batch) {
  if (batch.requests.empty()) return;
  const auto& storages = batch.storages;
  for (std::size_t i = 0; i < storages.size(); ++i) {
    // They were touched long ago, and nothing else is done while a reference
    // waits for its line.
    prefetch_to_write(storages[std::min(i + kAhead, storages.size() - 1)]);
    c10::raw::intrusive_ptr::decref(storages[i]);
  }
  batch.objects.give_back();
  batch.clear();
  const std::lock_guard lock(mutex_);
  if (spares_.size() < kSpares) spares_.push_back(std::move(batch));
}

Pending::Batch Pending::take_spare() {
  if (spares_.empty()) return {};
  Batch spare = std::move(spares_.back());
  spares_.pop_back();
  return spare;
}

void Pending::release_all(Done done, bool unmarks) {
  c10::SmallVector<c10::intrusive_ptr<c10::TensorImpl>, kRecent> outs;
  for (c10::TensorImpl* out : done.marked) {
    if (out == nullptr) continue;
    const auto weak = c10::weak_intrusive_ptr<c10::TensorImpl>::reclaim(out);
    if (!unmarks) continue;
    if (auto tensor = weak.lock()) outs.push_back(std::move(tensor));
  }
  if (!outs.empty()) {
    const std::lock_guard lock(mutex_);
    // Another thread may have one of them written again meanwhile.
    if (count_.load(std::memory_order_relaxed) == 0)
      for (const auto& out : outs) unmark(out.get());
  }
  for (Batch& batch : done.batches) release(std::move(batch));
}

void Pending::flush(const Cause& cause) {
  std::string error;
  Done done;
  // Its destructor reads the counters, so it runs after the lock is released.
  std::optional<FlushWatch> watch;
  {
    const std::lock_guard lock(mutex_);
    // On a GPU no thread waits for the work.
    const auto elems = static_cast<std::int64_t>(batch_.elems + running_.elems);
    if (batch_.site.is_cpu() && elems > kLittle)
      watch.emplace(elems * kMostNsAnElement);
    done = run_all(error, cause);
  }
  watch.reset();
  release_all(std::move(done), true);
  TORCH_CHECK(error.empty(), error);
}

void Pending::flush_behind() {
  Done done;
  {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    std::string error;
    done = run_all(error, "long wait");
    late_error_ = error;
  }
  release_all(std::move(done), false);
}

bool Pending::lets_timer_sleep() {
  const std::lock_guard lock(mutex_);
  timer_sleeps_ = count_.load(std::memory_order_relaxed) == 0;
  return timer_sleeps_;
}

void Pending::synchronize() {
  flush("synchronize");
  std::string error;
  for (const auto& runner : all_runners())
    wait_for(*runner, "operations", error);
  TORCH_CHECK(error.empty(), error);
}

void Pending::shut_down() {
  synchronize();
  std::string error;
  Done done;
  std::vector<c10::Storage> held;
  std::vector<std::shared_ptr<Runner>> runners;
  Site last;
  {
    const std::lock_guard lock(mutex_);
    done = run_all(error, "shutdown");  // the requests that came meanwhile
    starter_.reset();
    held = followed_.clear();
    for (Slabs* slabs : all_slabs()) slabs->trim(0);
    runners = retire_sites();
    last = std::exchange(batch_.site, {});
    for (Batch& spare : spares_) spare.site = {};
  }
  release_all(std::move(done), true);
  runners.clear();
  TORCH_CHECK(error.empty(), error);
}

Counters Pending::counters() {
  const std::lock_guard lock(mutex_);
  Counters now = counters_;
  now.fallbacks = fallbacks_.load(std::memory_order_relaxed);
  now.left = left_.load(std::memory_order_relaxed);
  now.saved += corrections_.load(std::memory_order_relaxed);
  return now;
}

RequestStats Pending::stats() {
  const std::lock_guard lock(mutex_);
  if (starter_ != nullptr) starter_->wait();  // it counts too
  RequestStats sum;
  for (const auto& runner : all_runners()) {
    const RequestStats one = runner->requests.stats();
    sum.requests += one.requests;
    sum.runs += one.runs;
    sum.tasks += one.tasks;
    sum.programs += one.programs;
    sum.unwritten += one.unwritten;
    sum.compiling += one.compiling;
  }
  return sum;
}

}  // namespace gpuos::bridge
