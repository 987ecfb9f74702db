#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/concat.h"
#include "cache_support.h"
#include "gpuos/cache.h"
#include "gpuos/error.h"
#include "jit/elf_resources.h"
#include "jit/operator_compiler.h"
#include "nvrtc_support.h"

// Each step of a test is a process, this program itself with another filter,
// that begins with an empty memory cache.
namespace gpuos::jit {
namespace {

CompileRequest axpy(int factor, int compute_capability = 90) {
  return {.source = concat("#include \"gpuos/operator.h\"\n"
                           "GPUOS_OPERATOR(axpy) {\n"
                           "  task.pointer<float>(0)[lane.index()] *= ",
                           factor, ";\n}\n"),
          .file_name = "axpy.cu",
          .entries = {"axpy"},
          .compute_capability = compute_capability,
          .budget = {.registers = 64, .stack_bytes = 1024}};
}

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

TEST(DISABLED_Child, Compiles) {
  CompileRequest request = axpy(std::stoi(variable("GPUOS_TEST_FACTOR")),
                                std::stoi(variable("GPUOS_TEST_DEVICE")));
  const std::string header = variable("GPUOS_TEST_HEADER");
  if (!header.empty())
    request.source = concat("#include \"", header, "\"\n", request.source);
  const Image image = compile_operators(request);
  EXPECT_TRUE(has_symbol(image.binary, "gpuos_op_axpy"));
  EXPECT_EQ(image.entries, std::vector<std::string>{"gpuos_entry_axpy"});
  EXPECT_GT(image.needs.registers, 0u);
}

TEST(DISABLED_Child, CompilesTheWorker) {
  EXPECT_TRUE(has_symbol(compile_worker(90), "gpuos_worker"));
}

TEST(DISABLED_Child, FailsToCompile) {
  CompileRequest request = axpy(1);
  request.source += "wrong";
  EXPECT_THROW(compile_operators(request), CompileError);
}

TEST(DISABLED_Child, IsMeasured) {
  const std::array requests{axpy(1), axpy(2)};
  compile_operators(requests[0]);  // opens the libraries
  const auto since = [](auto start) {
    return std::chrono::duration<double, std::micro>(
               std::chrono::steady_clock::now() - start)
        .count();
  };
  auto start = std::chrono::steady_clock::now();
  compile_operators(requests[1]);
  const double disk_us = since(start);
  constexpr int kRounds = 1000;
  start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRounds; ++i) compile_operators(requests[1]);
  const double memory_us = since(start) / kRounds;
  EXPECT_EQ(compiler_stats().from_disk, 2u);
  std::ofstream(variable("GPUOS_TEST_OUT")) << disk_us << ' ' << memory_us;
}

class CacheCompiler : public testing::Test {
 protected:
  void SetUp() override {
    GPUOS_SKIP_WITHOUT_NVRTC();
    set("GPUOS_CACHE_DIR", temp_.file("cache"));
    set("GPUOS_LOG", temp_.file("log"));
  }
  static void set(const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
  }
  static pid_t start(const std::string& test) {
    const pid_t child = fork();
    if (child != 0) return child;
    const std::string filter = "--gtest_filter=DISABLED_Child." + test;
    execl("/proc/self/exe", "child", "--gtest_also_run_disabled_tests",
          filter.c_str(), "--gtest_brief=1", nullptr);
    _exit(97);
  }
  static int compile(int factor, int device = 90) {
    set("GPUOS_TEST_FACTOR", std::to_string(factor));
    set("GPUOS_TEST_DEVICE", std::to_string(device));
    return wait_for(start("Compiles"));
  }
  int lines_with(const std::string& text) const {
    std::ifstream log(temp_.file("log"));
    int count = 0;
    for (std::string line; std::getline(log, line);)
      count += line.find(text) != std::string::npos ? 1 : 0;
    return count;
  }
  int compiled() const { return lines_with("compiled for"); }
  int from_disk() const { return lines_with("from the disk cache"); }

