#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "contract.h"
#include "errors.h"

namespace gpuos {
namespace {

using namespace std::chrono_literals;

class RuntimeErrors : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (!runtime_) return;
    x_.emplace(runtime(), 16, 1.0f);
    out_.emplace(runtime(), 16, 0.0f);
  }
  void TearDown() override {
    x_.reset();
    out_.reset();
  }

  TensorView x() const { return x_->view(); }
  TensorView out() const { return out_->view(); }

  /// Runs `wrong`, which must be refused with all of `words` in the message,
  /// before anything is queued.
  void expect_refused(const std::function<void()>& wrong,
                      const std::vector<std::string>& words) {
    const auto before = runtime().stats().tasks_submitted;
    const std::string error = thrown_by<InvalidArgument>([&] { wrong(); });
    for (const std::string& word : words) EXPECT_TRUE(says(error, word));
    EXPECT_EQ(runtime().stats().tasks_submitted, before);
  }

  /// Submits what must be refused.
  void refuse(const std::string& op, const std::vector<TensorView>& inputs,
              const TensorView& out, const std::vector<std::string>& words,
              const std::vector<Scalar>& params = {}) {
    expect_refused(
        [&] { runtime().submit(runtime().find(op), inputs, out, params); },
        words);
  }

  std::optional<DeviceArray<float>> x_, out_;
};

TEST_P(RuntimeErrors, UnknownOperatorNamesThoseThereAre) {
  expect_refused([&] { runtime().submit("ad", {x(), x()}, out()); },
                 {"ad", "add", "mul"});
  expect_refused([&] { runtime().submit(Operator(), {x(), x()}, out()); },
                 {"defined operator"});
}

TEST_P(RuntimeErrors, NullBuffer) {
  const TensorView null(static_cast<float*>(nullptr), 16);
  refuse("add", {null, x()}, out(), {"add", "input 0", "null"});
  refuse("add", {x(), x()}, null, {"out", "null"});
}

TEST_P(RuntimeErrors, MisalignedBuffer) {
  TensorView odd = x_->view(0, 8);
  odd.data = static_cast<char*>(odd.data) + 2;
  refuse("add", {x_->view(0, 8), odd}, out_->view(0, 8),
         {"input 1", "multiple of 4"});
  TensorView wide(reinterpret_cast<double*>(x_->data() + 1), 4);
  refuse("fill", {}, wide, {"out", "multiple of 8"}, {1});
}

TEST_P(RuntimeErrors, ShapeMismatchGivesBothShapes) {
  refuse("add", {x(), x_->view(0, 15)}, out(), {"input 1", "(15", "(16"});
  const TensorView square = shaped(x(), {4, 4});
  refuse("copy", {square}, out(), {"(4, 4)", "(16"});
}

TEST_P(RuntimeErrors, DtypeMismatchGivesBothDtypes) {
  const TensorView ints(reinterpret_cast<std::int32_t*>(x_->data()), 16);
  refuse("add", {x(), ints}, out(), {"int32", "float32"});
  const Operator op = runtime().define({.name = "floats",
                                        .expression = "o = x + 1",
                                        .dtypes = {DType::Float32}});
  expect_refused([&] { runtime().submit(op, {ints}, ints); },
                 {"float32", "int32"});
}

TEST_P(RuntimeErrors, BuiltInOperatorsHaveFourDtypes) {
  TensorView halves = x();
  halves.dtype = DType::Float16;
  refuse("add", {halves, halves}, halves,
         {"add", "float32 or float64 or int32 or int64", "float16"});
}

TEST_P(RuntimeErrors, StridedViews) {
  const TensorView columns = shaped(x(), {4, 4}, {1, 4});
  const TensorView square = shaped(x(), {4, 4}, {4, 1});
  const TensorView result = shaped(out(), {4, 4});
  refuse("copy", {columns}, result,
         {"copy: input 0", "contiguous", "strides (1, 4)"});
  refuse("copy", {square}, columns, {"copy: out", "contiguous"});
  EXPECT_NO_THROW(runtime().submit("copy", {square}, result));
}

TEST_P(RuntimeErrors, ReadOnlyOutput) {
  TensorView fixed = out();
  fixed.read_only = true;
  refuse("add", {x(), x()}, fixed, {"read-only"});
  TensorView input = x();
  input.read_only = true;
  EXPECT_NO_THROW(runtime().submit("add", {input, input}, out()));
}

TEST_P(RuntimeErrors, NegativeSize) {
  TensorView negative = out();
  negative.shape[0] = -3;
  refuse("add", {negative, negative}, negative, {"-3"});
}

TEST_P(RuntimeErrors, OutputThatOverlapsAnInputInPart) {
  refuse("copy", {x_->view(0, 8)}, x_->view(4, 8), {"overlaps", "input 0"});
}

TEST_P(RuntimeErrors, WrongNumberOfArguments) {
  refuse("add", {x()}, out(), {"2 inputs", "got 1"});
  refuse("fill", {}, out(), {"1 scalars", "got 0"});
  refuse("add", {x(), x()}, out(), {"0 scalars", "got 1"}, {1});
}

