// Programs of fused functions, without Python and without a runtime.
#include <memory>
#include <string>
#include <vector>

#include "errors.h"
#include "gpuos/error.h"
#include "gpuos/fused.h"
#include "gpuos/program_functions.h"

namespace gpuos {
namespace {

using Kind = StepResult::Kind;
using Values = std::vector<Value>;

/// Texts as objects of another language. It counts those that are held.
class Texts : public ForeignObjects {
 public:
  static std::string& text(void* object) {
    return *static_cast<std::string*>(object);
  }
  bool is_same(void* a, void* b) const override { return text(a) == text(b); }
  HeldObject hold(void* object) const override {
    ++held;
    return {new std::string(text(object)), [this](std::string* last) {
              --held;
              delete last;
            }};
  }
  /// Returns half of a number. A negative one is an error.
  StepResult compute(void* /*function*/,
                     std::span<void* const> operands) const override {
    const double half = std::stod(text(operands[0])) / 2;
    std::string shown = std::to_string(half);
    return {half < 0 ? Kind::Error : Kind::Number,
            hold(&shown),
            {.kind = ArgumentKind::Number, .dtype = DType::Float64},
            half};
  }
  mutable int held = 0;
};

/// One run of a function.
struct TracedRun {
  Values x;
  TracedNumbers& numbers;
  TracedFunction& made;
};

class CountingTracer : public FunctionTracer {
 public:
  explicit CountingTracer(std::function<Values(TracedRun&)> function)
      : function_(std::move(function)) {}
  Values run(ProgramBuilder& builder, TracedFunction& made) override {
    ++runs;
    TracedNumbers numbers(builder, made);
    TracedRun run{{}, numbers, made};
    for (const ArgumentWord& word : made.call.words) {
      if (word.kind == ArgumentKind::Array)
        run.x.push_back(builder.input(word.dtype, word.rank));
      else if (word.kind == ArgumentKind::Number)
        run.x.push_back(numbers.next(word));
    }
    return function_(run);
  }
  void added(TracedFunction& /*made*/) override { ++entered; }

  int runs = 0;
  int entered = 0;

 private:
  std::function<Values(TracedRun&)> function_;
};

Values twice(TracedRun& run) { return {run.x[0] + run.x[0]}; }

CallArguments call_of(const Shape& shape, DType dtype = DType::Float32) {
  CallArguments call;
  call.add_array([&] {
    TensorView view;
    view.dtype = dtype;
    view.dims = static_cast<std::uint8_t>(shape.size());
    std::ranges::copy(shape, view.shape.begin());
    return view;
  });
  return call;
}

CallArguments with_number(std::string& number) {
  CallArguments call = call_of({2});
  call.add_number(ArgumentKind::Number, DType::Float64, std::stod(number),
                  &number);
  return call;
}

class TraceCacheTest : public testing::Test {
 protected:
  TracedFunction& trace(CallArguments call) {
    const TraceCache::Running running(cache);
    return cache.find_or_trace(call, tracer);
  }

