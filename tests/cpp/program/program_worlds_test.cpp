// The worlds of program_walks_test, run by runtimes: interpreted, and by code
// that their own compilers have made.
#include <map>

#include "contract.h"
#include "layout_calls.h"

namespace gpuos::worlds {
namespace {

class ProgramWorlds : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (IsSkipped()) return;
    // Only a test that asks for it compiles.
    restart({.backend = GetParam(), .compile_programs_after = 0});
    for (auto* array : {&x_, &y_, &out_})
      *array = std::make_unique<DeviceArray<std::int64_t>>(runtime(), kMost);
  }
  void TearDown() override {
    for (auto* array : {&x_, &y_, &out_}) array->reset();
  }

  /// Some of the worlds whose x has `rank` axes, of the forms that `wants`
  /// takes.
  template <typename F>
  void expect_right(int rank, unsigned every, F wants) {
    Arrays arrays;
    std::size_t worlds = 0, wrong = 0;
    each_world(rank, every, [&](const World& world) {
      if (!wants(world.form)) return;
      ++worlds;
      fill(world, arrays);
      run(world, arrays);
      if (arrays.out == arrays.wanted || ++wrong > 5) return;
      ADD_FAILURE() << to_string(world);
    });
    EXPECT_EQ(wrong, 0u) << "of " << worlds;
    EXPECT_GT(worlds, 0u);
  }

  const Program& program(const Form& form) {
    Program& known = programs_[form];
    if (known.is_empty()) known = program_of(form);
    return known;
  }

 private:
  static constexpr std::size_t kMost = 4096;
  using Array = std::unique_ptr<DeviceArray<std::int64_t>>;

  /// Where the lowest element is after the room before it.
  std::int64_t* put(Guarded& memory, const Array& array) {
    EXPECT_LE(memory.all().size(), kMost);
    runtime().copy_to_device(array->data(), memory.all().data(),
                             memory.all().size() * sizeof(std::int64_t));
    return array->data() + Guarded::kRoom;
  }

  void run(const World& world, Arrays& arrays) {
    std::vector<TensorView> inputs{view_of(world.x, put(arrays.x, x_))};
    if (world.form.kind == Kind::Add)
      inputs.push_back(view_of(world.y, put(arrays.y, y_)));
    const std::vector<TensorView> outputs{
        view_of(world.out, put(arrays.out, out_))};
    runtime().submit(program(world.form), inputs, outputs);
    runtime().copy_to_host(arrays.out.all().data(), out_->data(),
                           arrays.out.all().size() * sizeof(std::int64_t));
  }

  Array x_, y_, out_;
  std::map<Form, Program> programs_;
};
GPUOS_INSTANTIATE_CONTRACT(ProgramWorlds);

TEST_P(ProgramWorlds, OfFewAxesAreInterpretedRight) {
  const auto all = [](const Form&) { return true; };
  expect_right(0, 1, all);
  expect_right(1, 1, all);
  expect_right(2, 7, all);
}

TEST_P(ProgramWorlds, OfManyAxesAreInterpretedRight) {
  const auto all = [](const Form&) { return true; };
  expect_right(3, 67, all);
  expect_right(4, 1999, all);
}

// Passes of one structure share their code, so a few compilations do.
TEST_P(ProgramWorlds, OfThreeAxesAreCompiledRight) {
  const auto is_usual = [](const Form& form) {
    // There are rows and columns.
    unsigned reduced = 0, kept = 0;
    for (int d = 0; d < form.view_rank(); ++d) {
      if ((form.fresh >> d & 1) != 0) continue;
      ++((form.reduced >> d & 1) != 0 ? reduced : kept);
    }
    return form.kind != Kind::Argmax &&
           (form.kind == Kind::Add || (reduced != 0 && kept != 0));
  };
  for (const Form& form : forms_of(3)) {
    if (!is_usual(form)) continue;
    try {
      ASSERT_TRUE(runtime().compile(program(form), kCompileDeadline));
    } catch (const BackendUnavailable& error) {
      GTEST_SKIP() << error.what();
    }
  }
  expect_right(3, 31, is_usual);
  EXPECT_LE(runtime().stats().programs_compiled, 8u);
}

}  // namespace
}  // namespace gpuos::worlds
