#include "host/host_compiler.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/concat.h"
#include "deadlines.h"
#include "errors.h"
#include "gpuos/error.h"
#include "host/temp_folder.h"
#include "operator_support.h"
#include "scoped_variable.h"

namespace gpuos::host {
namespace {

using std::chrono::milliseconds;

constexpr const char* kTwice = R"(
#include "gpuos/operator.h"
GPUOS_OPERATOR(twice) {
  float* out = task.pointer<float>(0);
  const float* in = task.pointer<const float>(1);
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    out[i] = 2 * in[i];
}
)";

std::size_t entries_of(const std::string& folder) {
  DIR* handle = opendir(folder.c_str());
  std::size_t count = 0;
  while (readdir(handle) != nullptr) ++count;
  closedir(handle);
  return count - 2;
}

CompileError error_of(const HostCompileRequest& request) {
  try {
    compile_host_operator(request);
  } catch (const CompileError& error) {
    return error;
  }
  return CompileError("no error", "");
}

TEST(HostCompiler, KnowsTheNamesThatCudaKnows) {
  const HostModule module = compile_host_operator(
      {"__device__ __forceinline__ float f(float x) { return expf(x); }\n"
       "GPUOS_OPERATOR(e) { *task.pointer<float>(0) =\n"
       "    f(*task.pointer<float>(1)) + fmaxf(1.0f, 2.0f); }",
       "e"});
  EXPECT_EQ(call<float>(module.entry, {{0}}, 1)[0], 3);
}

TEST(HostCompiler, UsesHeadersOfTheStandardLibraryWithOurs) {
  const HostModule module = compile_host_operator(
      {"#include <cmath>\n#include <algorithm>\n#include <vector>\n"
       "#include \"gpuos/functions.h\"\n#include \"map.h\"\n"
       "GPUOS_OPERATOR(e) { *task.pointer<float>(0) =\n"
       "    std::max(std::exp(0.0f), gpuos::fn::exp(0.0f)) + expf(0); }",
       "e"});
  EXPECT_EQ(call<float>(module.entry, {}, 1)[0], 2);
}

TEST(HostCompiler, LeavesNoFiles) {
  const TempFolder folder;
  const ScopedVariable temp("TMPDIR", folder.path().c_str());
  const HostModule module =
      compile_host_operator({concat(kTwice, "// leaves no files"), "twice"});
  error_of({"GPUOS_OPERATOR(e) { nonsense; }", "e"});
  EXPECT_EQ(entries_of(folder.path()), 0u);
  EXPECT_EQ(call<float>(module.entry, {{4}}, 1)[0], 8);
}

TEST(HostCompiler, ErrorsCarryTheFirstLineAndTheLog) {
  const CompileError error =
      error_of({"GPUOS_OPERATOR(bad) {\n  nonsense = 1;\n}", "bad"});
  EXPECT_TRUE(says(error.what(), "bad: "));
  EXPECT_TRUE(says(error.what(), "bad.cpp:2:3: error: "));
  EXPECT_EQ(error.place().file, "bad.cpp");
  EXPECT_EQ(error.place().line, 2);
  EXPECT_EQ(error.place().column, 3);
  EXPECT_EQ(error.place().excerpt, "  nonsense = 1;\n  ^");
  EXPECT_TRUE(says(error.log(), "nonsense"));
  EXPECT_FALSE(says(error.log(), "/gpuos-"));
}

TEST(HostCompiler, DeviceOnlyNamesGetAHint) {
  const CompileError error = error_of(
      {"GPUOS_OPERATOR(e) { task.pointer<int>(0)[threadIdx.x] = 1; }", "e"});
  EXPECT_TRUE(says(error.what(), "lane.index()"));
}

TEST(HostCompiler, MissingEntryIsAnErrorThatNamesIt) {
  const CompileError error = error_of({kTwice, "thrice"});
  EXPECT_STREQ(error.what(),
               "thrice: expected GPUOS_OPERATOR(thrice) in the source, got "
               "GPUOS_OPERATOR(twice)");
}

TEST(HostCompiler, UndefinedSymbolsAreErrorsAndNotCrashes) {
  const CompileError error =
      error_of({"int nowhere();\nGPUOS_OPERATOR(e) { nowhere(); }", "e"});
  EXPECT_TRUE(says(error.what(), "nowhere"));
}

TEST(HostCompiler, DeadlineEndsTheCompilerAndItsChildren) {
  const TempFolder folder;
  const std::string script = folder.file("slow-c++");
  write_file(script, "#!/bin/sh\nsleep 3000 &\nwait\n");
  chmod(script.c_str(), 0700);
  const ScopedVariable compiler("CXX", script.c_str());
  const auto begin = std::chrono::steady_clock::now();
  const CompileError error =
      error_of({concat(kTwice, "// never ready"), "twice", milliseconds(100)});
  EXPECT_TRUE(says(error.what(), "to end within 100 ms"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kDeadline);
}

TEST(HostCompiler, NoCompilerSaysWhatToInstall) {
  const ScopedVariable compiler("CXX", nullptr);
  const ScopedVariable path("PATH", "/nowhere");
  const std::string error = thrown_by<BackendUnavailable>([&] {
    compile_host_operator({concat(kTwice, "// no compiler"), "twice"});
  });
  EXPECT_TRUE(says(error, "apt install g++"));
  EXPECT_TRUE(says(error, "CXX"));
}

TEST(HostCompiler, CxxThatIsNoProgramIsAnError) {
  const ScopedVariable compiler("CXX", "no-such-compiler -O1");
  EXPECT_THROW(find_host_compiler(), BackendUnavailable);
}

TEST(HostCompiler, CxxMayHaveMoreWords) {
  const std::string path = find_host_compiler().path;
  const ScopedVariable compiler("CXX", concat(path, " -DVALUE=5").c_str());
  const HostModule module = compile_host_operator(
      {"GPUOS_OPERATOR(e) { *task.pointer<int>(0) = VALUE; }", "e"});
  EXPECT_EQ(call<int>(module.entry, {}, 1)[0], 5);
}

TEST(HostCompiler, SecondRequestDoesNotCompile) {
  const HostCompileRequest request{concat(kTwice, "// again"), "twice"};
  compile_host_operator(request);
  const ScopedVariable path("PATH", "/nowhere");
  const ScopedVariable compiler("CXX", nullptr);
  EXPECT_NE(compile_host_operator(request).entry, nullptr);
}

TEST(HostCompiler, EveryModuleHasItsOwnStaticData) {
  const HostCompileRequest request{
      "static int calls = 0;\n"
      "GPUOS_OPERATOR(e) { *task.pointer<int>(0) = ++calls; }",
      "e"};
  const HostModule one = compile_host_operator(request);
  const HostModule two = compile_host_operator(request);
  EXPECT_EQ(call<int>(one.entry, {}, 1)[0], 1);
  EXPECT_EQ(call<int>(one.entry, {}, 1)[0], 2);
  EXPECT_EQ(call<int>(two.entry, {}, 1)[0], 1);
}

TEST(HostCompiler, LibraryIsUnloadedWithItsLastOwner) {
  const auto is_mapped = [] {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (says(line, "/gpuos-") && says(line, ".so")) return true;
    }
    return false;
  };
  {
    const HostModule module = compile_host_operator({kTwice, "twice"});
    EXPECT_TRUE(is_mapped());
  }
  EXPECT_FALSE(is_mapped());
}

TEST(HostCompiler, ThreadsCompileAtTheSameTime) {
  std::vector<std::thread> threads;
  std::vector<int> results(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&results, t] {
      const HostModule module = compile_host_operator(
          {concat("GPUOS_OPERATOR(e) { *task.pointer<int>(0) = ", t, "; }"),
           "e"});
      results[static_cast<std::size_t>(t)] = call<int>(module.entry, {}, 1)[0];
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, (std::vector<int>{0, 1, 2, 3}));
}

TEST(HostCompiler, CompilerHasAVersion) {
  EXPECT_NE(version_of(find_host_compiler()), "");
}

}  // namespace
}  // namespace gpuos::host
