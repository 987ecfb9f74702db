// The pending requests of all threads, in one order.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flush/counts.h"
#include "flush/followed.h"
#include "flush/objects.h"
#include "flush/options.h"
#include "flush/starter.h"
#include "gpuos/requests.h"
#include "memory/patient_mutex.h"
#include "memory/sites.h"
#include "pytorch/keys.h"
#include "pytorch/memory.h"

namespace gpuos::bridge {

struct Counters {
  std::uint64_t intercepted = 0;
  std::uint64_t flushes = 0;
  std::uint64_t fallbacks = 0;
  std::uint64_t left = 0;         // for their size or their cost
  std::uint64_t known_reads = 0;  // of values that the host knew
  std::int64_t saved =
      0;  // by what was deferred, less the flushes; ns, guessed
};

/// The tensors that a request needs until it has run.
struct Needs {
  std::array<c10::StorageImpl*, 1 + kMaxRequestOperands> storages;
  std::uint32_t storage_count = 0;  // of the storages; the rest is not set
  c10::TensorImpl* out = nullptr;
  /// Python's objects of two operands and the result, which are held in place
  /// of the storages. Null: the caller does not have them.
  PyObject* const* objects = nullptr;
  std::uint32_t marks = 0;  // a bit for each that may be pending
  bool follows = false;     // reads one of those

  void add(const Tensor& tensor) {
    note(tensor);
    follows = marks != 0;
  }
  /// The last one.
  void add_out(const Tensor& tensor) {
    note(tensor);
    out = tensor.unsafeGetTensorImpl();
  }
  bool is_marked_at(std::uint32_t i) const { return (marks >> i & 1) != 0; }

 private:
  void note(const Tensor& tensor) {
    const auto keys = tensor.unsafeGetTensorImpl()->key_set();
    marks |= static_cast<std::uint32_t>(keys.has(kPendingKey)) << storage_count;
    storages[storage_count++] = storage_of(tensor);
  }
};

/// A request and the objects that it needs.
struct Deferred {
  Request request;
  Needs needs{};
  c10::SmallVector<TensorView, 4> views{};  // empty if flat
};

/// Threads: any.
class Pending {
 public:
  /// Appends in order, all or none. Pending operations of another site are
  /// flushed first.
  void add(std::span<const Deferred> requests, const Site& site);
  void add(const Deferred& request, const Site& site) {
    add({&request, 1}, site);
  }
  /// Appends a flat request, which `write(request)` writes in its place. A copy
  /// of a request that was just written in parts would make the processor wait.
  /// `write` must not throw, because the request is pending by then.
  template <typename Write>
  void add(const Needs& needs, const Site& site, const Write& write) {
    if (C10_LIKELY(add_now(needs, site, write))) return;
    add_later(needs, site, write);
  }

  /// Returns whether foreign work may begin without running or awaiting
  /// operations.
  bool is_empty() const noexcept {
    // Pairs with the release in hold() and flush(): a thread that can see a
    // tensor also sees another thread's requests that write it. It also pairs
    // with the releases in note_external() and wait_for_external().
    return count_.load(std::memory_order_acquire) == 0 &&
           own_.load(std::memory_order_acquire) == 0;
  }
  std::size_t size() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }
  /// Returns the number of starts. A timer uses it to detect a start.
  std::uint64_t generation() const noexcept {
    return generation_.load(std::memory_order_relaxed);
  }

  /// Returns whether operators may run before pending requests whose memory
  /// they do not touch.
  bool may_wait() const noexcept {
    return own_.load(std::memory_order_relaxed) == 0;
  }
  /// Returns whether pending requests write memory that unmarked tensors may
  /// have.
  bool writes_old() const noexcept {
    return writes_old_.load(std::memory_order_relaxed);
  }
  /// Returns whether `storage` may be such memory.
  bool writes(const c10::StorageImpl* storage);
  /// Returns whether a tensor that is given other memory must be run before,
  /// because its object is held in place of its memory.
  bool holds_objects() const noexcept {
    // Pairs with the release in run_all(): a thread that reads false sees the
    // results.
    return holds_objects_.load(std::memory_order_acquire);
  }
  /// Starts the pending requests if they hold much memory, to free it. It is
  /// called for operators that run before them, because there may be many.
  void start_if_large() {
    if (C10_UNLIKELY(holds_much_.load(std::memory_order_relaxed))) start_now();
  }

