#include "cuda/watchdog.h"

#include <set>

#include "gpuos/error.h"

namespace gpuos::cu {

void Health::die(std::string operator_name, std::string message) {
  const std::lock_guard lock(mutex_);
  if (is_dead_.load()) return;
  operator_name_ = std::move(operator_name);
  message_ = std::move(message);
  is_dead_.store(true);
}

void Health::check() const {
  if (!is_dead()) return;
  const std::lock_guard lock(mutex_);
  throw TaskError(operator_name_, message_);
}

void Watchdog::add(std::uint32_t ring, std::uint64_t position,
                   std::uint64_t batch_begin,
                   const std::string& operator_name) {
  forget_done();
  tasks_.push_back({ring, position, batch_begin, operator_name, std::nullopt});
}

bool Watchdog::is_done(const Task& task) const {
  return rings_[task.ring]->is_done(task.batch_begin);
}

void Watchdog::forget_done() {
  while (!tasks_.empty() && is_done(tasks_.front())) tasks_.pop_front();
}

std::optional<std::string> Watchdog::find_stuck() {
  forget_done();
  const auto now = std::chrono::steady_clock::now();
  for (Task& task : tasks_) {
    if (is_done(task) || !rings_[task.ring]->is_started(task.position))
      continue;
    if (!task.seen_running)
      task.seen_running = now;
    else if (now - *task.seen_running > limit_)
      return task.operator_name;
  }
  return std::nullopt;
}

std::string Watchdog::suspects() {
  std::set<std::string> running;
  std::set<std::string> pending;
  for (const Task& task : tasks_) {
    if (is_done(task)) continue;
    pending.insert(task.operator_name);
    if (rings_[task.ring]->is_started(task.position))
      running.insert(task.operator_name);
  }
  std::string names;
  for (const std::string& name : running.empty() ? pending : running)
    names += (names.empty() ? "" : " or ") + name;
  return names;
}

}  // namespace gpuos::cu