  const host::TempFolder temp_;
};

TEST_F(CacheCompiler, SecondProcessDoesNotCompile) {
  ASSERT_EQ(compile(1), 0);
  ASSERT_EQ(compile(1), 0);
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(from_disk(), 1);
}

TEST_F(CacheCompiler, EditedSourceIsCompiled) {
  ASSERT_EQ(compile(1), 0);
  ASSERT_EQ(compile(2), 0);
  EXPECT_EQ(compiled(), 2);
}

TEST_F(CacheCompiler, EditedHeaderIsCompiled) {
  const std::string header = temp_.file("mine.h");
  set("GPUOS_TEST_HEADER", header);
  std::ofstream(header) << "#define FACTOR 2\n";
  ASSERT_EQ(compile(3), 0);
  std::ofstream(header) << "#define FACTOR 4\n";
  ASSERT_EQ(compile(3), 0);
  unsetenv("GPUOS_TEST_HEADER");
  EXPECT_EQ(compiled(), 2);
  EXPECT_EQ(from_disk(), 0);
}

TEST_F(CacheCompiler, AnotherArchitectureIsCompiled) {
  ASSERT_EQ(compile(1, 90), 0);
  ASSERT_EQ(compile(1, 80), 0);
  EXPECT_EQ(compiled(), 2);
  ASSERT_EQ(compile(1, 80), 0);
  EXPECT_EQ(compiled(), 2);
}

TEST_F(CacheCompiler, SixteenProcessesAtOnceCompileOnce) {
  set("GPUOS_TEST_FACTOR", "1");
  set("GPUOS_TEST_DEVICE", "90");
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) children.push_back(start("Compiles"));
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(from_disk(), 15);
}

TEST_F(CacheCompiler, SwitchedOffItCompilesAndWritesNothing) {
  set("HOME", temp_.path());
  unsetenv("XDG_CACHE_HOME");
  for (const char* off : {"off", ""}) {
    set("GPUOS_CACHE_DIR", off);
    ASSERT_EQ(compile(1), 0);
  }
  EXPECT_EQ(compiled(), 2);
  std::vector<std::string> names = names_in(temp_.path());
  std::erase(names, ".nv");  // the driver's own, where there is one
  EXPECT_EQ(names, std::vector<std::string>{"log"});
}

TEST_F(CacheCompiler, NoHomeIsNoFailure) {
  unsetenv("GPUOS_CACHE_DIR");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  set("GPUOS_TEST_NO_CACHE_DIR", "1");
  ASSERT_EQ(compile(1), 0);
  unsetenv("GPUOS_TEST_NO_CACHE_DIR");
  EXPECT_EQ(compiled(), 1);
}

TEST_F(CacheCompiler, FailureIsNotKept) {
  EXPECT_EQ(wait_for(start("FailsToCompile")), 0);
  EXPECT_EQ(wait_for(start("FailsToCompile")), 0);
  EXPECT_EQ(from_disk(), 0);
}

TEST_F(CacheCompiler, WorkerIsKept) {
  ASSERT_EQ(wait_for(start("CompilesTheWorker")), 0);
  ASSERT_EQ(names_in(temp_.file("cache")).size(), 1u);
  ASSERT_EQ(wait_for(start("CompilesTheWorker")), 0);
  EXPECT_EQ(names_in(temp_.file("cache")).size(), 1u);
}

TEST_F(CacheCompiler, HitsAreQuick) {
  ASSERT_EQ(compile(1), 0);
  ASSERT_EQ(compile(2), 0);
  set("GPUOS_TEST_OUT", temp_.file("times"));
  ASSERT_EQ(wait_for(start("IsMeasured")), 0);
  double disk_us = 1e9;
  double memory_us = 1e9;
  std::ifstream(temp_.file("times")) >> disk_us >> memory_us;
  RecordProperty("disk_us", std::to_string(disk_us));
  RecordProperty("memory_us", std::to_string(memory_us));
  // Generous: the machine may be busy or slowed by a sanitizer.
  EXPECT_LT(disk_us, 100'000);
  EXPECT_LT(memory_us, 5000);
}

}  // namespace
}  // namespace gpuos::jit
