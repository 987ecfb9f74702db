// Tests of Session without a GPU, and its errors when one is needed.
#include "gpuos/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "errors.h"
#include "gpuos/error.h"
#include "gpuos/runtime.h"
#include "jit/objects/elf_resources.h"
#include "nvrtc_support.h"
#include "session/cells/launch_syntax.h"
#include "session/device/evaluator.h"
#include "session/workspace.h"

namespace gpuos {
namespace {

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    GPUOS_SKIP_WITHOUT_NVRTC();
    RuntimeOptions host;
    host.backend = "host";
    host.workers = 1;
    runtime_ = std::make_unique<Runtime>(host);
  }

  // Its sessions load nothing, on any machine.
  Runtime& runtime() { return *runtime_; }
  static SessionOptions options() {
    SessionOptions options;
    options.jit.arch = "sm_90";
    return options;
  }
  static session::Question ask(const char* text, const char* type) {
    session::Question question;
    question.expression.text = text;
    question.type = type;
    return question;
  }

 private:
  std::unique_ptr<Runtime> runtime_;
};

constexpr const char* kRefusal =
    "session: expected a runtime with backend cuda to load device code, got "
    "host";

TEST_F(SessionTest, KernelsAreLinkedWithoutADevice) {
  Session session(runtime(), options());
  const CellResult cell =
      session.run("__device__ int n; __global__ void k(int* x) { x[0] = n; }");
  EXPECT_EQ(cell.cell, "cell 1");
  EXPECT_EQ(cell.defined, (std::vector<std::string>{"variable n", "kernel k"}));
  EXPECT_TRUE(jit::has_symbol(session.link("k"), "_Z1kPi"));
  EXPECT_TRUE(jit::has_symbol(session.export_cubin(), "_Z1kPi"));
  EXPECT_EQ(session.names(), (std::vector<std::string>{"k", "n"}));
  EXPECT_EQ(session.stats().cells, 1u);
  EXPECT_EQ(session.stats().compiled, 3u);
}

// The example of https://reviews.llvm.org/D44435.
TEST_F(SessionTest, KernelsOfOneLaunchFunctionMayComeInAnyOrder) {
  const std::string declare = "__global__ void foo(); __global__ void bar();";
  const std::string launch =
      "void launch() { foo<<<1, 1>>>(); bar<<<1, 1>>>(); }";
  const std::string foo = "__global__ void foo() {}";
  const std::string bar = "__global__ void bar() {}";
  std::array<std::string, 4> cells{declare, launch, foo, bar};
  std::ranges::sort(cells);
  do {
    Session session(runtime(), options());
    std::vector<std::string> run;
    for (const std::string& cell : cells) {
      session.run(cell);
      run.push_back(cell);
      const auto has = [&](const std::string& text) {
        return std::ranges::find(run, text) != run.end();
      };
      const std::string failure =
          thrown_by<std::exception>([&] { session.run("launch();"); });
      if (!has(launch)) {
        EXPECT_TRUE(says(failure, "expected launch to be a function"));
      } else if (!has(foo) || !has(bar)) {
        const std::string missing = has(foo) ? "bar" : "foo";
        const bool is_declared = has(declare);
        EXPECT_TRUE(says(failure, is_declared
                                      ? "expected a definition of " + missing
                                      : "got '" + missing + "'"));
      } else {
        EXPECT_EQ(failure, kRefusal);
      }
    }
  } while (std::ranges::next_permutation(cells).found);
}

TEST_F(SessionTest, ARefusalNamesTheDeviceAndLeavesTheSessionAsItWas) {
  Session session(runtime(), options());
  session.run("__global__ void k() {}");
  EXPECT_EQ(thrown_by<BackendUnavailable>([&] {
              session.run(
                  "__device__ float f(float x) { return x; }"
                  "k<<<1, 1>>>();");
            }),
            kRefusal);
  EXPECT_EQ(session.names(), (std::vector<std::string>{"k"}));
  EXPECT_EQ(session.stats().cells, 1u);
  EXPECT_EQ(thrown_by<BackendUnavailable>([&] { session["k"]; }), kRefusal);
  session.run("__device__ float f(float x) { return x; }");
  EXPECT_EQ(thrown_by<BackendUnavailable>([&] { session.make_operator("f"); }),
            kRefusal);
}

