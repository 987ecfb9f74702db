#include "submitter.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "concat.h"
#include "gpuos/error.h"
#include "task_writer.h"

namespace gpuos {
namespace {

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

/// Tiles begin at full cache lines of every dtype.
constexpr std::uint64_t kTileGranule = 128;

constexpr std::uint64_t kMaxPieceElems = std::uint64_t{1} << 31;

std::uint64_t tile_of(const Backend& backend, const Call& call,
                      std::uint32_t max_tiles) {
  if (!call.op->elementwise) return call.count;
  std::uint64_t elems = backend.tile_elems(call.count, size_of(call.dtype));
  // One tile for the pieces' rounding.
  max_tiles = std::min(max_tiles, abi::kMaxTiles) - 1;
  elems = std::max(elems, ceil_div(call.count, max_tiles));
  return ceil_div(elems, kTileGranule) * kTileGranule;
}

/// Written under the submit lock, read without it.
void count(std::atomic<std::uint64_t>& counter, std::uint64_t by) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by,
                std::memory_order_relaxed);
}

}  // namespace

Submitter::Submitter(Backend& backend, std::mutex& submit_mutex,
                     const RuntimeOptions& options, std::uint32_t runtime_id)
    : backend_(backend),
      mutex_(submit_mutex),
      timeout_(options.submit_timeout),
      runtime_id_(runtime_id) {
  for (const Ring* ring : backend.rings()) rings_.push_back(ring);
}

Ticket Submitter::submit(Call call, const Stream& stream) {
  if (call.count == 0) return {0, 0, 0, runtime_id_};
  const bool interleaves = backend_.interleaves_tiles();
  const std::uint64_t elem_bytes = size_of(call.dtype);
  const std::uint64_t tile = tile_of(backend_, call, rings_[0]->max_batch());
  // A descriptor counts in 32 bits, so a very large task is several pieces.
  const std::uint64_t piece = std::min(call.count, kMaxPieceElems);
  const auto tiles_of = [&](std::uint64_t elems) {
    return static_cast<std::uint32_t>(ceil_div(elems, tile));
  };
  const std::uint64_t rest = call.count % piece;
  const auto total = static_cast<std::uint32_t>(
      call.count / piece * tiles_of(piece) + tiles_of(rest));

  Plan plan;
  std::unique_lock lock(mutex_, std::defer_lock);
  const Place place = acquire(lock, call, stream, total, plan);
  Ring& ring = *backend_.rings()[plan.route.ring];
  std::uint64_t position = place.first;
  for (std::uint64_t done = 0; done < call.count; done += piece) {
    const std::uint64_t elems = std::min(piece, call.count - done);
    for (std::uint32_t t = 0; t < tiles_of(elems); ++t, ++position) {
      abi::Payload payload = payload_of(call, 0);
      u64* args = payload.flags & abi::kArgsInBlock
                      ? ring.arg_block(position).args
                      : payload.args;
      std::copy_n(call.args.begin(), call.arg_count, args);
      for (std::uint32_t k = 0; k < call.buffers; ++k)
        args[k] += done * elem_bytes;
      set_tile(payload, args, call.buffers, elem_bytes, elems, tile, t,
               tiles_of(elems), interleaves);
      write_task(ring, place, position, plan.after, payload);
    }
  }
  if (call.op->is_traced)
    backend_.watch(plan.route, place, total, call.op->name);
  count(tasks_, total);
  count(batches_, 1);
  backend_.publish(plan.route, place, total);
  return {place.batch_begin, place.first + total, plan.route.ring, runtime_id_};
}

Ticket Submitter::submit_many(Call call, const ManyTasks& many,
                              const Stream& stream) {
  if (call.count == 0) return {0, 0, 0, runtime_id_};
  const std::uint32_t max_batch = rings_[0]->max_batch();
  TaskWriter writer(call, many, tile_of(backend_, call, max_batch),
                    backend_.interleaves_tiles());
  std::uint64_t left = writer.descriptors();

  Plan plan;
  std::unique_lock lock(mutex_, std::defer_lock);
  auto tasks =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(left, max_batch));
  Place place = acquire(lock, call, stream, tasks, plan);
  const Ticket ticket{place.batch_begin, place.first + left, plan.route.ring,
                      runtime_id_};
  writer.use_operator_of(call);
  Ring& ring = *backend_.rings()[plan.route.ring];
  for (;;) {
    writer.write(ring, place, tasks, plan.after);
    if (call.op->is_traced)
      backend_.watch(plan.route, place, tasks, call.op->name);
    count(tasks_, tasks);
    count(batches_, 1);
    backend_.publish(plan.route, place, tasks);
    left -= tasks;
    if (left == 0) break;
    tasks =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(left, max_batch));
    place = acquire_next(call, tasks, plan, ticket.begin);
    // What the first chunk waited for may be out of this one's reach.
    if (plan.after && ring.is_done(*plan.after)) plan.after.reset();
  }
  if (stream.is_named) backend_.flush(&stream);
  return ticket;
}

Place Submitter::acquire_next(const Call& call, std::uint32_t tasks,
                              const Plan& plan, std::uint64_t group) {
  const Deadline deadline = std::chrono::steady_clock::now() + timeout_;
  const auto wait_for = [&](BatchRef batch) {
    backend_.ensure_running(batch);
    // `group` is where this submission's first batch began.
    if (!wait(batch, deadline))
      time_out(call, rings_[plan.route.ring]->head() - group);
    hazards_.prune(rings_);
  };
  while (!hazards_.has_room(call.access_count)) wait_for(hazards_.oldest());
  std::optional<Place> place;
  while (!(place = backend_.reserve(plan.route, tasks)))
    wait_for(oldest_of(plan.route.ring));
  hazards_.add(call.access_view(),
               {plan.route.ring, place->batch_begin, plan.route.stream}, group);
  return *place;
}

