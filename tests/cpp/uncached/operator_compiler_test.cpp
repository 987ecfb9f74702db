#include "jit/operator_compiler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/concat.h"
#include "base/embedded.h"
#include "compile_request.h"
#include "errors.h"
#include "gpuos/error.h"
#include "jit/objects/elf_resources.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/toolkit/target.h"
#include "nvrtc_support.h"

namespace gpuos::jit {
namespace {

// An earlier run must not have cached the code that is compiled here.
[[maybe_unused]] const int is_cache_off = setenv("GPUOS_CACHE_DIR", "off", 1);

std::string axpy(int variant) {
  return concat(
      "GPUOS_OPERATOR(axpy) {\n"
      "  float* o = task.pointer<float>(0);\n"
      "  const float* x = task.pointer<const float>(1);\n"
      "  for (gpuos::u32 i = lane.index(); i < task.count; i += "
      "lane.count())\n"
      "    o[i] = x[i] * ",
      variant, ";\n}\n");
}

class OperatorCompiler : public testing::Test {
 protected:
  void SetUp() override { GPUOS_SKIP_WITHOUT_NVRTC(); }

  // The message of the CompileError that `request` must end with.
  static std::string message_of(const CompileRequest& request) {
    return thrown_by<CompileError>([&] { compile_operators(request); });
  }
};

TEST_F(OperatorCompiler, ExportsThePointerOfEachOperator) {
  const Image image = compile_operators(request_for("axpy", axpy(2)));
  ASSERT_EQ(image.entries, std::vector<std::string>{"gpuos_entry_axpy"});
  EXPECT_TRUE(has_symbol(image.binary, "gpuos_entry_axpy"));
  EXPECT_TRUE(has_symbol(image.binary, "gpuos_op_axpy"));
}

TEST_F(OperatorCompiler, KeepsTheFunctionsThatAnOperatorCalls) {
  const Image image = compile_operators(request_for(
      "quotient",
      "__device__ __noinline__ long long half(long long x) { return x / 3; }\n"
      "GPUOS_OPERATOR(quotient) {\n"
      "  auto* o = task.pointer<long long>(0);\n"
      "  o[0] = half(o[1]) / o[2];\n"
      "}\n"));
  EXPECT_TRUE(has_symbol(image.binary, "_Z4halfx"));
}

// A kernel in the image would make each load five times as long.
TEST_F(OperatorCompiler, LeavesTheKernelOutOfAnOperatorThatCallsNothing) {
  const Image image = compile_operators(
      request_for("pick",
                  "static __device__ const int kTable[] = {3, 5, 7, 9};\n"
                  "__device__ int plus_one(int x) { return x + 1; }\n"
                  "GPUOS_OPERATOR(pick) {\n"
                  "  int* o = task.pointer<int>(0);\n"
                  "  o[0] = plus_one(kTable[o[1] & 3]);\n"
                  "}\n"));
  EXPECT_FALSE(has_symbol(image.binary, "gpuos_link_root"));
  const std::set<std::string> names = symbol_names(image.binary);
  EXPECT_TRUE(std::ranges::any_of(names, [](const std::string& name) {
    return name.find("kTable") != std::string::npos;
  }));
}

TEST_F(OperatorCompiler, CompilesEveryEmbeddedHeaderUnderBothNames) {
  std::string source;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.name.ends_with(".h")) continue;
    source += concat("#include \"", file.name, "\"\n#include \"gpuos/",
                     file.name, "\"\n");
  }
  EXPECT_NO_THROW(compile_operators(request_for("axpy", source + axpy(3))));
}

TEST_F(OperatorCompiler, ErrorNamesFileLineAndCause) {
  const std::string message =
      message_of(request_for("axpy", "\nGPUOS_OPERATOR(axpy) { wrong(); }\n"));
  EXPECT_TRUE(says(message, "axpy.cu:3: error: identifier \"wrong\""));
}

TEST_F(OperatorCompiler, ErrorKeepsTheWholeLog) {
  try {
    compile_operators(
        request_for("axpy", "GPUOS_OPERATOR(axpy) { one(); two(); }"));
    FAIL() << "compiled";
  } catch (const CompileError& error) {
    EXPECT_TRUE(says(error.log(), "one"));
    EXPECT_TRUE(says(error.log(), "two"));
  }
}

