// What a JitModule does without a GPU.
#include "gpuos/jit_module.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "gpuos/error.h"
#include "jit/compile_cache.h"
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
  EXPECT_NE(ptx.image().find(".target sm_80"), std::string::npos);
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

TEST_F(JitModuleTest, EmbeddedHeadersAreThere) {
  EXPECT_NO_THROW(
      compile({.source = "#include \"gpuos/math.h\"\n__global__ void k() {}"}));
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
  EXPECT_NE(error.log().find("1 error detected"), std::string::npos);
}

TEST_F(JitModuleTest, MissingFunctionIsNamed) {
  const CompileError error =
      failure({.source = "__device__ int g(int);\n"
                         "__global__ void k(int* x) { x[0] = g(1); }"});
  EXPECT_EQ(std::string(error.what()),
            "module.cu: g(int) is declared and not defined; used by k(int*)");
}

TEST_F(JitModuleTest, UnknownNameListsWhatThereIs) {
  const JitModule module =
      compile({.source = "template <class T> __global__ void k(T* x) {}",
               .name_expressions = {"k<float>"},
               .name = "mine.cu"});
  try {
    module.kernel("k<int>");
    FAIL() << "no exception";
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(std::string(error.what()),
              "mine.cu: expected the name of a kernel or variable (k<float>; "
              "templates are named in name_expressions), got 'k<int>'");
  }
}

TEST_F(JitModuleTest, ThreadsThatAskForOneSourceCompileItOnce) {
  std::vector<std::string> images(8);
  {
    std::vector<std::jthread> threads;
    for (std::string& image : images) {
      threads.emplace_back([&image] {
        image = compile({.source = "__global__ void once() {}"}).image();
      });
    }
  }
  for (const std::string& image : images) EXPECT_EQ(image, images[0]);
}

}  // namespace
}  // namespace gpuos
