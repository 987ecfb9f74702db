#include "loops.h"

#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "device.h"
#include "timing.h"

namespace gpuos::bench {
namespace {

/// Calls `submit` on its own thread until stop, an error or kDeadline.
class Producer {
 public:
  template <typename F>
  explicit Producer(F submit)
      : thread_([this, submit = std::move(submit)]() mutable {
          const auto end = Clock::now() + kDeadline;
          try {
            while (!stops_.load(std::memory_order_relaxed) &&
                   Clock::now() < end)
              submit();
          } catch (...) {
            failure_ = std::current_exception();
          }
        }) {}
  ~Producer() {
    stops_.store(true);
    if (thread_.joinable()) thread_.join();
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  /// Throws the exception that `submit` threw.
  void stop() {
    stops_.store(true);
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::atomic<bool> stops_{false};
  std::exception_ptr failure_;
  std::thread thread_;
};

// Groups of buffers take turns, so a batch seldom waits for an earlier batch
// with the same buffers.
constexpr std::size_t kGroups = 16;
constexpr std::size_t kTasks = 1024;
constexpr std::int64_t kElems = 256;
constexpr std::size_t kGroupElems = kTasks * kElems;

class CountingTasks {
 public:
  explicit CountingTasks(Rig& rig) : rig_(rig) {
    const std::size_t bytes = kGroups * kGroupElems * sizeof(std::int32_t);
    buffer_ = rig.runtime().allocate(bytes);
    const std::vector<std::int32_t> zeros(kGroups * kGroupElems);
    rig.runtime().copy_to_device(buffer_.get(), zeros.data(), bytes);
    op_ = rig.runtime().define(definition(0));
    OperatorDefinition other = definition(0);
    other.name = "bench_other";
    other.source.replace(other.source.find("bench_count"),
                         std::string_view("bench_count").size(), other.name);
    other_ = rig.runtime().define(other);
    alias_ = rig.runtime().alias("bench_alias", op_);
  }
  ~CountingTasks() {
    try {
      for (const Operator& op : {alias_.as_operator(), op_, other_})
        rig_.runtime().undefine(op);
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // The runtime is dead, and the measurement has reported it.
    }
  }
  CountingTasks(const CountingTasks&) = delete;
  CountingTasks& operator=(const CountingTasks&) = delete;

  /// Returns a body that adds 1. Its text differs for each number, but counts
  /// are never negative, so the result is equal.
  OperatorDefinition definition(int number) const {
    OperatorDefinition definition;
    definition.name = "bench_count";
    definition.source =
        "#include \"gpuos/map.h\"\nGPUOS_OPERATOR(bench_count) {\n"
        "  gpuos::map<int>(task.pointer<int>(0), task.count, lane,\n"
        "      [](const int* x) { return x[0] < " +
        std::to_string(-1 - number) +
        " ? x[0] : x[0] + 1; },\n      task.pointer<const int>(1));\n}\n";
    definition.dtypes = {DType::Int32};
    definition.inputs = 1;
    return definition;
  }
  void submit_next() {
    const std::size_t group = rounds_ % kGroups;
    ManyTasks many;
    many.tasks = kTasks;
    many.dtype = DType::Int32;
    many.size = kElems;
    many.out.base = reinterpret_cast<std::uint64_t>(buffer_.get()) +
                    group * kGroupElems * sizeof(std::int32_t);
    many.out.step_bytes = kElems * sizeof(std::int32_t);
    many.inputs = {many.out};
    // Every other batch uses the alias, so that its target runs.
    rig_.runtime().submit_many(rounds_ % 2 == 0 ? op_ : alias_.as_operator(),
                               many);
    ++rounds_;
    tasks_.store(rounds_ * kTasks, std::memory_order_relaxed);
  }
  const Operator& op() const noexcept { return op_; }
  void switch_alias() {
    is_other_ = !is_other_;
    alias_.switch_to(is_other_ ? other_ : op_);
  }
  std::uint64_t tasks() const noexcept { return tasks_.load(); }

  /// Stores "lost" and "wrong".
  void count(Times& report) {
    double lost = 0;
    double wrong = 0;
    std::vector<std::int32_t> got(kGroups * kGroupElems);
    rig_.runtime().copy_to_host(got.data(), buffer_.get(),
                                got.size() * sizeof(std::int32_t));
    for (std::size_t group = 0; group < kGroups; ++group) {
      const auto expected = static_cast<std::int32_t>(
          rounds_ / kGroups + (group < rounds_ % kGroups ? 1 : 0));
      for (std::size_t i = 0; i < kGroupElems; ++i) {
        const std::int32_t value = got[group * kGroupElems + i];
        wrong += value != expected ? 1 : 0;
        if (i % kElems == 0 && value < expected) lost += expected - value;
      }
    }
    report["lost"] = {lost};
    report["wrong"] = {wrong};
  }

 private:
  Rig& rig_;
  Buffer buffer_;
  Operator op_, other_;
  Alias alias_;
  bool is_other_ = false;
  std::uint64_t rounds_ = 0;  // the producer writes it until it stops
  std::atomic<std::uint64_t> tasks_{0};
};

}  // namespace

Times swap_under_load(Rig& rig, int swaps, std::uint64_t min_tasks) {
  CountingTasks tasks(rig);
  Times report;
  const auto start = Clock::now();
  const auto end = start + kDeadline;
  Producer producer([&] { tasks.submit_next(); });
  for (int i = 0; i < swaps && Clock::now() < end; ++i) {
    const auto swap_start = Clock::now();
    rig.runtime().replace(tasks.op(), tasks.definition(i + 1));
    report["swap_ms"].push_back(us_since(swap_start) / 1e3);
    const Stats stats = rig.runtime().stats();
    report["pause_us"].push_back(stats.last_pause_us);
    report["load_us"].push_back(stats.last_load_us);
    auto since = Clock::now();
    rig.runtime().rollback(tasks.op());
    report["rollback_us"].push_back(us_since(since));
    since = Clock::now();
    tasks.switch_alias();
    report["switch_us"].push_back(us_since(since));
    report["loads"].push_back(static_cast<double>(
        rig.runtime().stats().injections - stats.injections));
  }
  while (tasks.tasks() < min_tasks && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  producer.stop();
  rig.synchronize();
  report["seconds"] = {us_since(start) / 1e6};
  report["tasks"] = {static_cast<double>(tasks.tasks())};
  tasks.count(report);
  return report;
}

Times synchronize_beside(Rig& rig, int idle_reps, int saturated_reps) {
  constexpr std::int64_t kAddElems = 1024;
  BareDevice device(rig.runtime().options().device);
  const auto sync_us = [&] {
    const auto start = Clock::now();
    device.synchronize();
    return us_since(start);
  };
  Times times;
  for (int i = 0; i < idle_reps; ++i) {
    round_trip_us(rig, kAddElems, 1, 0);
    times["idle_us"].push_back(sync_us());
  }
  const ManyTasks many = rig.many(4096, kAddElems);
  Producer producer([&] { rig.runtime().submit_many(rig.add(), many); });
  for (int i = 0; i < saturated_reps; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    times["saturated_us"].push_back(sync_us());
  }
  producer.stop();
  rig.synchronize();
  return times;
}

}  // namespace gpuos::bench
