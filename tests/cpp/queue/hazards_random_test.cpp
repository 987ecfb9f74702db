// Random accesses against a model of the hazard table.
#include <random>
#include <set>

#include "hazards_support.h"

namespace gpuos {
namespace {

/// Compares the table with a model that remembers everything. Each omitted
/// predecessor must follow from a named one.
class RandomHazards : public HazardTableTest,
                      public testing::WithParamInterface<unsigned> {
 protected:
  struct Task {
    std::vector<Access> accesses;
    std::set<std::uint64_t> before;  // all tasks that end before it begins
    bool is_done = false;
  };

  static bool conflict(const Task& a, const Task& b) {
    for (const Access& x : a.accesses) {
      for (const Access& y : b.accesses) {
        if (x.low < y.high && y.low < x.high && (x.writes || y.writes))
          return true;
      }
    }
    return false;
  }

  Task random_task() {
    // Several spreads: one page, many pages, ranges too large to count.
    static constexpr std::uint64_t kSpans[] = {512, 1 << 16, 1 << 22};
    const std::uint64_t span = kSpans[random_() % 3];
    Task task;
    const std::size_t count = 1 + random_() % 4;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t low = random_() % span;
      const std::uint64_t bytes = 1 + random_() % (span / 4);
      task.accesses.push_back({low, low + bytes, random_() % 3 == 0});
    }
    return task;
  }

  // Makes accesses as programs do: some arrays are reused, and some are parts
  // of others.
  Task task_of_arrays() {
    static constexpr std::uint64_t kArrays = 24, kBytes = 4096;
    Task task;
    const std::size_t count = 1 + random_() % 3;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t array = random_() % kArrays;
      const std::uint64_t low = kBytes * array + (array % 5 == 0 ? 512 : 0);
      // In some streams the last arrays overlap partly.
      const bool is_part = GetParam() % 3 == 0 && array % 7 == 0;
      const std::uint64_t bytes = is_part ? kBytes + kBytes / 2 : kBytes - 1024;
      task.accesses.push_back({low, low + bytes, random_() % 4 == 0});
    }
    return task;
  }

  void order(Task& task, std::uint64_t earlier) {
    if (!task.before.insert(earlier).second) return;
    task.before.insert(tasks_[earlier].before.begin(),
                       tasks_[earlier].before.end());
  }

  void finish_some() {
    for (std::uint64_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].is_done || random_() % 3 != 0) continue;
      const auto& before = tasks_[i].before;
      if (std::all_of(before.begin(), before.end(),
                      [&](std::uint64_t b) { return tasks_[b].is_done; })) {
        tasks_[i].is_done = true;
        finish(i);
      }
    }
  }

  std::mt19937_64 random_{GetParam()};
  std::vector<Task> tasks_;
};

TEST_P(RandomHazards, EveryConflictingPairIsOrdered) {
  for (int step = 0; step < 600; ++step) {
    if (random_() % 8 == 0) finish_some();
    if (random_() % 3 == 0) prune();
    Task task = GetParam() % 2 == 0 && random_() % 16 != 0 ? task_of_arrays()
                                                           : random_task();
    auto found = table_.find(task.accesses);
    while (found.overflow) {
      // The runtime also waits and then looks again.
      finish_some();
      prune();
      found = table_.find(task.accesses);
    }
    for (const BatchRef& batch : found.view()) order(task, batch.begin);
    for (std::uint64_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].is_done || !conflict(tasks_[i], task)) continue;
      ASSERT_TRUE(task.before.contains(i))
          << "task " << tasks_.size() << " may overtake task " << i;
    }
    for (const BatchRef& batch : found.view())
      EXPECT_TRUE(conflict(tasks_[batch.begin], task)) << "a wait for nothing";
    // Sometimes several batches of one group, which do not wait for each other.
    const std::uint64_t group = tasks_.size();
    for (auto left = random_() % 4 == 0 ? 1 + random_() % 3 : 1; left > 0;
         --left) {
      const std::uint64_t begin = *ring_.open_batch(1);
      ASSERT_EQ(begin, tasks_.size());
      table_.add(task.accesses, {0, begin, nullptr}, group);
      tasks_.push_back(task);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomHazards, testing::Range(1u, 41u));

}  // namespace
}  // namespace gpuos
