// The code of programs compiles for the device, where no machine without a GPU
// can run it.
#include <regex>

#include "compile_request.h"
#include "gpuos/gpuos.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/toolkit/target.h"
#include "jit/unit_compiler.h"
#include "nvrtc_support.h"
#include "program/passes/source.h"
#include "program_support.h"

namespace gpuos {
namespace {

using program::Effort;

// PTX of everything, machine code of one: the assembler takes half of the time.
jit::Object compile(const program::Pass& pass, Effort effort,
                    bool is_ordered = false, const char* arch = "compute_90") {
  return jit::compile_unit(
      jit::nvrtc(),
      {.source = concat("#include \"gpuos/operator.h\"\n",
                        program::source_of(pass, effort, is_ordered)),
       .file_name = "program.cu"},
      jit::choose_target(jit::nvrtc(), 90, arch));
}

void expect_compiles(const Program& program, Effort effort,
                     bool is_ordered = false, const char* arch = "compute_90") {
  for (const program::Pass& pass : program.plan()->split.passes) {
    jit::Object object;
    ASSERT_NO_THROW(object = compile(pass, effort, is_ordered, arch));
    EXPECT_EQ(object.log, "");
  }
}

Value as_float(const Value& value) {
  const Value real = is_complex(value.dtype())
                         ? ProgramBuilder::apply(Op::Absolute, {value})
                         : value;
  return ProgramBuilder::cast(real, DType::Float32);
}

// Everything that takes the dtype, added up so that nothing is left out.
Program every_operation(DType dtype) {
  ProgramBuilder builder;
  const Value x = builder.input(dtype, 1);
  const Value condition = builder.input(DType::Bool, 1);
  Value total = builder.literal(0.0);
  for (std::size_t op = 0; op < std::size(kOpInfos); ++op) {
    const OpInfo& info = kOpInfos[op];
    if (info.rule == OpRule::Leaf || info.rule == OpRule::Reduction) continue;
    std::vector<Value> operands(info.operands, x);
    if (static_cast<Op>(op) == Op::Where) operands[0] = condition;
    try {
      const Value value = ProgramBuilder::apply(static_cast<Op>(op), operands);
      total = ProgramBuilder::apply(Op::Add, {total, as_float(value)});
    } catch (const InvalidArgument&) {
      continue;  // not for this dtype
    }
  }
  for (const DType to : kAllDTypes)
    if (!is_complex(dtype) || is_complex(to))
      total = ProgramBuilder::apply(
          Op::Add, {total, as_float(ProgramBuilder::cast(x, to))});
  builder.output(total);
  return builder.build();
}

Program every_reduction(DType dtype) {
  ProgramBuilder builder;
  const Value x = builder.input(dtype, 2);
  for (std::size_t op = 0; op < std::size(kOpInfos); ++op) {
    if (kOpInfos[op].rule != OpRule::Reduction) continue;
    try {
      builder.output(
          ProgramBuilder::reduce(static_cast<Op>(op), x, {{1}}, true));
    } catch (const InvalidArgument&) {
      continue;
    }
  }
  return builder.build();
}

class ProgramSource : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, ProgramSource, testing::ValuesIn(kAllDTypes),
                         [](const auto& dtype) {
                           return std::string(name_of(dtype.param));
                         });

TEST_P(ProgramSource, OfEveryOperationCompiles) {
  GPUOS_SKIP_WITHOUT_NVRTC();
  expect_compiles(every_operation(GetParam()), Effort::Careful);
}

TEST_P(ProgramSource, OfEveryReductionCompiles) {
  GPUOS_SKIP_WITHOUT_NVRTC();
  expect_compiles(every_reduction(GetParam()), Effort::Careful);
  if (is_floating(GetParam()))
    expect_compiles(every_reduction(GetParam()), Effort::Careful, true);
}

TEST(ProgramSourceText, NamesNeitherScalarsNorSizes) {
  const auto source_with = [](double number) {
    ProgramBuilder builder;
    const Value x = builder.input(DType::Float32, 1);
    builder.output(
        ProgramBuilder::apply(Op::Multiply, {x, builder.literal(number)}));
    return program::source_of(builder.build().plan()->fused.passes[0]);
  };
  EXPECT_EQ(source_with(2), source_with(-0.125));
}

TEST(ProgramSourceText, OfSeveralElementsCompiles) {
  GPUOS_SKIP_WITHOUT_NVRTC();
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float16, 2);
  const Value most = ProgramBuilder::reduce(Op::Max, x, {{-1}}, true);
  builder.output(ProgramBuilder::apply(Op::Subtract, {x, most}));
  for (const bool is_ordered : {false, true})
    expect_compiles(builder.build(), Effort::Full, is_ordered, "sm_90");
}