TEST_F(SessionTest, CellsHaveTheNamesThatTheyAreGiven) {
  Session session(runtime(), options());
  const std::string failure = thrown_by<CompileError>(
      [&] { session.run("\n__device__ int f() { return 1 }", "In \"7\""); });
  EXPECT_EQ(failure.find("In \"7\":2: error"), 0u) << failure;
}

TEST_F(SessionTest, ErrorsOfTheSessionHaveTheirPlaceToo) {
  Session session(runtime(), options());
  try {
    session.run("constexpr int n = 1;\n  __device__ auto [a, b] = n;\n");
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.place().file, "cell 1");
    EXPECT_EQ(error.place().line, 2);
    EXPECT_EQ(error.place().column, 3);
    EXPECT_EQ(error.place().excerpt, "  __device__ auto [a, b] = n;\n  ^");
  }
}

TEST_F(SessionTest, OptionsReachTheCompiler) {
  SessionOptions defines = options();
  defines.jit.defines = {{"ANSWER", "42"}};
  Session session(runtime(), defines);
  EXPECT_NO_THROW(session.run("static_assert(ANSWER == 42);"));
}

TEST_F(SessionTest, UnboundNamesAreReported) {
  Session session(runtime(), options());
  session.bind("n", 3);
  session.unbind("n");
  EXPECT_EQ(thrown_by<InvalidArgument>([&] { session.unbind("n"); }),
            "session: expected a bound name, got 'n'");
  EXPECT_EQ(thrown_by<InvalidArgument>([&] { session.variable("v"); }),
            "session: expected the name of a variable, got 'v'");
}

TEST_F(SessionTest, VariablesHaveTheTypesThatTheCompilerSpells) {
  Session session(runtime(), options());
  session.run(
      "struct P { int a; }; template <class T> struct S { T a; };"
      "__device__ int n; __device__ float a[2][3]; __device__ P p;"
      "__device__ S<P*> s[1]; __constant__ unsigned long long c[4];"
      "__constant__ const int* r[2]; __device__ int* q; __device__ int* qs[2]; "
      "__device__ decltype(1.0) d;"
      "namespace m { struct P { short a; }; __device__ P p; }"
      "__device__ auto a1 = 1.0f; __device__ auto* a2 = (int*)nullptr, *a3 = "
      "(int*)nullptr;"
      "__constant__ auto a4 = sizeof(S<char>); __device__ auto a5{'a'};"
      "namespace m { __device__ auto a6 = (P*)nullptr; }"
      "__device__ int f() { return 1; } __global__ void k() {}");
  const std::vector<std::pair<std::string, std::string>> types = {
      {"n", "int"},     {"a", "float [2][3]"},
      {"p", "P"},       {"s", "S<P*> [1]"},
      {"q", "int*"},    {"c", "unsigned long long [4]"},
      {"d", "double"},  {"qs", "int* [2]"},
      {"m::p", "m::P"}, {"r", "int const* [2]"},
      {"a1", "float"},  {"a2", "int*"},
      {"a3", "int*"},   {"a4", "unsigned long"},
      {"a5", "char"},   {"m::a6", "m::P*"},
      {"f", ""},        {"k", ""},
      {"none", ""}};
  const auto expect_types = [&] {
    for (const auto& [name, type] : types)
      EXPECT_EQ(session.variable_type(name), type) << name;
  };
  expect_types();
  const std::uint64_t compiled = session.stats().compiled;
  expect_types();
  EXPECT_EQ(session.stats().compiled, compiled);
  session.run("__device__ char n;");
  EXPECT_EQ(session.variable_type("n"), "char");
  EXPECT_TRUE(session.undo());
  expect_types();
}

