#include "jit/compile_options.h"

#include <gtest/gtest.h>

#include "errors.h"
#include "gpuos/error.h"

namespace gpuos::jit {
namespace {

using Flags = std::vector<std::string>;

std::string refusal(const JitOptions& options) {
  return thrown_by<InvalidArgument>([&] { check_options(options); });
}

TEST(CompileOptions, DefaultsAreOnlyTheStandard) {
  EXPECT_EQ(option_flags({}), (Flags{"--std=c++20"}));
  EXPECT_EQ(refusal({}), "");
}

TEST(CompileOptions, EachFieldIsAFlag) {
  const JitOptions options{.std = "c++17",
                           .defines = {{"N", "4"}, {"EMPTY", ""}},
                           .max_registers = 40,
                           .fast_math = true,
                           .line_info = true,
                           .debug = true,
                           .optimization = 1,
                           .fast_compile = FastCompile::Max,
                           .extra = {"--restrict"}};
  EXPECT_EQ(
      option_flags(options),
      (Flags{"--std=c++17", "--define-macro=N=4",
             "--define-macro=EMPTY=", "--maxrregcount=40", "--use_fast_math",
             "--generate-line-info", "--device-debug", "--ptxas-options=-O1",
             "--Ofast-compile=max", "--restrict"}));
}

TEST(CompileOptions, WrongValuesAreRefusedWithTheValue) {
  EXPECT_EQ(refusal({.std = "c++98"}),
            "JitOptions: std: expected c++11, c++14, c++17, c++20 or c++23, "
            "got 'c++98'");
  EXPECT_EQ(refusal({.max_registers = 8}),
            "JitOptions: max_registers: expected 0 or 16 to 255, got 8");
  EXPECT_EQ(refusal({.optimization = 4}),
            "JitOptions: optimization: expected 0 to 3, got 4");
  EXPECT_EQ(refusal({.defines = {{"2x", ""}}}),
            "JitOptions: defines: expected a name, got '2x'");
  EXPECT_EQ(refusal({.defines = {{"X", "1\n2"}}}),
            "JitOptions: defines: X: expected one line, got more");
}

TEST(CompileOptions, ContradictingOptimizationLevelsAreRefused) {
  EXPECT_EQ(
      refusal({.optimization = 1, .fast_compile = FastCompile::Max}),
      "JitOptions: optimization: expected 3 with fast_compile='max', got 1");
  EXPECT_EQ(refusal({.debug = true, .optimization = 2}),
            "JitOptions: optimization: expected 0 or 3 with debug, got 2");
  EXPECT_EQ(refusal({.fast_compile = FastCompile::Min}), "");
  EXPECT_EQ(refusal({.debug = true, .optimization = 0}), "");
  EXPECT_EQ(refusal({.debug = true, .fast_compile = FastCompile::Mid}), "");
}

TEST(CompileOptions, TheCompilersOwnAreReadAndWrittenAgain) {
  const Flags flags{
      "--std=c++17",       "--define-macro=N=4",  "--define-macro=EMPTY=",
      "--maxrregcount=40", "--use_fast_math",     "--generate-line-info",
      "--device-debug",    "--Ofast-compile=max", "--restrict"};
  EXPECT_EQ(option_flags(jit_options_of(flags)), flags);
  const Flags others{"-DN=4",     "-DM",         "-std=c++14",      "-G=false",
                     "-lineinfo", "-arch=sm_80", "-maxrregcount=32"};
  const JitOptions options = jit_options_of(others);
  EXPECT_EQ(options.arch, "sm_80");
  EXPECT_EQ(option_flags(options),
            (Flags{"--std=c++14", "--define-macro=N=4", "--define-macro=M=1",
                   "--maxrregcount=32", "--generate-line-info"}));
  for (const char* wrong :
       {"--maxrregcount=many", "-G=perhaps", "-Ofc=soon", "-maxrregcount"})
    EXPECT_THROW(jit_options_of(Flags{wrong}), InvalidArgument) << wrong;
}

TEST(CompileOptions, ExtraOptionsLeaveTheFieldsAlone) {
  EXPECT_EQ(refusal({.extra = {"restrict"}}),
            "JitOptions: extra: expected options that begin with '-', got "
            "'restrict'");
  EXPECT_EQ(refusal({.extra = {"--std=c++14"}}),
            "JitOptions: extra: expected the field 'std' for this option, got "
            "'--std=c++14'");
  EXPECT_EQ(
      refusal({.extra = {"-DX=3"}}),
      "JitOptions: extra: expected the field 'defines' for this option, got "
      "'-DX=3'");
  EXPECT_EQ(
      refusal({.extra = {"-Ifolder"}}),
      "JitOptions: extra: expected the field 'include_dirs' for this option, "
      "got '-Ifolder'");
  EXPECT_EQ(refusal({.extra = {"-archive"}}), "");
}

TEST(CompileOptions, FilesThatNoKeyHasAreRefused) {
  for (const char* option :
       {"-include=a.h", "-include a.h", "--pre-include=a.h", "--pre-include",
        "-optf=a", "--options-file=a", "-pch", "--use-pch=a", "--pch-dir=a"}) {
    EXPECT_TRUE(says(refusal(jit_options_of(Flags{option})), "#include"))
        << option;
  }
}

}  // namespace
}  // namespace gpuos::jit
