#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "queue/backend.h"

namespace gpuos {

/// The common properties of the tasks of one submission.
struct Submission {
  Route route;
  std::optional<std::uint64_t> after;  // where the batch to wait for begins
  bool is_single = false;              // one task of one descriptor
  bool is_many = false;                // of submit_many()
  bool is_chained = false;             // it is a member of a chain already
};

/// Counts of one queue. They are written under the submit lock and read without
/// it.
struct SubmitCounts {
  std::atomic<std::uint64_t> tasks{0};
  std::atomic<std::uint64_t> batches{0};
  std::atomic<std::uint64_t> ordered{0};  // tasks that met others
  std::atomic<std::uint64_t> chained{0};
  std::atomic<std::uint64_t> chains{0};

  // One writer at a time needs no exchange.
  static void add(std::atomic<std::uint64_t>& count,
                  std::uint64_t by) noexcept {
    count.store(count.load(std::memory_order_relaxed) + by,
                std::memory_order_relaxed);
  }
};

}  // namespace gpuos
