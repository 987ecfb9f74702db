#include "host/host_compiler.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/concat.h"
#include "base/environment.h"
#include "deadlines.h"
#include "gpuos/error.h"
#include "host/temp_folder.h"
#include "operator_support.h"

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

/// Sets a variable of the environment until the end of the scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    const char* old = getenv(name);
    had_ = old != nullptr;
    if (had_) old_ = old;
    if (value == nullptr) {
      unsetenv(name);
    } else {
      setenv(name, value, 1);
    }
    note_environment();
  }
  ~ScopedVariable() {
    if (had_) {
      setenv(name_, old_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
    note_environment();
  }

 private:
  const char* name_;
  bool had_ = false;
  std::string old_;
};

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

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(HostCompiler, RunsAnOperator) {
  const HostModule module = compile_host_operator({kTwice, "twice"});
  EXPECT_EQ(call<float>(module.entry, {{1, 2, 3}}, 3),
            (std::vector<float>{2, 4, 6}));
}

TEST(HostCompiler, KnowsTheNamesThatCudaKnows) {
  const HostModule module = compile_host_operator(
      {"__device__ __forceinline__ float f(float x) { return expf(x); }\n"
       "GPUOS_OPERATOR(e) { *task.pointer<float>(0) =\n"
       "    f(*task.pointer<float>(1)) + fmaxf(1.0f, 2.0f); }",
       "e"});
  EXPECT_EQ(call<float>(module.entry, {{0}}, 1)[0], 3);
}

TEST(HostCompiler, TakesHeadersOfTheLibraryBesideOurs) {
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
  EXPECT_TRUE(contains(error.what(), "bad: ")) << error.what();
  EXPECT_TRUE(contains(error.what(), "bad.cpp:2:3: error: ")) << error.what();
  EXPECT_EQ(error.place().file, "bad.cpp");
  EXPECT_EQ(error.place().line, 2);
  EXPECT_EQ(error.place().column, 3);
  EXPECT_EQ(error.place().excerpt, "  nonsense = 1;\n  ^");
  EXPECT_TRUE(contains(error.log(), "nonsense"));
  EXPECT_FALSE(contains(error.log(), "/gpuos-"));
}

TEST(HostCompiler, DeviceOnlyNamesGetAHint) {
  const CompileError error = error_of(
      {"GPUOS_OPERATOR(e) { task.pointer<int>(0)[threadIdx.x] = 1; }", "e"});
  EXPECT_TRUE(contains(error.what(), "lane.index()")) << error.what();
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
  EXPECT_TRUE(contains(error.what(), "nowhere")) << error.what();
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
  EXPECT_TRUE(contains(error.what(), "to end within 100 ms")) << error.what();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kDeadline);
}

TEST(HostCompiler, NoCompilerSaysWhatToInstall) {
  const ScopedVariable compiler("CXX", nullptr);
  const ScopedVariable path("PATH", "/nowhere");
  try {
    compile_host_operator({concat(kTwice, "// no compiler"), "twice"});
    FAIL() << "expected BackendUnavailable";
  } catch (const BackendUnavailable& error) {
    EXPECT_TRUE(contains(error.what(), "apt install g++")) << error.what();
    EXPECT_TRUE(contains(error.what(), "CXX")) << error.what();
  }
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
      if (contains(line, "/gpuos-") && contains(line, ".so")) return true;
    }
    return false;
  };
  {
    const HostModule module = compile_host_operator({kTwice, "twice"});
    EXPECT_TRUE(is_mapped());
  }
  EXPECT_FALSE(is_mapped());
}

TEST(HostCompiler, ExceptionsReachTheCaller) {
  const HostModule module = compile_host_operator(
      {"#include <stdexcept>\n"
       "GPUOS_OPERATOR(e) { throw std::runtime_error(\"no luck\"); }",
       "e"});
  EXPECT_THROW(call<int>(module.entry, {}, 1), std::runtime_error);
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