TEST_F(OperatorCompiler, OpensOnlyTheSourceFile) {
  const auto file = std::filesystem::current_path() / "gpuos_on_disk.h";
  std::ofstream(file) << "\n";
  const std::string message =
      message_of(request_for("axpy", "#include \"gpuos_on_disk.h\"\n"));
  std::filesystem::remove(file);
  EXPECT_TRUE(says(message, "axpy.cu:2"));
  EXPECT_TRUE(says(message, "gpuos_on_disk.h"));
}

TEST_F(OperatorCompiler, MissingOperatorIsNamed) {
  CompileRequest request = request_for("axpy", axpy(4));
  request.entries = {"other"};
  EXPECT_EQ(message_of(request),
            "axpy.cu: expected GPUOS_OPERATOR(other) { ... }, got "
            "GPUOS_OPERATOR(axpy)");
}

TEST_F(OperatorCompiler, UnresolvedFunctionIsNamed) {
  const std::string message =
      message_of(request_for("axpy",
                             "extern \"C\" __device__ void missing();\n"
                             "GPUOS_OPERATOR(axpy) { missing(); }\n"));
  EXPECT_TRUE(message.starts_with("link: ")) << message;
  // nvJitLink 12.4 writes the name to stderr, not to its log.
  if (nvrtc().major > 12 || nvrtc().minor >= 9) {
    EXPECT_TRUE(says(message, "missing"));
  }
}

TEST_F(OperatorCompiler, SpillsThatExceedTheStackAreRefusedWithBothNumbers) {
  CompileRequest request =
      request_for("wide",
                  "GPUOS_OPERATOR(wide) {\n"
                  "  volatile float* p = task.pointer<volatile float>(0);\n"
                  "  float v[128];\n"
                  "#pragma unroll\n"
                  "  for (int i = 0; i < 128; ++i) v[i] = p[i];\n"
                  "#pragma unroll\n"
                  "  for (int i = 0; i < 128; ++i) p[128 - i] = v[i];\n"
                  "}\n");
  request.budget = {.registers = 32, .stack_bytes = 16};
  const std::string message = message_of(request);
  EXPECT_TRUE(message.starts_with("wide: needs ")) << message;
  EXPECT_TRUE(
      says(message, "bytes of stack with 32 registers, the worker has 16"));
  request.budget.stack_bytes = 4096;
  EXPECT_NO_THROW(compile_operators(request));
}

TEST_F(OperatorCompiler, ExceededLimitsOfAWorkerAreRefused) {
  struct Need {
    const char* body;
    const char* said;
    const char* before = "";
  };
  for (const Need& need :
       {Need{"auto* o = task.pointer<float>(0); o[0] = pick(o[1]);",
             "op: needs ",
             "__device__ __noinline__ float pick(float x) {\n"
             "  volatile float v[64];\n"
             "  for (int i = 0; i < 64; ++i) v[i] = x * i;\n"
             "  return v[int(x) % 64];\n}\n"},
        {"auto* o = task.pointer<int>(0); o[0] = fib(o[1]);",
         "op: needs a stack without a known bound",
         "__device__ __noinline__ int fib(int n) {\n"
         "  return n < 2 ? n : fib(n - 1) + fib(n - 2);\n}\n"},
        {"__shared__ float s[64]; auto* o = task.pointer<float>(0);\n"
         "s[lane.index() % 64] = o[0]; lane.barrier(); o[0] = s[1];",
         "op: uses 256 bytes of __shared__"},
        {"extern __shared__ float s[];\n"
         "task.pointer<float>(0)[0] = s[lane.index()];",
         "op: uses dynamic __shared__"},
        {"task.pointer<float>(0)[0] = table[task.count % 16];",
         "op: uses 64 bytes of __constant__",
         "__constant__ float table[16];\n"},
        {"asm volatile(\"bar.sync 5;\");", "op: uses 6 barriers"}}) {
    CompileRequest request = request_for(
        "op",
        concat(need.before, "GPUOS_OPERATOR(op) {\n", need.body, "\n}\n"));
    request.budget.stack_bytes = 128;
    const std::string message = message_of(request);
    EXPECT_TRUE(message.starts_with(need.said)) << message;
  }
}

