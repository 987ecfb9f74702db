#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "cache_support.h"
#include "compile_request.h"
#include "gpuos/cache.h"
#include "gpuos/error.h"
#include "jit/objects/elf_resources.h"
#include "nvrtc_support.h"

// Each step of a test is a process, this program itself with another filter,
// that begins with an empty memory cache.
namespace gpuos::jit {
namespace {

CompileRequest axpy(const std::string& factor, int compute_capability) {
  return request_for("axpy",
                     concat("GPUOS_OPERATOR(axpy) {\n"
                            "  task.pointer<float>(0)[lane.index()] *= ",
                            factor, ";\n}\n"),
                     compute_capability);
}

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

TEST(DISABLED_Child, Compiles) {
  CompileRequest request = axpy(variable("GPUOS_TEST_FACTOR"),
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

TEST_F(CacheCompiler, EachSourceIsCompiledOnceForAnArchitecture) {
  for (int round = 1; round <= 2; ++round) {
    ASSERT_EQ(compile(1), 0);
    ASSERT_EQ(compile(2), 0);
    ASSERT_EQ(compile(1, 80), 0);
    EXPECT_EQ(compiled(), 3);
    EXPECT_EQ(from_disk(), round == 1 ? 0 : 3);
  }
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

TEST_F(CacheCompiler, WorkerIsKept) {
  ASSERT_EQ(wait_for(start("CompilesTheWorker")), 0);
  ASSERT_EQ(names_in(temp_.file("cache")).size(), 1u);
  ASSERT_EQ(wait_for(start("CompilesTheWorker")), 0);
  EXPECT_EQ(names_in(temp_.file("cache")).size(), 1u);
}

}  // namespace
}  // namespace gpuos::jit
