#include "loops.h"

#include <array>
#include <string>
#include <utility>

#include "device.h"
#include "timing.h"

namespace gpuos::bench {
namespace {

Ticket submit_one(Rig& rig, std::size_t task, std::int64_t elems) {
  const auto [a, b, out] = rig.views(task, elems);
  return rig.runtime().submit(rig.add(), {a, b}, out);
}

}  // namespace

std::vector<double> bulk_ns(Rig& rig, std::size_t tasks, std::int64_t elems,
                            int calls, int reps) {
  const ManyTasks many = rig.many(tasks, elems);
  const double all = static_cast<double>(tasks) * calls;
  return repeat(reps, [&] {
    const auto start = Clock::now();
    Ticket last;
    // Batches write the same buffers, so the last batch ends last.
    for (int i = 0; i < calls; ++i)
      last = rig.runtime().submit_many(rig.add(), many);
    rig.wait(last);
    return 1e3 * us_since(start) / all;
  });
}

std::vector<double> round_trip_us(Rig& rig, std::int64_t elems, int reps,
                                  int warm_up) {
  return each_us(reps, warm_up, [&](std::size_t task) {
    rig.wait(submit_one(rig, task, elems));
  });
}

std::vector<double> flush_us(Rig& rig, std::size_t tasks, std::int64_t elems,
                             int count, int reps) {
  BareDevice device(rig.runtime().options().device);
  const Stream stream(device.stream());
  std::vector<ManyTasks> flushes;
  rig.many(rig.sets() + tasks, elems);  // so pointers stay valid
  for (std::size_t first = 0; first < rig.sets(); first += tasks)
    flushes.push_back(rig.many(tasks, elems, first));
  auto times = repeat(reps, [&] {
    const auto start = Clock::now();
    Ticket last;
    for (int i = 0; i < count; ++i)
      last = rig.runtime().submit_many(
          rig.add(), flushes[static_cast<std::size_t>(i) % flushes.size()],
          stream);
    rig.wait(last);
    return us_since(start) / count;
  });
  rig.synchronize();  // before the stream ends
  return times;
}

Times chain_ns(Rig& rig, std::size_t links, std::int64_t elems, int reps) {
  Runtime& runtime = rig.runtime();
  const auto [step, unused, sum] = rig.views(0, elems);
  const auto size = static_cast<std::size_t>(elems);
  const std::size_t bytes = size * sizeof(float);
  const std::vector<float> zeros(size);
  std::vector<float> steps(size);
  runtime.copy_to_host(steps.data(), step.data, bytes);
  std::vector<float> expected(size);
  for (std::size_t link = 0; link < links; ++link)
    for (std::size_t i = 0; i < size; ++i) expected[i] += steps[i];

  Times times;
  std::uint64_t wrong = 0;
  std::vector<float> got(size);
  const auto per_link = 1e3 / static_cast<double>(links);
  const auto each = repeat(reps, [&] {
    runtime.copy_to_device(sum.data, zeros.data(), bytes);
    const auto start = Clock::now();
    Ticket last;
    for (std::size_t link = 0; link < links; ++link)
      last = runtime.submit(rig.add(), {sum, step}, sum);
    const double submitted = us_since(start) * per_link;
    rig.wait(last);
    const double done = us_since(start) * per_link;
    runtime.copy_to_host(got.data(), sum.data, bytes);
    for (std::size_t i = 0; i < size; ++i)
      wrong += got[i] != expected[i] ? 1 : 0;
    return std::pair(submitted, done);
  });
  check_right(wrong, "dependent adds");
  for (const auto& [submitted, done] : each) {
    times["submit_ns"].push_back(submitted);
    times["link_ns"].push_back(done);
  }
  return times;
}

Times define_ms(Rig& rig, int reps) {
  // The text contains the time, so no disk cache has it.
  const auto moment = Clock::now().time_since_epoch().count() % 1'000'000;
  Runtime& runtime = rig.runtime();
  constexpr int kWarmUp = 2;
  Times times;
  // It computes x + y, by different operations for each number below 64.
  const auto expression = [](int text) {
    OperatorDefinition definition;
    definition.name = "bench_expression";
    definition.expression = "o = (x + y)";
    for (int digit = 0; digit < 3; ++digit, text /= 4)
      definition.expression +=
          std::array{" + 0", " - 0", " * 1", " / 1"}[text % 4];
    return definition;
  };
  const auto whole = [&](int text) {
    OperatorDefinition definition;
    definition.name = "bench_whole";
    // The constant is too small to change x + y.
    definition.source =
        "#include \"gpuos/map.h\"\nGPUOS_OPERATOR(bench_whole) {\n"
        "  gpuos::map<float>(task.pointer<float>(0), task.count, lane,\n"
        "      [](const float* x) { return x[0] + x[1] + " +
        std::to_string(text) + "." + std::to_string(moment) +
        "e-30f; },\n      task.pointer<const float>(1), "
        "task.pointer<const float>(2));\n}\n";
    definition.inputs = 2;
    return definition;
  };
  const auto [a, b, out] = rig.views(0, 64);
  double submitted_us = 0;
  const auto define_and_run = [&](const OperatorDefinition& definition) {
    rig.poison();
    const auto start = Clock::now();
    const Operator op = runtime.define(definition);
    const Ticket ticket = runtime.submit(op, {a, b}, out);
    submitted_us = us_since(start);
    rig.wait(ticket);
    const double ms = us_since(start) / 1e3;
    check_right(rig.count_wrong(1, 64), definition.name);
    runtime.undefine(op);
    rig.synchronize();
    return ms;
  };
  // A separate loop, because NVRTC evicts all data from a processor's caches.
  for (int i = -kWarmUp; i < reps; ++i) {
    const double us = 1e3 * define_and_run(expression(kWarmUp + i));
    if (i < 0) continue;
    times["expression_us"].push_back(us);
    times["submitted_us"].push_back(submitted_us);
  }
  for (int i = -kWarmUp; i < reps; ++i) {
    const OperatorDefinition one = whole(i);
    const double cold_ms = define_and_run(one);
    const double again_ms = define_and_run(one);
    if (i < 0) continue;
    times["cold_ms"].push_back(cold_ms);
    times["again_ms"].push_back(again_ms);
  }
  return times;
}

}  // namespace gpuos::bench
