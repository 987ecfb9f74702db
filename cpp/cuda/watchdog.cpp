#include "cuda/watchdog.h"

#include <algorithm>
#include <map>
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

/// Returns the first task of another batch than that of `first`.
template <typename Iterator>
Iterator end_of_batch(Iterator first, Iterator end) {
  return std::find_if(first, end, [=](const auto& tasks) {
    return tasks.batch_begin != first->batch_begin;
  });
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

void Watchdog::add(std::uint32_t ring, const Place& place, std::uint32_t tasks,
                   const std::string& operator_name) {
  const std::lock_guard lock(mutex_);
  forget_done();
  pending_[ring].push_back(
      {place.first, place.batch_begin, tasks, place.member, operator_name});
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

template <typename F>
void Watchdog::each_begun(const Ring& ring, Pending::const_iterator first,
                          Pending::const_iterator end, F f) {
  for (; first != end; ++first) {
    for (std::uint32_t i = 0; i < first->count; ++i) {
      const auto record = ring.started(first->position + i);
      if (record && *record >= first->member)
        f(first->position + i, first->operator_name);
    }
  }
}

std::optional<std::string> Watchdog::find_stuck() {
  const std::lock_guard lock(mutex_);
  forget_done();
  const auto now = Clock::now();
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    const Ring& ring = *rings_[i];
    Pending& pending = pending_[i];
    for (auto first = pending.begin(); first != pending.end();) {
      const auto end = end_of_batch(first, pending.end());
      std::uint32_t begun = 0;
      each_begun(ring, first, end, [&](auto, auto&) { ++begun; });
      // A long batch is not stuck as long as its tasks begin one by one.
      if (begun != first->seen_started) {
        first->seen_started = begun;
        first->changed = now;
      } else if (begun != 0 && now - first->changed > limit() &&
                 !ring.is_done(first->batch_begin)) {
        // Members of a chain run one after the other: the last one at a place.
        std::map<std::uint64_t, std::string> last;
        each_begun(ring, first, end, [&](auto position, const auto& name) {
          last[position] = name;
        });
        std::set<std::string> names;
        for (const auto& [position, name] : last) names.insert(name);
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
    for (auto first = pending_[i].begin(); first != pending_[i].end();) {
      const auto end = end_of_batch(first, pending_[i].end());
      if (!rings_[i]->is_done(first->batch_begin)) {
        each_begun(*rings_[i], first, end,
                   [&](auto, const auto& name) { running.insert(name); });
        for (; first != end; ++first) pending.insert(first->operator_name);
      }
      first = end;
    }
  }
  return joined(running.empty() ? pending : running);
}

}  // namespace gpuos::cu
