#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "deadlines.h"
#include "gpuos/error.h"
#include "host/host_backend.h"

namespace gpuos::host {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kAddF32 = 0;
constexpr std::uint32_t kFirstFreeSlot = 24;

inline RuntimeOptions options(std::uint32_t workers,
                              std::uint32_t capacity = 1024) {
  RuntimeOptions options;
  options.backend = "host";
  options.workers = workers;
  options.queue_capacity = capacity;
  return options;
}

/// A facade without checks and without a search for hazards.
class Driver {
 public:
  explicit Driver(const RuntimeOptions& options,
                  std::uint64_t first_position = 0)
      : backend(options, mutex, first_position) {}

  struct Job {
    std::uint32_t slot = kAddF32;
    u64 out = 0, a = 0, b = 0;
    std::uint32_t count = 1;
    u16 flags = 0;
  };

  template <typename T>
  static Job add(T* out, const T* a, const T* b, std::uint32_t count,
                 std::uint32_t slot = kAddF32) {
    return {slot, bits(out), bits(a), bits(b), count};
  }

  BatchRef submit(const std::vector<Job>& jobs, std::uint64_t after = kNone) {
    const std::lock_guard lock(mutex);
    const Place place = reserve(static_cast<std::uint32_t>(jobs.size()));
    std::uint64_t position = place.first;
    for (const Job& job : jobs) {
      if (job.flags & abi::kTraced) backend.watch({}, place, 1, "");
      abi::Payload payload = payload_of(place, position);
      payload.op = static_cast<u16>(job.slot);
      payload.flags = job.flags;
      payload.count = job.count;
      payload.args[0] = job.out;
      payload.args[1] = job.a;
      payload.args[2] = job.b;
      if (after != kNone)
        payload.wait_distance = static_cast<u16>(position - after);
      ring().write(position++, payload);
    }
    return publish(place, jobs.size());
  }

  BatchRef join(const std::vector<std::uint64_t>& begins) {
    const std::lock_guard lock(mutex);
    const Place place = reserve(1);
    abi::Payload payload = payload_of(place, place.first);
    payload.flags = abi::kJoin;
    payload.parts = static_cast<u16>(begins.size());
    u16 distances[abi::kMaxJoined] = {};
    for (std::size_t i = 0; i < begins.size(); ++i)
      distances[i] = static_cast<u16>(place.first - begins[i]);
    std::memcpy(payload.args, distances, sizeof(distances));
    ring().write(place.first, payload);
    return publish(place, 1);
  }

  bool wait(const BatchRef& batch,
            std::chrono::milliseconds timeout = kDeadline) {
    const Deadline deadline = Clock::now() + timeout;
    for (std::uint64_t turn = 0; !ring().is_done(batch.begin); ++turn) {
      backend.check_alive();
      if (Clock::now() >= deadline) return false;
      backend.pause(batch, ring().head(), turn, deadline);
    }
    backend.check(batch);
    return true;
  }

  void load(std::uint32_t slot, const OperatorDefinition& definition) {
    const OperatorBuild build{definition, slot};
    backend.load({&build, 1});
  }

  Ring& ring() { return *backend.traits().rings[0]; }

  static constexpr std::uint64_t kNone = ~0ull;
  QuickMutex mutex;
  HostBackend backend;

 private:
  template <typename T>
  static u64 bits(const T* p) {
    return reinterpret_cast<u64>(p);
  }

  Place reserve(std::uint32_t tasks) {
    for (std::uint64_t turn = 0;; ++turn) {
      if (const auto place = backend.reserve({}, tasks)) return *place;
      backend.pause({0, ring().completed(), nullptr}, ring().head(), turn,
                    Clock::now() + kDeadline);
    }
  }
  static abi::Payload payload_of(const Place& place, std::uint64_t position) {
    abi::Payload payload{};
    payload.batch_offset = static_cast<u16>(position - place.batch_begin);
    payload.batch_size = static_cast<u16>(place.batch_size);
    return payload;
  }
  BatchRef publish(const Place& place, std::size_t tasks) {
    backend.publish({}, place, static_cast<std::uint32_t>(tasks));
    return {0, place.batch_begin, nullptr};
  }
};

inline OperatorDefinition thrower() {
  return {.name = "thrower",
          .source =
              "#include <stdexcept>\n"
              "GPUOS_OPERATOR(thrower) {\n"
              "  throw std::runtime_error(\"no luck\");\n"
              "}"};
}

// Runs until the word that its first input points at is not zero.
inline OperatorDefinition waiter() {
  return {.name = "waiter",
          .source =
              "GPUOS_OPERATOR(waiter) {\n"
              "  auto* go = task.pointer<volatile int>(1);\n"
              "  while (*go == 0) {}\n"
              "}"};
}

}  // namespace gpuos::host