TEST_F(SessionTest, TheCompilerFindsTheValuesOfExpressions) {
  session::CompilerSettings settings;
  settings.target = jit::choose_target(jit::nvrtc(), 90, "");
  session::Workspace workspace(jit::nvrtc(), settings);
  workspace.run(
      "constexpr int width = 12; struct P { int x; float y; };"
      "template <int N> constexpr __device__ int twice() { return 2 * N; }",
      "");
  workspace.accept();
  session::Evaluator evaluator(workspace.header(), workspace.compiler());
  std::map<std::string, KernelArg, std::less<>> bound;
  bound["n"] = KernelArgs::of(1000).values().front();
  const std::vector<session::Question> questions{
      ask("(n + 255) / 256", "dim3"), ask("dim3(2, width)", "dim3"),
      ask("twice<3>() * 1.5f", "float"), ask("P{1, 2}", ""),
      ask("0", "unsigned long long")};
  const auto values = evaluator.evaluate(questions, "cell 9", bound);
  const auto word = [&](std::size_t i, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, values[i].data() + 4 * at, 4);
    return value;
  };
  EXPECT_EQ(word(0, 0), 4u);
  EXPECT_EQ(word(0, 1), 1u);
  EXPECT_EQ(word(1, 0), 2u);
  EXPECT_EQ(word(1, 1), 12u);
  EXPECT_EQ(word(2, 0), 0x41100000u);  // 9
  EXPECT_EQ(word(3, 0), 1u);
  EXPECT_EQ(values[4], std::string(8, '\0'));
  const std::uint64_t compiled = workspace.compiler().compiled();
  EXPECT_EQ(evaluator.evaluate(questions, "cell 9", bound), values);
  EXPECT_EQ(workspace.compiler().compiled(), compiled);
  session::Question wrong = ask("missing + 1", "");
  wrong.expression.line = 3;
  EXPECT_EQ(thrown_by<CompileError>([&] {
              evaluator.evaluate({&wrong, 1}, "cell 9", bound);
            }).find("cell 9:3: error"),
            0u);
}

TEST_F(SessionTest, LiteralsAreReadWithoutTheCompiler) {
  const auto integer = [](const char* text) {
    const auto number = session::literal(text);
    return number && number->is_integer() ? number->integer() : -1;
  };
  EXPECT_EQ(integer("42"), 42);
  EXPECT_EQ(integer("1'000ull"), 1000);
  EXPECT_EQ(integer("true"), 1);
  EXPECT_EQ(session::literal("1.5f")->real(), 1.5);
  EXPECT_EQ(session::literal("2e3")->real(), 2000);
  for (const char* text : {"010", "0x10", "'a'", "n", "1 + 2", "", "1.5q"})
    EXPECT_FALSE(session::literal(text)) << text;
}

TEST_F(SessionTest, LaunchesAreReadWithTheirPlaces) {
  session::Item item;
  item.text = "m::k<float, 3><<<dim3(1, 2), 32,\n 64, s>>>(&x, f<1, 2>(), -3);";
  item.line = 5;
  item.column = 9;
  const auto launch = session::parse_launch(item, "cell 2");
  EXPECT_EQ(launch.kernel, "m::k<float,3>");
  ASSERT_EQ(launch.config.size(), 4u);
  EXPECT_EQ(launch.config[0].text, "dim3(1, 2)");
  EXPECT_EQ(launch.config[0].line, 5);
  EXPECT_EQ(launch.config[0].column, 26);
  EXPECT_EQ(launch.config[2].line, 6);
  ASSERT_EQ(launch.arguments.size(), 3u);
  EXPECT_EQ(launch.arguments[1].text, "f<1, 2>()");
  item.text = "k<<<1>>>();";
  EXPECT_TRUE(says(
      thrown_by<CompileError>([&] { session::parse_launch(item, "cell 2"); }),
      "cell 2:5:10: expected <<<grid, block>>>"));
}

}  // namespace
}  // namespace gpuos
