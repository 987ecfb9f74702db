#pragma once

#include <cstdint>
#include <string>

namespace gpuos {

/// A snapshot of one runtime.
struct Stats {
  std::string backend;
  std::string device;            // name of the GPU or processor
  std::string residency;         // "auto", "resident" or "burst"
  std::string residency_reason;  // why the workers stay or do not, in words
  std::string worker_image;      // "embedded", "ptx", "nvrtc" or "host"
  bool is_resident = false;      // workers stay at this moment
  bool is_dead = false;
  std::uint32_t workers = 0;
  std::uint32_t threads_per_worker = 0;
  std::uint32_t registers_per_thread = 0;  // the operators' budget
  std::uint32_t stack_bytes_per_thread = 0;
  std::uint64_t tasks_submitted = 0;  // tiles of large tasks count
  std::uint64_t tasks_completed = 0;  // as of the last look at the queue
  std::uint64_t batches_submitted = 0;
  std::uint64_t tasks_ordered = 0;  // had to wait for an earlier task
  std::uint64_t tasks_chained = 0;  // of these: one worker runs them in a row
  std::uint64_t chains = 0;         // such rows
  std::uint64_t bursts = 0;
  std::uint64_t residencies = 0;  // launches of workers that stay
  std::uint64_t parks = 0;
  std::uint64_t injections = 0;  // operators loaded since the start
  std::uint64_t unloads = 0;
  std::uint64_t upgrades = 0;  // tiered operators that run optimised code now
  std::uint64_t programs = 0;  // different ones that were called
  std::uint64_t program_calls = 0;
  std::uint64_t programs_compiled = 0;  // passes of programs that run compiled
  std::uint64_t programs_failed = 0;    // passes that stay interpreted
  std::uint64_t programs_waiting = 0;   // passes that are to be compiled, now
  std::uint64_t allocations = 0;        // pieces of memory that were asked for
  double last_pause_us = 0;             // queue stood still for a load
  double last_compile_ms = 0;
};

}  // namespace gpuos
