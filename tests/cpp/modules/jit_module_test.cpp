// Tests of JitModule without a GPU.
#include "gpuos/jit_module.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "errors.h"
#include "gpuos/error.h"
#include "host/temp_folder.h"
#include "jit/cache/compile_cache.h"
#include "nvrtc_support.h"

namespace gpuos {
namespace {

class JitModuleTest : public testing::Test {
 protected:
  void SetUp() override { GPUOS_SKIP_WITHOUT_NVRTC(); }

  static JitModule compile(JitSource source) {
    if (source.options.arch.empty()) source.options.arch = "sm_90";
    return JitModule(std::move(source));
  }
  static CompileError failure(JitSource source) {
    try {
      compile(std::move(source));
    } catch (const CompileError& error) {
      return error;
    }
    return {"compiled", ""};
  }
};

TEST_F(JitModuleTest, CompilesForTheArchitectureThatIsAsked) {
  const JitModule cubin =
      compile({.source = "extern \"C\" __global__ void k() {}"});
  EXPECT_EQ(cubin.arch(), "sm_90");
  EXPECT_TRUE(
      cubin.image().starts_with("\x7f"
                                "ELF"));
  const JitModule ptx =
      compile({.source = "extern \"C\" __global__ void k() {}",
               .options = {.arch = "compute_80"}});
  EXPECT_EQ(ptx.arch(), "compute_80");
  EXPECT_TRUE(says(ptx.image(), ".target sm_80"));
}

TEST_F(JitModuleTest, HeadersByNameAreFoundAndCount) {
  JitSource source{.source =
                       "#include <two.h>\n__global__ void k(int* x) "
                       "{ x[0] = TWO; }",
                   .headers = {{"two.h", "#define TWO 2\n"}}};
  const std::string first = compile(source).image();
  source.headers[0].text = "#define TWO 3\n";
  EXPECT_NE(compile(source).image(), first);
}

// NVRTC would handle Ctrl-C itself while it reads, and end the process.
TEST_F(JitModuleTest, HandlersOfSignalsStayWhereTheyAre) {
  struct sigaction ours{};
  ours.sa_handler = [](int) {};  // no flags: a signal ends what waits
  struct sigaction before{};
  ASSERT_EQ(sigaction(SIGINT, &ours, &before), 0);
  // No cache has this source.
  const auto ticks =
      std::chrono::steady_clock::now().time_since_epoch().count();
  std::string source =
      "// " + std::to_string(ticks) + "\n__global__ void k(float* x) {\n";
  for (int i = 0; i < 300; ++i)
    source +=
        "x[" + std::to_string(i) + "] *= x[0] + " + std::to_string(i) + ";\n";
  source += "}";
  std::size_t looks = 0, others = 0;
  {
    const std::jthread watcher([&](const std::stop_token& stop) {
      for (; !stop.stop_requested(); ++looks) {
        struct sigaction now{};
        sigaction(SIGINT, nullptr, &now);
        others += now.sa_handler != ours.sa_handler ||
                  (now.sa_flags & SA_RESTART) != 0;
      }
    });
    compile({.source = source});
  }
  EXPECT_EQ(others, 0u) << "of " << looks;
  sigaction(SIGINT, &before, nullptr);
}

TEST_F(JitModuleTest, HeadersOfTheUsersMayIncludeTheirNeighbours) {
  const host::TempFolder folder;
  host::write_file(folder.file("one.h"), "#include \"two.h\"\n");
  const std::string& path = folder.path();
  const std::vector<std::vector<std::string>> options{
      {},
      {"-I" + path},
      {"-I", path},
      {"-I " + path},
      {"-I=" + path},
      {"--include-path=" + path},
      {"--include-path", path}};
  for (const auto& given : options) {
    host::write_file(folder.file("two.h"), "#define TWO 2\n");
    JitSource source{.source =
                         "#include <one.h>\nextern \"C\" __global__ "
                         "void k(int* x) { *x = TWO; }"};
    if (given.empty()) source.include_dirs = {path};
    source.options = jit_options_of(given);
    const std::string first = compile(source).image();
    host::write_file(folder.file("two.h"), "#define TWO 3\n");
    EXPECT_NE(compile(source).image(), first) << given.size();
  }
}

TEST_F(JitModuleTest, AFileComesBeforeTheStandardHeaderOfItsName) {
  const host::TempFolder folder;
  host::write_file(folder.file("limits.h"), "#define TWO 2\n");
  const JitSource source{.source =
                             "#include \"limits.h\"\nextern \"C\" __global__ "
                             "void k(int* x) { *x = TWO; }",
                         .include_dirs = {folder.path()}};
  const std::string first = compile(source).image();
  host::write_file(folder.file("limits.h"), "#define TWO 3\n");
  EXPECT_NE(compile(source).image(), first);
}

TEST_F(JitModuleTest, MissingHeaderOfCudaNamesItsPackage) {
  const std::string message =
      failure({.source = "#include <curand_kernel.h>\n"}).what();
  if (message == "compiled") GTEST_SKIP() << "cuRAND's headers are here";
  EXPECT_TRUE(says(message, "pip install"));
}

TEST_F(JitModuleTest, OptionsReachTheCompiler) {
  const std::string source =
      "#ifndef N\n#error \"no N\"\n#endif\n__global__ void k(int* x) "
      "{ x[0] = N; }";
  EXPECT_NO_THROW(
      compile({.source = source, .options = {.defines = {{"N", "4"}}}}));
  EXPECT_EQ(failure({.source = source}).place().line, 2);
  EXPECT_THROW(compile({.source = source, .options = {.optimization = 9}}),
               InvalidArgument);
}

TEST_F(JitModuleTest, ErrorHasFileLineColumnAndCaret) {
  const CompileError error = failure(
      {.source = "#line 40 \"cell.cu\"\n__global__ void k(int* x) {\n  x[0] = "
                 "foo;\n}\n",
       .name = "mine.cu"});
  EXPECT_EQ(error.place().file, "cell.cu");
  EXPECT_EQ(error.place().line, 41);
  EXPECT_EQ(error.place().column, 10);
  EXPECT_EQ(error.place().excerpt, "  x[0] = foo;\n         ^");
  EXPECT_EQ(std::string(error.what()),
            "cell.cu:41: error: identifier \"foo\" is undefined\n"
            "  x[0] = foo;\n         ^");
  EXPECT_TRUE(says(error.log(), "1 error detected"));
}

TEST_F(JitModuleTest, WrongNameExpressionIsNamed) {
  const CompileError error =
      failure({.source = "__global__ void k() {}",
               .name_expressions = {"k", "nothing<int>"}});
  EXPECT_TRUE(std::string(error.what())
                  .starts_with("module.cu: name_expressions: 'nothing<int>': "
                               "error: "))
      << error.what();
  EXPECT_EQ(error.place().line, 0);
}

TEST_F(JitModuleTest, MissingFunctionIsNamed) {
  const CompileError error =
      failure({.source = "__device__ int g(int);\n"
                         "__global__ void k(int* x) { x[0] = g(1); }"});
  EXPECT_EQ(std::string(error.what()),
            "module.cu: g(int) is declared and not defined; used by k(int*)");
}

TEST_F(JitModuleTest, UnknownNameListsTheKnownOnes) {
  const JitModule module =
      compile({.source = "template <class T> __global__ void k(T* x) {}",
               .name_expressions = {"k<float>"},
               .name = "mine.cu"});
  EXPECT_EQ(thrown_by<InvalidArgument>([&] { module.kernel("k<int>"); }),
            "mine.cu: expected the name of a kernel or variable (k<float>; "
            "templates are named in name_expressions), got 'k<int>'");
}

std::string refusal_of(const std::string& image) {
  return thrown_by<InvalidArgument>(
      [&] { JitModule::from_image(image, "mine"); });
}

TEST_F(JitModuleTest, ImagesNameTheirArchitecture) {
  const JitSource source{
      .source = "template <class T> __global__ void k(T* x) {}",
      .name_expressions = {"k<float>"}};
  for (const char* arch : {"sm_90", "compute_80", "compute_90a"}) {
    JitSource asked = source;
    asked.options.arch = arch;
    const std::string image = compile(asked).image();
    const JitModule module = JitModule::from_image(image);
    EXPECT_EQ(module.arch(), arch);
    EXPECT_EQ(module.image(), image);
    EXPECT_EQ(module.log(), "");
    // Checks that the module has the name. Without a GPU no more can be
    // checked.
    try {
      module.kernel("k<float>");
    } catch (const BackendUnavailable&) {
    } catch (const CudaError&) {
    } catch (const InvalidArgument& error) {
      EXPECT_TRUE(says(error.what(), "image that runs"));
    }
    EXPECT_THROW(module.kernel("k<int>"), InvalidArgument);
  }
}

TEST_F(JitModuleTest, AFileIsAnImageWithItsName) {
  const host::TempFolder folder;
  const std::string image =
      compile({.source = "__global__ void k() {}"}).image();
  host::write_file(folder.file("k.cubin"), image);
  const JitModule module = JitModule::from_file(folder.file("k.cubin"));
  EXPECT_EQ(module.name(), "k.cubin");
  EXPECT_EQ(module.image(), image);
  EXPECT_THROW(JitModule::from_file(folder.file("nothing")), InvalidArgument);
}

TEST(JitImage, OtherBytesAreRefused) {
  EXPECT_EQ(refusal_of(""), "mine: expected a CUBIN or PTX, got nothing");
  EXPECT_EQ(refusal_of("int x;"),
            "mine: expected a CUBIN or PTX, got text that is none; CUDA C++ is "
            "given as source");
  EXPECT_TRUE(says(refusal_of("\x50\xed\x55\xba"), "cuobjdump"));
  EXPECT_TRUE(says(refusal_of("\x7f"
                              "ELF and more"),
                   "an ELF file that is none"));
  EXPECT_EQ(refusal_of(".version 8.0\n.target sm_80\n"), "");
}

TEST_F(JitModuleTest, NamesThatNvccKnowsAreKnown) {
  const std::string kernel =
      "extern \"C\" __global__ void k(uint32_t* x) { *x = INT_MAX; }";
  // The names are known in each compilation, and errors keep their place.
  EXPECT_EQ(compile({.source = kernel}).log(), "");
  const CompileError error = failure({.source = kernel + "\nint y = foo;"});
  EXPECT_EQ(error.place().file, "module.cu");
  EXPECT_EQ(error.place().line, 2);
}

// CCCL's headers include each other by macros.
TEST_F(JitModuleTest, ASourceWithCubIsCompiledOnce) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  // No cache has this source.
  const JitSource source{.source =
                             "#include <cub/cub.cuh>\n// " +
                             std::to_string(begin.time_since_epoch().count())};
  try {
    compile(source);
  } catch (const CompileError& error) {
    if (std::string(error.what()).find("pip install") == std::string::npos)
      throw;
    GTEST_SKIP() << error.what();
  }
  const auto middle = Clock::now();
  compile(source);
  EXPECT_LT(Clock::now() - middle, (middle - begin) / 5);
}

// Some hundred instantiations keep NVRTC busy for long enough.
std::string large_source() {
  std::string text =
      "template <int N> __device__ float f(float x) { return f<N - 1>(x) * x + "
      "N; }\n"
      "template <> __device__ float f<0>(float x) { return x; }\n"
      "extern \"C\" __global__ void k(float* x) {\n";
  for (int i = 0; i < 40; ++i)
    text += "  x[" + std::to_string(i) + "] = f<" + std::to_string(150 + i) +
            ">(x[" + std::to_string(i) + "]);\n";
  // No cache has it.
  return text + "}\n// " +
         std::to_string(
             std::chrono::steady_clock::now().time_since_epoch().count());
}

TEST_F(JitModuleTest, FuturesHoldModulesAndErrors) {
  std::vector<std::future<JitModule>> futures;
  for (int i = 0; i < 6; ++i)
    futures.push_back(compile_async(
        {.source = "extern \"C\" __global__ void k(int* x) { *x = " +
                   std::to_string(i) + "; }",
         .options = {.arch = "sm_90"}}));
  for (auto& future : futures) EXPECT_EQ(future.get().arch(), "sm_90");
  auto broken =
      compile_async({.source = "broken", .options = {.arch = "sm_90"}});
  EXPECT_THROW(broken.get(), CompileError);
}

TEST_F(JitModuleTest, CancelledCompilationThrowsAndIsNotRemembered) {
  const JitSource source{.source = large_source(),
                         .options = {.arch = "sm_90"}};
  std::stop_source stop;
  auto cancelled = compile_async(source, 0, stop.get_token());
  auto wanted = std::async(std::launch::async, [&] { return compile(source); });
  stop.request_stop();
  EXPECT_THROW(cancelled.get(), Cancelled);
  EXPECT_EQ(wanted.get().arch(), "sm_90");
}

}  // namespace
}  // namespace gpuos
