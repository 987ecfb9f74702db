// Calls of programs on the arrays of a world, task by task, without a runtime.
#pragma once

#include <bit>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "device/operator.h"
#include "layout_worlds.h"
#include "program/calls/prepared.h"
#include "queue/workers.h"

namespace gpuos::worlds {

/// `lowest`: where the element with the lowest address is.
inline TensorView view_of(const Place& place, std::int64_t* lowest) {
  TensorView view;
  view.data = lowest + place.first;
  view.dtype = DType::Int64;
  view.dims = static_cast<std::uint8_t>(place.rank);
  view.has_strides = true;
  for (int d = 0; d < place.rank; ++d) {
    view.shape[d] = place.sizes[d];
    view.strides[d] = place.strides[d];
  }
  return view;
}

class Calls {
 public:
  using RunTask =
      std::function<void(const program::Pass&, const Task&, const Lane&)>;

  explicit Calls(const program::Workers& workers) : workers_(workers) {}

  /// Runs the tasks of one call. A pass without reductions, and one of many
  /// rows, is cut into one to three tiles.
  void run(const World& world, Arrays& arrays, const RunTask& run_task) {
    const Known& known = known_of(world.form);
    std::vector<TensorView> inputs{view_of(world.x, arrays.x.data())};
    if (world.form.kind == Kind::Add)
      inputs.push_back(view_of(world.y, arrays.y.data()));
    const std::vector<TensorView> outputs{
        view_of(world.out, arrays.out.data())};
    program::prepare(*known.program.plan(), known.codes, {inputs, outputs},
                     workers_, keep_table, prepared_);
    std::vector<std::vector<std::uint64_t>> temporaries;
    for (const TensorView& view : prepared_.temporaries)
      temporaries.emplace_back(static_cast<std::size_t>(view.size()));
    for (const program::PreparedPass& pass : prepared_.passes) {
      for (const program::TaskModel& model : pass.tasks[program::Load::Busy]) {
        std::array<std::uint64_t, abi::kMaxArgs> args = model.args;
        args[program::TaskModel::kText] =
            reinterpret_cast<std::uint64_t>(pass.pass->text.data());
        std::size_t arg = program::TaskModel::kAddresses;
        for (const program::PreparedAccess& access : pass.accesses) {
          const void* data =
              access.buffer.kind == program::Buffer::Kind::Input
                  ? inputs[access.buffer.index].data
              : access.buffer.kind == program::Buffer::Kind::Output
                  ? outputs[access.buffer.index].data
                  : temporaries[access.buffer.index].data();
          args[arg++] += reinterpret_cast<std::uint64_t>(data);
        }
        std::array<u64, abi::kMaxArgs> words;
        std::copy(args.begin(), args.end(), words.begin());
        const u32 tiles = 1 + turn_++ % 3;
        for (u32 tile = 0; tile < tiles; ++tile)
          run_task(*pass.pass,
                   {.args = words.data(),
                    .state = nullptr,
                    .count = static_cast<u32>(model.count)},
                   {tile, tiles});
      }
    }
  }

  std::size_t passes() const { return prepared_.passes.size(); }

 private:
  struct Known {
    Program program;
    std::vector<std::unique_ptr<program::PassCode>> all;
    program::PlanCode codes;

    void add(const program::Schedule& schedule,
             std::vector<program::PassCode*>& to) {
      for (const program::Pass& pass : schedule.passes) {
        all.push_back(std::make_unique<program::PassCode>());
        all.back()->cells =
            std::bit_cast<program::TextHeader>(pass.text[0]).cells;
        to.push_back(all.back().get());
      }
    }
  };

  const Known& known_of(const Form& form) {
    auto& known = known_[form];
    if (known == nullptr) {
      known = std::make_unique<Known>();
      known->program = program_of(form);
      known->add(known->program.plan()->fused, known->codes.fused);
      known->add(known->program.plan()->split, known->codes.split);
    }
    return *known;
  }

  static std::shared_ptr<void> keep_table(
      std::span<const std::uint64_t> table) {
    auto kept = std::make_shared<std::vector<std::uint64_t>>(table.begin(),
                                                             table.end());
    return {kept, kept->data()};
  }

  const program::Workers workers_;
  std::map<Form, std::unique_ptr<Known>> known_;
  program::Prepared prepared_;
  u32 turn_ = 0;
};

/// Runs a world. Returns whether its output is as expected and nothing else
/// changed.
inline bool is_right(Calls& calls, const World& world, Arrays& arrays,
                     const Calls::RunTask& run_task) {
  fill(world, arrays);
  const Guarded x = arrays.x, y = arrays.y;
  calls.run(world, arrays, run_task);
  return arrays.out == arrays.wanted && arrays.x == x && arrays.y == y;
}

/// Runs every world of `rank`, and compares it with the expected output.
/// Returns the number of worlds.
inline std::size_t expect_right(Calls& calls, int rank, unsigned every,
                                const Calls::RunTask& run_task) {
  Arrays arrays;
  std::size_t worlds = 0;
  std::size_t wrong = 0;
  each_world(rank, every, [&](const World& world) {
    ++worlds;
    if (is_right(calls, world, arrays, run_task) || ++wrong > 5) return;
    ADD_FAILURE() << to_string(world);
  });
  EXPECT_EQ(wrong, 0u) << "of " << worlds;
  return worlds;
}

}  // namespace gpuos::worlds