TEST_P(RuntimeErrors, ScalarThatDoesNotFit) {
  const TensorView ints(reinterpret_cast<std::int32_t*>(out_->data()), 16);
  refuse("fill", {}, ints, {"whole number", "1.5"}, {1.5});
}

TEST_P(RuntimeErrors, ManyTasksAreCheckedToo) {
  const Operator add = runtime().find("add");
  const auto refused = [&](auto change, const std::vector<std::string>& words) {
    ManyTasks many = many_of(2, 8, DType::Float32);
    many.out = out_->column(8);
    many.inputs = {x_->column(8), x_->column(8)};
    change(many);
    expect_refused([&] { runtime().submit_many(add, many); }, words);
  };
  refused([](ManyTasks& many) { many.inputs.pop_back(); }, {"2 inputs"});
  refused([](ManyTasks& many) { many.size = -1; }, {"-1"});
  refused([](ManyTasks& many) { many.inputs[1].base = 0; }, {"null"});
  refused([](ManyTasks& many) { many.inputs[0].base += 2; }, {"multiple of 4"});
  refused([](ManyTasks& many) { many.out.step_bytes = 30; }, {"multiple of 4"});
  static constexpr std::int64_t kSizes[] = {4, -7};
  refused([](ManyTasks& many) { many.sizes = kSizes; }, {"-7"});
  static constexpr std::uint64_t kAddresses[] = {4096, 0};
  refused([](ManyTasks& many) { many.inputs[0].addresses = kAddresses; },
          {"null"});
}

TEST_P(RuntimeErrors, BadDefinitions) {
  const auto define = [&](const OperatorDefinition& definition) {
    runtime().define(definition);
  };
  expect_refused([&] { define({.name = "9", .expression = "o = x"}); }, {"9"});
  expect_refused([&] { define({.name = "", .expression = "o = x"}); },
                 {"name"});
  expect_refused([&] { define({.name = "n"}); }, {"neither"});
  expect_refused(
      [&] { define({.name = "n", .expression = "o = x", .source = "y"}); },
      {"both"});
  expect_refused([&] { define({.name = "n", .expression = "o = x +* y"}); },
                 {"n"});
  expect_refused(
      [&] {
        define({.name = "n",
                .expression = "o = x / 2",
                .dtypes = {DType::Float32, DType::UInt8}});
      },
      {"o: expected an output that holds float64", "uint8"});
  expect_refused(
      [&] {
        define({.name = "n",
                .source = "GPUOS_OPERATOR(n) {}",
                .dtypes = {DType::Float32, DType::UInt8}});
      },
      {"n: expected 1 dtype of a whole operator, got 2"});
}

TEST_P(RuntimeErrors, AClosedRuntimeTakesNothing) {
  const Ticket ticket = runtime().submit("add", {x(), x()}, out());
  const Operator add = runtime().find("add");
  runtime().close();
  EXPECT_THROW(runtime().submit(add, {x(), x()}, out()), QueueClosed);
  ManyTasks many = many_of(1, 8, DType::Float32);
  many.out = out_->column(8);
  many.inputs = {x_->column(8), x_->column(8)};
  EXPECT_THROW(runtime().submit_many(add, many), QueueClosed);
  EXPECT_THROW(runtime().define({.name = "n", .expression = "o = x"}),
               QueueClosed);
  EXPECT_THROW(runtime().allocate(4), QueueClosed);
  EXPECT_TRUE(runtime().is_done(ticket));
}

TEST(RuntimeOptionsTest, EveryRuleIsChecked) {
  const auto refused = [](auto change) {
    RuntimeOptions options;
    options.backend = "host";
    change(options);
    EXPECT_THROW(Runtime{options}, InvalidArgument);
  };
  refused([](RuntimeOptions& o) { o.backend = "gpu"; });
  refused([](RuntimeOptions& o) { o.queue_capacity = 100; });
  refused([](RuntimeOptions& o) { o.queue_capacity = 32; });
  refused([](RuntimeOptions& o) { o.queue_capacity = 65536; });
  refused([](RuntimeOptions& o) { o.threads_per_worker = 100; });
  refused([](RuntimeOptions& o) { o.watchdog = 0ms; });
  refused([](RuntimeOptions& o) { o.linger = -1us; });
}

TEST(HostFaults, SynchronizeAndCloseThrowUnreportedErrors) {
  for (const bool closes : {false, true}) {
    RuntimeOptions options;
    options.backend = "host";
    Runtime runtime(options);
    const Operator bad =
        runtime.define({.name = "bad",
                        .source = "GPUOS_OPERATOR(bad) { throw 1; }",
                        .inputs = 0});
    float out = 0;
    const Ticket ticket = runtime.submit(bad, {}, TensorView(&out, 1));
    if (closes) {
      EXPECT_THROW(runtime.close(), TaskError);
    } else {
      EXPECT_TRUE(runtime.wait_for_all(kDeadline));  // asks for no failure
      EXPECT_THROW(runtime.synchronize(kDeadline), TaskError);
      EXPECT_TRUE(runtime.synchronize(kDeadline));
      EXPECT_THROW(runtime.wait(ticket, kDeadline), TaskError);
      EXPECT_NO_THROW(runtime.close());
    }
  }
}

GPUOS_INSTANTIATE_CONTRACT(RuntimeErrors);

}  // namespace
}  // namespace gpuos