  /// Runs the pending requests. On the CPU the results are ready when it
  /// returns. On a GPU they are ordered before later work in the stream.
  /// Throws: c10::Error if it failed; then those requests are gone.
  void flush(const Cause& cause);
  /// Returns the only element of `tensor`, which is pending, if the host can
  /// know it. It may flush. Nothing: PyTorch must read it.
  std::optional<c10::Scalar> read(const Cause& op, const Tensor& tensor);
  /// PyTorch has read the only element of `tensor`.
  void note_read(const Tensor& tensor, const c10::Scalar& number);
  /// PyTorch has copied `from`.
  void note_copied(const Tensor& from, const Tensor& to);
  /// Returns whether the three functions below have an effect.
  bool may_know() const noexcept { return followed_.may_know(); }
  /// PyTorch may write to `tensor`.
  void forget(const Tensor& tensor);
  /// Others have a pointer to its memory from now on.
  void note_exposed(const Tensor& tensor);
  /// Anything may be written. `distrusts`: also later, through kept pointers.
  void forget_values(bool distrusts);
  void imitate_gpu(bool imitate) {
    const std::lock_guard lock(mutex_);
    followed_.imitate_gpu(imitate);
  }
  /// Makes the next add() start the pending operations, so that the adding
  /// thread does not wait for the running one. Without another add() nothing
  /// happens.
  void want_start() noexcept {
    start_is_wanted_.store(true, std::memory_order_relaxed);
  }
  /// Flushes from a thread that does not use tensors. It keeps marks, and
  /// stores an error for the next flush(). Does nothing while another thread
  /// adds or flushes.
  void flush_behind();
  /// The program itself has submitted work to one of these runtimes: it is
  /// awaited before anything that is deferred later runs, and by flush().
  void note_external() noexcept {
    own_.fetch_add(1, std::memory_order_release);
  }
  /// True: nothing waits, and the next one wakes the timer, see timer.h.
  bool lets_timer_sleep();
  /// Waits until everything flushed is done.
  void synchronize();
  /// Flushes, and releases all runtimes and unused memory.
  void shut_down();
  RequestStats stats();

  /// Sets whether a separate thread starts the chunks for a GPU.
  void use_starter(bool use);
  /// Waits for it and ends it. The next chunk begins another.
  void stop_starter();
  /// Resets the state in a forked child, which has no starter and makes new
  /// sites. Nothing is pending there.
  void forget_parent() noexcept {
    starter_.release();  // NOLINT(bugprone-unused-return-value)
    batch_.site = {};
  }
  Counters counters();
  void count_fallback() noexcept {
    fallbacks_.fetch_add(1, std::memory_order_relaxed);
  }
  void count_left() noexcept { left_.fetch_add(1, std::memory_order_relaxed); }
  /// Corrects the saved time. Deferred operations count as if an override took
  /// them. Other entry points, and operations that take longer here than in
  /// PyTorch, are corrected.
  void correct_saved(std::int64_t ns) noexcept {
    corrections_.fetch_add(ns, std::memory_order_relaxed);
  }

 private:
  // Requests, and elements of all: the last chunk is waited for.
  static constexpr std::size_t kChunk = 1024;
  // The chunk on processors without a starter. The results of workers are still
  // in caches when the next chunk's results take their memory.
  static constexpr std::size_t kChunkOfCaller = 512;
  // Requests of a chunk for the starter whose requests do not follow each
  // other: the fewer there are in the last one, the sooner all is done.
  static constexpr std::size_t kFewest = 256;
  // The most independent operations, while the starter is busy with the chunk
  // before.
  static constexpr std::size_t kMostIndependent = 4 * kChunk;
  static constexpr std::uint64_t kChunkElems = 1 << 23;
  // Takes this many more until one follows none of them. A chain that is cut
  // makes two programs, and others in the next chunk.
  static constexpr std::size_t kSlack = 256;
  static constexpr std::uint64_t kMuch = 32 << 20;  // bytes, of each of two
  static constexpr std::size_t kRecent = 64;
  // Operators that run before pending requests compare with each known storage.
  static constexpr std::size_t kMostWritten = 64;
  // This many since the last flush are a stream. kRecent of them are not.
  static constexpr std::size_t kStream = 512;
  static constexpr std::size_t kSpares = 2;

  struct Batch {
    std::vector<Request> requests;
    std::vector<TensorView> views;
    std::vector<c10::StorageImpl*> storages;
    HeldObjects objects;
    // The last storage that is held and was not pending. It may come again, as
    // the weight of a loop does.
    c10::StorageImpl* last = nullptr;
    bool counts_uses = true;  // each pending request holds its storage
    std::uint64_t elems = 0;
    std::uint64_t bytes = 0;  // of storages that new results need
    bool owners_lie_apart = true;
    bool has_chains = false;  // a request follows another, if marks are right
    Site site{};

    void clear();
  };

  /// The parts that run_all() leaves to release_all().
  struct Done {
    std::array<Batch, 2> batches;
    std::array<c10::TensorImpl*, kRecent> marked{};
  };