// By default both use constant banks of the running kernel: jump tables on all
// architectures, double constants before sm_90.
TEST_F(OperatorCompiler, SwitchesAndDoubleConstantsNeedNoConstantBank) {
  for (const int compute_capability : {80, 90, 120}) {
    if (compute_capability > nvrtc().archs.back()) continue;
    CompileRequest request =
        request_for("cases",
                    "GPUOS_OPERATOR(cases) {\n"
                    "  auto* o = task.pointer<double>(0);\n"
                    "  switch (task.count) {\n"
                    "    case 0: o[0] = sin(o[0]); break;\n"
                    "    case 1: o[0] = exp(o[0]) * 3.14159; break;\n"
                    "    case 2: o[0] = cbrt(o[0]); break;\n"
                    "    case 3: o[0] = tanh(o[0]); break;\n"
                    "    case 4: o[0] = o[0] * 1.7; break;\n"
                    "    case 5: o[0] = lgamma(o[0]); break;\n"
                    "  }\n"
                    "}\n");
    request.compute_capability = compute_capability;
    EXPECT_NO_THROW(compile_operators(request)) << compute_capability;
  }
}

TEST_F(OperatorCompiler, SecondRequestIsAnsweredFromMemory) {
  const CompileRequest request = request_for("axpy", axpy(5));
  const std::string first = compile_operators(request).binary;
  const CompilerStats before = compiler_stats();
  EXPECT_EQ(compile_operators(request).binary, first);
  EXPECT_EQ(compiler_stats().compiled, before.compiled);
  EXPECT_EQ(compiler_stats().cached, before.cached + 1);
}

TEST_F(OperatorCompiler, OtherSourceUnderTheSameNameIsOtherCode) {
  EXPECT_NE(compile_operators(request_for("axpy", axpy(6))).binary,
            compile_operators(request_for("axpy", axpy(7))).binary);
}

TEST_F(OperatorCompiler, EightThreadsWithOneKeyCompileOnce) {
  const CompileRequest request = request_for("axpy", axpy(8));
  const CompilerStats before = compiler_stats();
  std::vector<std::string> binaries(8);
  {
    std::vector<std::jthread> threads;
    for (std::string& binary : binaries) {
      threads.emplace_back([&] { binary = compile_operators(request).binary; });
    }
  }
  for (const std::string& binary : binaries) EXPECT_EQ(binary, binaries[0]);
  EXPECT_EQ(compiler_stats().compiled, before.compiled + 1);
}

TEST_F(OperatorCompiler, FailureIsNotRemembered) {
  const CompileRequest request =
      request_for("axpy", "GPUOS_OPERATOR(axpy) { wrong(); }");
  const CompilerStats before = compiler_stats();
  message_of(request);
  message_of(request);
  EXPECT_EQ(compiler_stats().compiled, before.compiled + 2);
}

Nvrtc with_archs(std::vector<int> archs) {
  Nvrtc api;
  api.archs = std::move(archs);
  return api;
}

TEST(Target, IsTheDeviceIfNvrtcKnowsIt) {
  const Target target = choose_target(with_archs({75, 80, 90}), 90, "");
  EXPECT_EQ(target.arch, "sm_90");
  EXPECT_FALSE(target.is_ptx);
}

TEST(Target, FallsBackToTheSameGeneration) {
  EXPECT_EQ(choose_target(with_archs({80, 86, 90}), 89, "").arch, "sm_86");
}

TEST(Target, FallsBackToPtxForANewerGeneration) {
  const Target target = choose_target(with_archs({80, 90}), 120, "");
  EXPECT_EQ(target.arch, "compute_90");
  EXPECT_TRUE(target.is_ptx);
  EXPECT_EQ(target.link_arch, "sm_120");
}

TEST(Target, NamesTheOldestDeviceThatNvrtcKnows) {
  EXPECT_THROW(choose_target(with_archs({75, 80}), 60, ""), BackendUnavailable);
}

TEST(Target, TakesTheOverride) {
  const Nvrtc api = with_archs({75, 90});
  EXPECT_EQ(choose_target(api, 90, "75").arch, "sm_75");
  EXPECT_EQ(choose_target(api, 90, "sm_90a").arch, "sm_90a");
  EXPECT_TRUE(choose_target(api, 90, "compute_75").is_ptx);
  EXPECT_THROW(choose_target(api, 90, "hopper"), InvalidArgument);
  EXPECT_THROW(choose_target(api, 90, "sm_"), InvalidArgument);
  EXPECT_THROW(choose_target(api, 90, "sm_91"), InvalidArgument);
}

}  // namespace
}  // namespace gpuos::jit