// The number of arrays decides how many elements a lane has at a time, and what
// the compiler unrolls.
TEST(ProgramSourceText, OfAnyNumberOfArraysCompiles) {
  GPUOS_SKIP_WITHOUT_NVRTC();
  for (const DType dtype : {DType::Float32, DType::Float16})
    for (const unsigned inputs : {1, 2, 3, 4, 7, 8, 15, 24}) {
      ProgramBuilder builder;
      Value total = builder.literal(0.0);
      for (unsigned i = 0; i < inputs; ++i)
        total =
            ProgramBuilder::apply(Op::Add, {total, builder.input(dtype, 2)});
      builder.output(total);
      expect_compiles(builder.build(), Effort::Full);
    }
}

// Returns the sum of every function of two inputs, or of one input and a zero
// constant.
Program every_pair(bool is_zero_known) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  Value y = builder.input(DType::Float32, 1);
  if (is_zero_known) {
    const Value i = builder.input(DType::Int32, 1);
    const Value none = ProgramBuilder::apply(Op::NotEqual, {i, i});
    y = ProgramBuilder::cast(none, DType::Float32);
  }
  Value total = builder.literal(0.0);
  const auto add = [&](Op op, std::vector<Value> operands) {
    total = ProgramBuilder::apply(
        Op::Add, {total, as_float(ProgramBuilder::apply(op, operands))});
  };
  for (std::size_t op = 0; op < std::size(kOpInfos); ++op) {
    if (kOpInfos[op].operands != 2) continue;
    for (const auto& [a, b] : {std::pair(x, y), std::pair(y, x)}) try {
        add(static_cast<Op>(op), {a, b});
        if (kOpInfos[op].rule != OpRule::Comparison) continue;
        const Value c = ProgramBuilder::apply(static_cast<Op>(op), {a, b});
        add(Op::Where, {c, a, b});
        add(Op::Where, {c, b, a});
      } catch (const InvalidArgument&) {
        continue;  // of integers
      }
  }
  builder.output(total);
  return builder.build();
}

std::ptrdiff_t count_in(const Program& program, Effort effort,
                        const std::regex& instruction) {
  std::string text;
  for (const program::Pass& pass : program.plan()->split.passes)
    text += compile(pass, effort).binary;
  return std::distance(
      std::sregex_iterator(text.begin(), text.end(), instruction),
      std::sregex_iterator());
}

std::ptrdiff_t minima_in(const Program& program) {
  return count_in(program, Effort::Careful,
                  std::regex("(min|max)\\.(NaN\\.)?f32"));
}

// The device's minimum of 0 and -0 is -0, ours is the first.
TEST(ProgramSourceText, HasNoMinimumOfAZeroThatTheCompilerKnows) {
  GPUOS_SKIP_WITHOUT_NVRTC();
  EXPECT_EQ(minima_in(every_pair(true)), minima_in(every_pair(false)));
}

// The compile time grows faster than the number of copies.
TEST(ProgramSourceText, OfALongPassIsWrittenOutAFewTimes) {
  GPUOS_SKIP_WITHOUT_NVRTC();
  constexpr int kRoots = 300;
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  Value root = x;
  for (int i = 0; i < kRoots; ++i)
    root = ProgramBuilder::apply(Op::Add,
                                 {ProgramBuilder::apply(Op::Sqrt, {root}), x});
  builder.output(root);
  // Flat tasks have one element for each lane, or several. The others have
  // these too, and tiles and strips.
  const std::ptrdiff_t roots =
      count_in(builder.build(), Effort::Full, std::regex("sqrt\\.rn\\.f32"));
  EXPECT_GE(roots, kRoots) << "PTX has another name for it";
  EXPECT_LE(roots, 5 * kRoots);
}

// Values that have no register are on the stack, and nothing else is: a call
// that knows where the pass keeps its places had all of them there.
TEST(ProgramSourceText, OfManyValuesHasTheirBytesOfStack) {
  GPUOS_SKIP_WITHOUT_NVRTC();
  const Program program = sum_of_many_values();
  for (const bool is_ordered : {false, true}) {
    jit::CompileRequest request =
        jit::request_for(program::kCompiledName,
                         program::source_of(program.plan()->fused.passes[0],
                                            Effort::Careful, is_ordered));
    request.budget.stack_bytes = 48 * sizeof(double);
    EXPECT_NO_THROW(jit::compile_operators(request)) << is_ordered;
  }
}

}  // namespace
}  // namespace gpuos