  /// add(), if nothing must be done before. False: nothing was added.
  template <typename Write>
  bool add_now(const Needs& needs, const Site& site, const Write& write);
  template <typename Write>
  [[gnu::noinline]] void add_later(const Needs& needs, const Site& site,
                                   const Write& write) {
    Deferred deferred{.request = {}, .needs = needs};
    write(deferred.request);
    add(deferred, site);
  }
  void append(const Deferred& request);
  /// `is_fresh`: no other code knows it yet.
  void note_recent(c10::TensorImpl* out, bool is_fresh);
  [[gnu::always_inline]] void hold_storages(const Needs& needs, bool is_fresh);
  /// Holds the objects that `added`, the last request, needs.
  void hold(const Needs& needs, const Request& added, std::uint64_t elems);
  void note_written(const c10::StorageImpl* storage);
  /// Nothing must be done before `next` is appended.
  bool is_ready_for(const Needs& next, const Site& site) {
    // Each site has its own slabs.
    return batch_.site.slabs == site.slabs &&
           (C10_LIKELY(is_early_for(1)) || !is_due_before(next, 1));
  }
  /// Nothing has batch_ started before `count` more.
  bool is_early_for(std::size_t count) const noexcept {
    return batch_.requests.size() + count <= std::min(capacity(), due_) &&
           batch_.elems < kChunkElems &&
           !start_is_wanted_.load(std::memory_order_relaxed);
  }
  /// Hands batch_ to the workers as running_. `in_background` means that the
  /// caller continues meanwhile.
  void start(std::string& error, bool in_background, const Cause& cause);
  /// Takes the values of batch_ that the host knows, before it is started.
  void follow();
  /// Returns the number of requests after which the pending ones are started.
  std::size_t chunk() const;
  bool has_starter(const Site& site);
  /// Hands running_ over.
  std::string run();
  void wait_for_external(std::string& error);  // under mutex_
  /// Waits for running_ where results must be ready, on the CPU. The caller
  /// releases the finished batch without the lock, because that may call
  /// anything.
  Batch finish(std::string& error);
  /// Returns a spare batch, or a new one.
  Batch take_spare();
  /// Starts the next chunk. The previous chunk has finished, usually long ago.
  Batch start_chunk(std::string& error, const Cause& cause);
  /// finish(), start() and finish().
  Done run_all(std::string& error, const Cause& cause);
  /// Returns whether batch_ is started before `next` is added, and `count - 1`
  /// more. Notes how long it is when a start is first found to be wanted.
  bool is_due_before(const Needs& next, std::size_t count);
  void start_now();
  void release(Batch batch);
  void release_all(Done done, bool unmarks);

  PatientMutex mutex_;
  Batch batch_;    // under mutex_
  Batch running_;  // under mutex_
  // Their memory is used again: one runs and one is released while one fills.
  std::vector<Batch> spares_;  // empty; under mutex_
  // The last results, weak, whose marks go when nothing is pending any more.
  // Others lose theirs when an operator meets them: to hold all would keep
  // their memory from being used again at once.
  std::array<c10::TensorImpl*, kRecent> recent_{};  // under mutex_
  std::size_t next_recent_ = 0;  // since a flush; under mutex_
  Counters counters_;            // under mutex_
  std::atomic<std::uint64_t> fallbacks_{0};
  std::atomic<std::uint64_t> left_{0};
  std::atomic<std::int64_t> corrections_{0};
  std::atomic<std::size_t> count_{0};  // batch_ and running_
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<bool> start_is_wanted_{false};
  std::atomic<std::uint32_t> own_{0};    // not awaited, see note_external()
  std::string late_error_;               // under mutex_
  std::size_t due_ = kChunk;             // requests of batch_; under mutex_
  std::atomic<bool> writes_old_{false};  // see writes()
  // The last ones were written first. Under mutex_.
  std::vector<const c10::StorageImpl*> written_;
  const c10::StorageImpl* last_written_ = nullptr;  // of them; under mutex_
  std::atomic<bool> holds_much_{false};             // see start_if_large()
  // Written under mutex_, and set under the GIL, under which it is asked.
  std::atomic<bool> holds_objects_{false};
  Followed followed_;                 // under mutex_
  bool timer_sleeps_ = false;         // under mutex_
  bool uses_starter_ = true;          // under mutex_
  std::string start_error_;           // of the starter's job, until it ended
  std::unique_ptr<Starter> starter_;  // under mutex_
};

extern Pending pending;

template <typename Write>
bool Pending::add_now(const Needs& needs, const Site& site,
                      const Write& write) {
  const std::lock_guard lock(mutex_);
  if (C10_UNLIKELY(!is_ready_for(needs, site))) return false;
  // A copy of it takes half the time of a new one, because compilers clear so
  // many bytes by an instruction that starts slowly
  // (docs/lab/torch_operation.md).
  static constexpr Request kBlank{};
  batch_.requests.push_back(kBlank);
  Request& request = batch_.requests.back();
  write(request);
  hold(needs, request, request.elems);
  return true;
}

}  // namespace gpuos::bridge
