#include "cuda/watchdog.h"

#include <algorithm>
#include <set>

#include "gpuos/error.h"

namespace gpuos::cu {
namespace {

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : " or ") + name;
  return text;
}

}  // namespace

void Health::die(std::string operator_name, std::string message) {
  const std::lock_guard lock(mutex_);
  if (is_dead_.load()) return;
  operator_name_ = std::move(operator_name);
  message_ = std::move(message);
  is_dead_.store(true);
}

bool Health::names_operator() const {
  const std::lock_guard lock(mutex_);
  return !operator_name_.empty();
}

void Health::check() const {
  if (!is_dead()) return;
  const std::lock_guard lock(mutex_);
  throw TaskError(operator_name_, message_);
}

void Watchdog::add(std::uint32_t ring, std::uint64_t position,
                   std::uint32_t tasks, std::uint64_t batch_begin,
                   const std::string& operator_name) {
  const std::lock_guard lock(mutex_);
  forget_done();
  pending_[ring].push_back({position, batch_begin, tasks, operator_name});
}

bool Watchdog::is_empty() const {
  const std::lock_guard lock(mutex_);
  return std::all_of(pending_.begin(), pending_.end(),
                     [](const Pending& tasks) { return tasks.empty(); });
}

void Watchdog::forget_done() {
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    Pending& tasks = pending_[i];
    while (!tasks.empty() && rings_[i]->is_done(tasks.front().batch_begin))
      tasks.pop_front();
  }
}

std::uint32_t Watchdog::started(const Ring& ring, const Tasks& tasks) const {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < tasks.count; ++i)
    count += ring.is_started(tasks.position + i) ? 1 : 0;
  return count;
}

std::optional<std::string> Watchdog::find_stuck() {
  const std::lock_guard lock(mutex_);
  forget_done();
  const auto now = Clock::now();
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    const Ring& ring = *rings_[i];
    Pending& pending = pending_[i];
    for (auto first = pending.begin(); first != pending.end();) {
      const auto end = std::find_if(first, pending.end(), [&](const Tasks& t) {
        return t.batch_begin != first->batch_begin;
      });
      std::uint32_t count = 0;
      std::set<std::string> names;
      for (auto it = first; it != end; ++it) {
        const std::uint32_t more = started(ring, *it);
        if (more != 0) names.insert(it->operator_name);
        count += more;
      }
      // A long batch is not stuck as long as its tasks begin one by one.
      if (count != first->seen_started) {
        first->seen_started = count;
        first->changed = now;
      } else if (count != 0 && now - first->changed > limit() &&
                 !ring.is_done(first->batch_begin)) {
        return joined(names);
      }
      first = end;
    }
  }
  return std::nullopt;
}

std::string Watchdog::suspects() const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> running;
  std::set<std::string> pending;
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    for (const Tasks& tasks : pending_[i]) {
      if (rings_[i]->is_done(tasks.batch_begin)) continue;
      pending.insert(tasks.operator_name);
      if (started(*rings_[i], tasks) != 0) running.insert(tasks.operator_name);
    }
  }
  return joined(running.empty() ? pending : running);
}

}  // namespace gpuos::cu