  Texts texts;
  TraceCache cache{"f", 3, &texts};
  CountingTracer tracer{twice};
};

TEST_F(TraceCacheTest, DtypesAndRanksDecideAndShapesDoNot) {
  TracedFunction& first = trace(call_of({2}));
  EXPECT_EQ(&trace(call_of({5})), &first);
  TracedFunction& other = trace(call_of({5}, DType::Int32));
  EXPECT_NE(&trace(call_of({2, 2})), &other);
  EXPECT_EQ(&trace(call_of({3}, DType::Int32)), &other);
  EXPECT_EQ(tracer.runs, 3);
  const auto forms = first.output_forms(call_of({7}).inputs());
  EXPECT_EQ(to_string(forms->front()), "(7,) float32");
  EXPECT_EQ(first.output_forms(call_of({7}).inputs()), forms);
  EXPECT_EQ(first.output_forms(call_of({9}).inputs())->front().shape[0], 9);
}

TEST_F(TraceCacheTest, ObjectsOfOneHashAreCompared) {
  const auto trace_with = [&](std::string text) {
    CallArguments call = call_of({2});
    call.add_object(ArgumentKind::Static, &text, 7);
    return &trace(call);
  };
  TracedFunction* const first = trace_with("a");
  TracedFunction* const second = trace_with("b");
  EXPECT_EQ(trace_with("a"), first);
  EXPECT_EQ(trace_with("b"), second);
  EXPECT_EQ(tracer.entered, 2);
  EXPECT_EQ(first->deciding_arguments().front().position, 1u);
  EXPECT_EQ(texts.held, 2);
  cache.clear();
  EXPECT_EQ(texts.held, 0);
}

TEST_F(TraceCacheTest, TheLeastRecentlyUsedIsForgotten) {
  using enum DType;
  for (const DType dtype : {Float32, Float64, Int32, Float32, Int64, Float32})
    trace(call_of({2}, dtype));
  EXPECT_EQ(cache.all().size(), 3u);
  EXPECT_EQ(tracer.entered, 4);
  trace(call_of({2}, Float64));
  EXPECT_EQ(tracer.entered, 5);
}

TEST_F(TraceCacheTest, AShapeThatWasAskedForDecides) {
  tracer = CountingTracer([](TracedRun& run) -> Values {
    return {run.x[0] *
            static_cast<double>(ProgramBuilder::shape_of(run.x[0])[0])};
  });
  TracedFunction& two = trace(call_of({2}));
  EXPECT_TRUE(two.has_asked_shapes());
  EXPECT_NE(&trace(call_of({3})), &two);
  EXPECT_EQ(&trace(call_of({2})), &two);
  EXPECT_EQ(tracer.runs, 2);
}

TEST_F(TraceCacheTest, ANumberThatWasAskedForDecides) {
  tracer = CountingTracer([](TracedRun& run) -> Values {
    if (!run.numbers.is_asked(0)) {
      ProgramBuilder::ask_scalars(run.x[1]);
      throw InvalidArgument("a number is asked for");
    }
    const bool is_positive = run.made.call.scalars[0].real() > 0;
    return {is_positive ? run.x[0] + 1 : run.x[0] - 1};
  });
  std::string two = "2";
  std::string minus = "-2";
  TracedFunction& positive = trace(with_number(two));
  EXPECT_EQ(tracer.runs, 2);
  EXPECT_EQ(positive.deciding_arguments().front().position, 1u);
  EXPECT_NE(&trace(with_number(minus)), &positive);
  EXPECT_EQ(&trace(with_number(two)), &positive);
  EXPECT_EQ(tracer.entered, 2);
}

TEST_F(TraceCacheTest, AnErrorWithoutAQuestionIsNotRepeated) {
  tracer =
      CountingTracer([](TracedRun&) -> Values { throw InvalidArgument("no"); });
  EXPECT_THROW(trace(call_of({2})), InvalidArgument);
  EXPECT_EQ(tracer.runs, 1);
  EXPECT_TRUE(cache.all().empty());
}

TEST_F(TraceCacheTest, StepsAreComputedForEachCall) {
  bool decides = false;
  tracer = CountingTracer([&](TracedRun& run) -> Values {
    NumberStep half;
    half.operands.push_back({.number = 0});
    void* const number[] = {run.numbers.number(0).get()};
    const Value value = run.numbers.add(half, texts.compute(nullptr, number));
    if (decides) run.numbers.decide(1);
    return {run.x[0] * value};
  });
  const auto last = [&](std::string number) {
    CallArguments call = with_number(number);
    cache.find_or_trace(call, tracer);
    return call.scalars().back().real();
  };
  EXPECT_EQ(last("3"), 1.5);
  EXPECT_EQ(last("5"), 2.5);
  EXPECT_EQ(tracer.entered, 1);
  last("-1");  // the error is another structure
  EXPECT_EQ(tracer.entered, 2);
  cache.clear();
  decides = true;
  for (const char* number : {"3", "5", "3"})
    EXPECT_EQ(last(number), std::stod(number) / 2);
  EXPECT_EQ(tracer.entered, 4);
  EXPECT_EQ(cache.all()[0]->deciding_arguments().front().position, 1u);
}

TEST_F(TraceCacheTest, AReplacementReturnsTheSameForms) {
  trace(call_of({2}));
  TraceCache next("f", 3, &texts);
  CountingTracer wrong(
      [](TracedRun& run) -> Values { return {less(run.x[0], 1)}; });
  EXPECT_EQ(thrown_by([&] { next.trace_as(cache, wrong); }),
            "replace: f: expected results of float32 with 1 axes, got bool "
            "with 1 axes");
  CountingTracer itself([&](TracedRun& run) {
    cache.note_part();
    return twice(run);
  });
  const TraceCache::Replacing now(cache);
  EXPECT_THROW(next.trace_as(cache, itself), InvalidArgument);
  EXPECT_EQ(cache.version(), 1u);
}

TEST_F(TraceCacheTest, CallersOfAReplacedFunctionAreTracedAgain) {
  TraceCache outer("g", 3);
  CountingTracer calls([&](TracedRun& run) {
    cache.note_part();
    return twice(run);
  });
  const auto call_outer = [&] {
    const TraceCache::Running running(outer);
    CallArguments call = call_of({2});
    outer.find_or_trace(call, calls);
  };
  call_outer();
  call_outer();
  EXPECT_EQ(calls.runs, 1);
  TracedFunction& before = trace(call_of({2}));
  const std::uint64_t hash = before.program().hash();
  TraceCache next("f", 3, &texts);
  CountingTracer more([](TracedRun& run) -> Values { return {run.x[0] * 2}; });
  next.trace_as(cache, more);
  {
    const TraceCache::Running running(cache, /*forgets=*/false);
    EXPECT_EQ(cache.replace(next), 2u);
    EXPECT_EQ(before.program().hash(), hash);  // a running call keeps it
  }
  EXPECT_NE(cache.all()[0]->program().hash(), hash);
  call_outer();
  EXPECT_EQ(calls.runs, 2);
}

}  // namespace
}  // namespace gpuos
