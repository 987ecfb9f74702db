// Programs of fused functions, without Python and without a runtime.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "errors.h"
#include "gpuos/error.h"
#include "gpuos/fused.h"
#include "gpuos/program_functions.h"

namespace gpuos {
namespace {

using Values = std::vector<Value>;
using Function = std::function<Values(const Values&, TracedFunction&)>;

/// Runs a function of C++ and counts how often.
class CountingTracer : public FunctionTracer {
 public:
  explicit CountingTracer(Function function) : function_(std::move(function)) {}
  Values run(ProgramBuilder& builder, TracedFunction& made) override {
    ++runs;
    Values values;
    std::size_t number = 0;
    for (const ArgumentWord& word : made.call.words) {
      if (word.kind == ArgumentKind::Array)
        values.push_back(builder.input(word.dtype, word.rank));
      else if (word.kind == ArgumentKind::Number)
        values.push_back(stand_for(builder, word, made.call.scalars[number++]));
    }
    return function_(values, made);
  }
  void added(TracedFunction& /*made*/) override { ++entered; }

  int runs = 0;
  int entered = 0;

 private:
  Function function_;
};

Values twice(const Values& x, TracedFunction& /*made*/) {
  return {x[0] + x[0]};
}

/// Texts as objects of another language. It counts those that are held.
class Texts : public ForeignObjects {
 public:
  bool is_same(void* a, void* b) const override {
    return *static_cast<std::string*>(a) == *static_cast<std::string*>(b);
  }
  std::shared_ptr<void> hold(void* object) const override {
    ++held;
    return {new std::string(*static_cast<std::string*>(object)),
            [this](std::string* text) {
              --held;
              delete text;
            }};
  }
  mutable int held = 0;
};

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

CallArguments with_number(double number) {
  CallArguments call = call_of({2});
  call.add_number(ArgumentKind::Number, DType::Float64, number);
  return call;
}

CallArguments with_text(std::string& text) {
  CallArguments call = call_of({2});
  call.add_object(ArgumentKind::Static, &text, text.size());
  return call;
}

class TraceCacheTest : public testing::Test {
 protected:
  TracedFunction& trace(CallArguments call) {
    const TraceCache::Running running(cache);
    return cache.find_or_trace(call, tracer);
  }
  void use(Function function) { tracer = CountingTracer(std::move(function)); }

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
  std::string a = "a";
  std::string b = "b";  // its hash is the same
  TracedFunction& first = trace(with_text(a));
  TracedFunction& second = trace(with_text(b));
  std::string equal = "a";
  EXPECT_EQ(&trace(with_text(equal)), &first);
  EXPECT_EQ(&trace(with_text(b)), &second);
  EXPECT_EQ(first.deciding_arguments().front().position, 1u);
  EXPECT_EQ(texts.held, 2);
  cache.clear();
  EXPECT_EQ(texts.held, 0);
}

TEST_F(TraceCacheTest, TheLeastRecentlyUsedIsForgotten) {
  const std::vector<DType> dtypes = {DType::Float32, DType::Float64,
                                     DType::Int32};
  for (const DType dtype : dtypes) trace(call_of({2}, dtype));
  trace(call_of({2}, dtypes[0]));
  trace(call_of({2}, DType::Int64));
  EXPECT_EQ(cache.all().size(), 3u);
  EXPECT_EQ(tracer.entered, 4);
  trace(call_of({2}, dtypes[0]));
  EXPECT_EQ(tracer.entered, 4);
  trace(call_of({2}, dtypes[1]));
  EXPECT_EQ(tracer.entered, 5);
}

TEST_F(TraceCacheTest, AShapeThatWasAskedForDecides) {
  use([](const Values& x, TracedFunction&) -> Values {
    return {x[0] * static_cast<double>(ProgramBuilder::shape_of(x[0])[0])};
  });
  TracedFunction& two = trace(call_of({2}));
  EXPECT_TRUE(two.has_asked_shapes());
  EXPECT_NE(&trace(call_of({3})), &two);
  EXPECT_EQ(&trace(call_of({2})), &two);
  EXPECT_EQ(tracer.runs, 2);
}

TEST_F(TraceCacheTest, ANumberThatWasAskedForDecides) {
  use([](const Values& x, TracedFunction& made) -> Values {
    if (!made.asked.contains(0)) {
      ProgramBuilder::ask_scalars(x[1]);
      throw InvalidArgument("a number is asked for");
    }
    return {made.call.scalars[0].real() > 0 ? x[0] + 1 : x[0] - 1};
  });
  TracedFunction& positive = trace(with_number(2));
  EXPECT_EQ(tracer.runs, 2);
  EXPECT_EQ(positive.deciding_arguments().front().position, 1u);
  EXPECT_NE(&trace(with_number(-2)), &positive);
  EXPECT_EQ(&trace(with_number(2)), &positive);
  EXPECT_EQ(tracer.entered, 2);
}

TEST_F(TraceCacheTest, AnErrorWithoutAQuestionIsNotRepeated) {
  use([](const Values&, TracedFunction&) -> Values {
    throw InvalidArgument("no");
  });
  EXPECT_THROW(trace(call_of({2})), InvalidArgument);
  EXPECT_EQ(tracer.runs, 1);
  EXPECT_TRUE(cache.all().empty());
}

TEST_F(TraceCacheTest, StepsAreComputedForEachCall) {
  struct Half : NumberSteps {
    explicit Half(const double& number) : number(number) {}
    bool compute(std::span<void* const>,
                 std::vector<Scalar>& scalars) const override {
      scalars.emplace_back(number / 2);
      return number >= 0;  // the root of others is complex
    }
    void add_deciding(std::size_t, AskedScalars& deciding) const override {
      deciding.insert(0);
    }
    const double& number;
  };
  double given = 0;
  use([&](const Values& x, TracedFunction& made) -> Values {
    made.steps = std::make_unique<Half>(given);
    made.more_scalars = {given / 2};
    return {x[0] * x[1]};
  });
  const auto last = [&](double number) {
    given = number;
    CallArguments call = with_number(number);
    cache.find_or_trace(call, tracer);
    return call.scalars().back().real();
  };
  EXPECT_EQ(last(3), 1.5);
  EXPECT_EQ(last(5), 2.5);
  EXPECT_EQ(tracer.entered, 1);
  EXPECT_EQ(last(-1), -0.5);
  EXPECT_EQ(tracer.entered, 2);
}

TEST_F(TraceCacheTest, AReplacementReturnsTheSameForms) {
  trace(call_of({2}));
  TraceCache next("f", 3, &texts);
  CountingTracer wrong([](const Values& x, TracedFunction&) -> Values {
    return {less(x[0], 1)};
  });
  EXPECT_EQ(thrown_by([&] { next.trace_as(cache, wrong); }),
            "replace: f: expected results of float32 with 1 axes, got bool "
            "with 1 axes");
  EXPECT_EQ(cache.version(), 1u);
  CountingTracer itself([&](const Values& x, TracedFunction&) -> Values {
    cache.note_part();
    return x;
  });
  const TraceCache::Replacing now(cache);
  EXPECT_THROW(next.trace_as(cache, itself), InvalidArgument);
}

TEST_F(TraceCacheTest, CallersOfAReplacedFunctionAreTracedAgain) {
  TraceCache outer("g", 3);
  CountingTracer calls([&](const Values& x, TracedFunction& made) {
    cache.note_part();
    return twice(x, made);
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
  CountingTracer more(
      [](const Values& x, TracedFunction&) -> Values { return {x[0] * x[0]}; });
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
