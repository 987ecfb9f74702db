#pragma once

#include "gpuos/stats.h"
#include "pybind_objects.h"

namespace gpuos::python {

/// Every member by its name.
inline pybind11::dict stats_to_dict(const Stats& s) {
  pybind11::dict dict;
  dict["backend"] = s.backend;
  dict["device"] = s.device;
  dict["residency"] = s.residency;
  dict["residency_reason"] = s.residency_reason;
  dict["worker_image"] = s.worker_image;
  dict["is_resident"] = s.is_resident;
  dict["is_dead"] = s.is_dead;
  dict["workers"] = s.workers;
  dict["threads_per_worker"] = s.threads_per_worker;
  dict["registers_per_thread"] = s.registers_per_thread;
  dict["stack_bytes_per_thread"] = s.stack_bytes_per_thread;
  dict["tasks_submitted"] = s.tasks_submitted;
  dict["tasks_completed"] = s.tasks_completed;
  dict["batches_submitted"] = s.batches_submitted;
  dict["tasks_ordered"] = s.tasks_ordered;
  dict["tasks_chained"] = s.tasks_chained;
  dict["chains"] = s.chains;
  dict["bursts"] = s.bursts;
  dict["residencies"] = s.residencies;
  dict["parks"] = s.parks;
  dict["injections"] = s.injections;
  dict["unloads"] = s.unloads;
  dict["upgrades"] = s.upgrades;
  dict["programs"] = s.programs;
  dict["program_calls"] = s.program_calls;
  dict["programs_compiled"] = s.programs_compiled;
  dict["programs_failed"] = s.programs_failed;
  dict["programs_waiting"] = s.programs_waiting;
  dict["allocations"] = s.allocations;
  dict["last_pause_us"] = s.last_pause_us;
  dict["last_compile_ms"] = s.last_compile_ms;
  return dict;
}

}  // namespace gpuos::python