Place Submitter::acquire(std::unique_lock<std::mutex>& lock, Call& call,
                         const Stream& stream, std::uint32_t tasks,
                         Plan& plan) {
  std::optional<Deadline> deadline;
  // A copy: the table's entry may be another one when the lock is open.
  const auto wait_for = [&](BatchRef batch) {
    if (!deadline) deadline = std::chrono::steady_clock::now() + timeout_;
    wait_unlocked(lock, call, batch, *deadline);
  };
  for (;;) {
    lock.lock();
    if (is_closed_)
      throw QueueClosed(concat(call.op->name, ": the runtime is closed"));
    // What was read before the lock may be dropped by now.
    resolve(call);
    plan = Plan{backend_.route(stream), std::nullopt};
    check_memory(call);
    hazards_.prune(rings_);
    const auto conflicts = hazards_.find(call.access_view(), rings_);
    if (conflicts.count != 0) {
      Order order = backend_.order(plan.route, conflicts.view());
      if (conflicts.overflow && !order.wait_on_host)
        order.wait_on_host = conflicts.batches[conflicts.count - 1];
      if (order.wait_on_host) {
        wait_for(*order.wait_on_host);
        continue;
      }
      if (!join(order, plan)) {
        wait_for(oldest_of(plan.route.ring));
        continue;
      }
    }
    if (!hazards_.has_room(call.access_count)) {
      wait_for(hazards_.oldest());
      continue;
    }
    if (const auto place = backend_.reserve(plan.route, tasks)) {
      hazards_.add(call.access_view(),
                   {plan.route.ring, place->batch_begin, plan.route.stream});
      if (conflicts.count != 0) count(ordered_, 1);
      return *place;
    }
    wait_for(oldest_of(plan.route.ring));
  }
}

void Submitter::check_memory(const Call& call) {
  for (const Access& access : call.access_view()) {
    if (backend_.can_reach(access.low)) continue;
    throw InvalidArgument(concat(
        call.op->name,
        ": expected plain memory of the device, got the address ", access.low,
        "; copy it there with allocate() and copy_to_device()"));
  }
}

bool Submitter::join(const Order& order, Plan& plan) {
  if (order.count == 0) return true;
  plan.after = order.begins[0];
  if (order.count == 1) return true;
  const auto place = backend_.reserve(plan.route, 1);
  if (!place) return false;
  abi::Payload payload{};
  payload.flags = abi::kJoin;
  payload.parts = static_cast<std::uint16_t>(order.count);
  for (std::size_t i = 0; i < order.count; ++i) {
    const auto distance =
        static_cast<std::uint16_t>(place->first - order.begins[i]);
    std::memcpy(reinterpret_cast<char*>(payload.args) + i * sizeof(distance),
                &distance, sizeof(distance));
  }
  Ring& ring = *backend_.rings()[plan.route.ring];
  write_task(ring, *place, place->first, std::nullopt, payload);
  backend_.publish(plan.route, *place, 1);
  plan.after = place->first;
  return true;
}

void Submitter::wait_unlocked(std::unique_lock<std::mutex>& lock,
                              const Call& call, const BatchRef& batch,
                              Deadline deadline) {
  backend_.ensure_running(batch);
  lock.unlock();
  if (!wait(batch, deadline)) time_out(call, 0);
}

void Submitter::time_out(const Call& call, std::uint64_t queued) const {
  std::string message = concat(call.op->name, ": expected room in a queue of ",
                               rings_[0]->capacity(), " tasks within ",
                               timeout_.count(), " ms, there was none");
  if (queued != 0)
    message += concat("; the first ", queued,
                      " tasks of this call are queued and will run");
  throw Timeout(message);
}

bool Submitter::wait(const BatchRef& batch, Deadline deadline) {
  const Ring& ring = *rings_[batch.ring];
  for (std::uint64_t turn = 0; !ring.is_done(batch.begin); ++turn) {
    backend_.check_alive();
    // A look at the clock costs as much as several at the ring.
    if (turn % 16 == 0 && std::chrono::steady_clock::now() >= deadline)
      return ring.is_done(batch.begin);
    backend_.pause(batch, turn, deadline);
  }
  return true;
}

BatchRef Submitter::oldest_of(std::uint32_t ring) const {
  return {ring, rings_[ring]->completed(), nullptr};
}

void Submitter::flush(const Stream* only) {
  const std::lock_guard lock(mutex_);
  backend_.flush(only);
}

std::vector<std::uint64_t> Submitter::heads() {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> heads;
  for (const Ring* ring : rings_) heads.push_back(ring->head());
  return heads;
}

bool Submitter::is_past(std::span<const std::uint64_t> marks,
                        BatchRef* oldest) {
  const std::lock_guard lock(mutex_);
  const auto rings = backend_.rings();
  for (std::uint32_t i = 0; i < rings.size(); ++i) {
    rings[i]->advance();
    if (rings[i]->completed() < marks[i]) {
      if (oldest != nullptr) {
        *oldest = oldest_of(i);
        backend_.ensure_running(*oldest);
      }
      return false;
    }
  }
  return true;
}

HazardTable::Conflicts Submitter::pending(const Access& access) {
  const std::lock_guard lock(mutex_);
  hazards_.prune(rings_);
  const auto found = hazards_.find({&access, 1}, rings_);
  for (const BatchRef& batch : found.view()) backend_.ensure_running(batch);
  return found;
}

void Submitter::ensure_running(const BatchRef& batch) {
  const std::lock_guard lock(mutex_);
  backend_.ensure_running(batch);
}

void Submitter::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  backend_.flush(nullptr);
}

}  // namespace gpuos
