#include <gtest/gtest.h>

#include "errors.h"
#include "given_support.h"
#include "nvrtc_support.h"

namespace gpuos::cu {
namespace {

constexpr char kAxpy[] =
    "extern \"C\" __device__ float axpy(float x, float y, float a) {\n"
    "  return a * x + y;\n"
    "}\n";

class GivenRefusals : public testing::Test {
 protected:
  void SetUp() override { GPUOS_SKIP_WITHOUT_NVRTC(); }

  static void expect(const OperatorDefinition& definition,
                     const std::string& begin, const std::string& part = "",
                     int device = 90) {
    const std::string got = refusal(definition, device);
    EXPECT_TRUE(got.starts_with(begin)) << got << "\nexpected: " << begin;
    EXPECT_TRUE(says(got, part));
  }
};

// Each kind where each other one, or none, is expected.
TEST_F(GivenRefusals, OtherKindsAreNamed) {
  struct Other {
    std::string bytes;
    const char* name;
    Kind kind = Kind::Ptx;
    bool is_kind = false;
  };
  std::vector<Other> others{
      {"", "nothing"},
      {"some.ptx", "one line that is none; a file is given as its path"},
      {kAxpy, "text that is none; CUDA C++ is given as source"},
      {std::string("\x50\xed\x55\xba and so on"), "a fat binary"},
      {std::string("a\0b", 3), "other bytes"}};
  for (const Kind kind : kKinds)
    others.push_back({made_object(kind, kAxpy, 80),
                      kind == Kind::Ptx     ? "PTX, which is given as ptx"
                      : kind == Kind::LtoIr ? "LTO-IR, which is given as ltoir"
                                            : "a relocatable CUBIN, which is "
                                              "given as cubin",
                      kind, true});
  for (const Kind kind : kKinds)
    for (const Other& other : others) {
      if (other.is_kind && other.kind == kind) continue;
      expect(axpy_of(kind, other.bytes), "InvalidArgument axpy: expected ",
             concat(name_of(kind), ", got ", other.name));
    }
}

TEST_F(GivenRefusals, MissingFunctionsListThoseThatThereAre) {
  const std::string source =
      concat(kAxpy, "extern \"C\" __global__ void k(float* x) { *x = 1; }");
  for (const Kind kind : kKinds) {
    const std::string object = made_object(kind, source, 90);
    const std::string error =
        kind == Kind::LtoIr ? "CompileError" : "InvalidArgument";
    for (const char* name : {"axpy", "k (a kernel)"}) {
      // Uncalled LTO-IR has been removed by then.
      if (kind == Kind::LtoIr && name[0] == 'a') continue;
      expect(axpy_of(kind, object, "other"),
             concat(error,
                    " axpy: expected float other(float, float, float), "
                    "got an object with "),
             name);
    }
    expect(axpy_of(kind, object, "k"), concat(error, " axpy: expected float k"),
           "got the kernel k; JitModule(image=...) loads");
  }
  expect(axpy_of(Kind::Ptx, ".version 7.0\n.target sm_80\n"),
         "InvalidArgument ", "got an object with no functions");
}

TEST_F(GivenRefusals, HiddenFunctionsAreSaidToBeHidden) {
  expect(axpy_of(Kind::Ptx,
                 ".version 7.0\n.target sm_80\n.address_size 64\n"
                 ".func (.param .b32 r) axpy(.param .b32 x, .param .b32 y,"
                 " .param .b32 a) { ret; }\n"),
         "InvalidArgument ", "that other objects cannot call");
}

// All signatures of a definition except its own are refused.
TEST_F(GivenRefusals, OtherSignaturesNameBoth) {
  struct Shape {
    std::string declaration;  // of f
    OperatorDefinition definition;
  };
  const auto make = [](std::vector<Parameter> params, DType dtype, int inputs,
                       bool elementwise) {
    return OperatorDefinition{.name = "f",
                              .params = std::move(params),
                              .dtypes = {dtype},
                              .inputs = inputs,
                              .elementwise = elementwise};
  };
  const std::vector<Shape> shapes{
      {"float f()", make({}, DType::Float32, 0, true)},
      {"float f(float)", make({}, DType::Float32, 1, true)},
      {"float f(float, float)", make({}, DType::Float32, 2, true)},
      {"double f(double)", make({}, DType::Float64, 1, true)},
      {"double f(double, float)",
       make({{"p", DType::Float32}}, DType::Float64, 1, true)},
      {"float f(float, double)",
       make({{"p", DType::Float64}}, DType::Float32, 1, true)},
      {"void f(float*, long long, long long, long long)",
       make({}, DType::Float32, 0, false)},
      {"void f(float*, const float*, long long, long long, long long)",
       make({}, DType::Float32, 1, false)},
      {"void f(float*, int, long long, long long, long long)",
       make({{"p", DType::Int32}}, DType::Float32, 0, false)},
  };
  for (const Kind kind : kKinds) {
    for (const Shape& is : shapes) {
      const std::string body =
          is.declaration.starts_with("void") ? "{}" : "{ return 1; }";
      const std::string object = made_object(
          kind, concat("extern \"C\" __device__ ", is.declaration, body), 90);
      for (const Shape& wanted : shapes) {
        OperatorDefinition definition = wanted.definition;
        definition.object = DeviceObject{kind, object, ""};
        if (&is == &wanted)
          EXPECT_EQ(refusal(definition), "built") << is.declaration;
        else
          expect(
              definition,
              concat(kind == Kind::LtoIr ? "CompileError" : "InvalidArgument",
                     " f: expected ", wanted.declaration, ", which is ("),
              " bytes, got (");
      }
    }
  }
}

TEST_F(GivenRefusals, WhatHasNoFunctionOfC) {
  const std::string text = stored_object("functions.clang.ptx");
  OperatorDefinition definition = axpy_of(Kind::Ptx, text);
  definition.inputs = -1;
  expect(definition, "InvalidArgument axpy: expected `inputs`");
  definition = axpy_of(Kind::Ptx, text);
  definition.dtypes = {DType::Complex64};
  expect(definition, "InvalidArgument axpy: expected a dtype", "complex64; a");
  definition = axpy_of(Kind::Ptx, text);
  definition.params = {{"alpha", DType::Complex64}};
  expect(definition, "InvalidArgument axpy: expected a dtype",
         "complex64 for a parameter");
  for (const char* symbol : {"a$b", "1a", "a b", "f;"})
    expect(axpy_of(Kind::Ptx, text, symbol),
           "InvalidArgument axpy: expected a symbol that is a name of C");
}

TEST_F(GivenRefusals, NewerArchitecturesAreNamed) {
  for (const int device : {80, 90}) {
    const std::string ours = concat("sm_", device);
    for (const char* theirs : {"sm_100", "sm_999", "sm_90a", "sm_100f"}) {
      std::string text = stored_object("functions.clang.ptx");
      const std::size_t at = text.find("\n.target sm_70");
      text.replace(at, 14, concat("\n.target ", theirs));
      expect(axpy_of(Kind::Ptx, text),
             concat("CompileError axpy: expected PTX for ", ours,
                    " or an older architecture, got PTX for ", theirs),
             "", device);
    }
  }
  for (const auto& [made, device] : {std::pair{90, 80}, {80, 90}, {90, 120}}) {
    if (jit::nvrtc().archs.back() < device) continue;
    expect(axpy_of(Kind::Cubin, made_object(Kind::Cubin, kAxpy, made)),
           concat("CompileError axpy: expected a CUBIN for sm_", device),
           concat("got one for sm_", made), device);
  }
}

TEST_F(GivenRefusals, NewerCompilersAreNamed) {
  std::string text = stored_object("functions.clang.ptx");
  text.replace(text.find("\n.version 6.0"), 13, "\n.version 99.9");
  expect(axpy_of(Kind::Ptx, text),
         "CompileError axpy: expected PTX of version ",
         " reads, got version 99.9; install a newer one with: pip install");
  std::string newer = made_object(Kind::LtoIr, kAxpy, 80);
  newer[4] = '\x7f';  // where its format's version is
  expect(axpy_of(Kind::LtoIr, newer), "CompileError axpy: expected LTO-IR that",
         "a newer compiler");
}

TEST_F(GivenRefusals, WrongInstructionsKeepTheLinkersText) {
  expect(axpy_of(Kind::Ptx,
                 ".version 7.0\n.target sm_80\n.address_size 64\n"
                 ".visible .func (.param .b32 r) axpy(.param .b32 x,"
                 " .param .b32 y, .param .b32 a) { wrong; }\n"),
         "CompileError link: ", "wrong");
}

TEST_F(GivenRefusals, LinkedCubinsAreRefused) {
  const std::string linked = made_object(
      Kind::Cubin, "extern \"C\" __global__ void axpy(float* x) { *x = 1; }",
      90, 0, false);
  expect(axpy_of(Kind::Cubin, linked),
         "InvalidArgument axpy: expected a relocatable CUBIN, got one that is "
         "linked already");
  const std::string whole = made_object(Kind::Cubin, kAxpy, 90);
  // Any prefix of the file causes neither a crash nor an image.
  for (std::size_t missing = 1; missing < whole.size();
       missing += missing < 200 ? 1 : 97)
    expect(axpy_of(Kind::Cubin, whole.substr(0, whole.size() - missing)),
           "InvalidArgument ");
}

// PTX and LTO-IR are compiled here, which shows their needs.
TEST_F(GivenRefusals, ExceededLimitsOfAWorkerAreNamed) {
  struct Need {
    std::string body;  // of axpy, which gives back its y
    std::string said;
    std::string before{};
  };
  const std::vector<Need> needs{
      {"__shared__ float s[32]; s[threadIdx.x & 31] = x; __syncthreads();"
       " y = s[(threadIdx.x + 1) & 31];",
       "bytes of __shared__ memory, the worker has 0"},
      {"y = deep(static_cast<int>(x));", "a stack without a known bound",
       "__device__ __noinline__ float deep(int n) {"
       " return n < 2 ? n : deep(n - 1) * deep(n - 2); }\n"},
      {"volatile float v[2000]; for (int i = 0; i < 2000; ++i) v[i] = x;"
       " y = v[static_cast<int>(y)];",
       "bytes of stack with 64 registers, the worker has 1024"},
      {"y = c[static_cast<int>(x)];", "bytes of __constant__ memory",
       "__constant__ float c[64];\n"},
      {"asm volatile(\"barrier.sync 3;\");",
       "barriers, an operator can have 1, lane.barrier()"},
      {"y = *static_cast<float*>(malloc(static_cast<unsigned>(x)));",
       "uses malloc, an operator has no heap"},
  };
  for (const Kind kind : kKinds) {
    for (const Need& need : needs) {
      SCOPED_TRACE(name_of(kind));
      const std::string source =
          concat(need.before,
                 "extern \"C\" __device__ float axpy(float x, float y, float a)"
                 " { ",
                 need.body, " return y; }\n");
      expect(axpy_of(kind, made_object(kind, source, 90)), "CompileError axpy",
             need.said);
    }
  }
}

// Compiled code keeps its registers. Other code is compiled to fit.
TEST_F(GivenRefusals, TooManyRegistersOfACubinAreNamed) {
  std::string source =
      "extern \"C\" __device__ float axpy(float x, float y, float a) {\n"
      "  float v[72];\n#pragma unroll\n"
      "  for (int i = 0; i < 72; ++i) v[i] = __sinf(x * i);\n"
      "  for (int k = 0; k < 9; ++k) {\n#pragma unroll\n"
      "    for (int i = 0; i < 72; ++i) v[i] = v[i] * v[(i + 7) % 72] + a;\n"
      "  }\n#pragma unroll\n"
      "  for (int i = 0; i < 72; ++i) y += v[i];\n  return y;\n}\n";
  expect(axpy_of(Kind::Cubin, made_object(Kind::Cubin, source, 90)),
         "CompileError axpy: needs ",
         " registers, the worker has 64; compile the CUBIN with "
         "-maxrregcount=64, or give PTX");
  for (const Kind kind : kKinds)
    EXPECT_EQ(refusal(axpy_of(kind, made_object(kind, source, 90, 64))),
              "built")
        << name_of(kind);
  EXPECT_EQ(refusal(axpy_of(Kind::Ptx, made_object(Kind::Ptx, source, 90))),
            "built");
}

TEST_F(GivenRefusals, NamesOfCudaAreRefused) {
  const std::string text = stored_object("functions.clang.ptx");
  std::string other = text;
  for (std::size_t at = other.find("cube"); at != other.npos;
       at = other.find("cube", at))
    other.replace(at, 4, "erfcinv");
  const OperatorDefinition definition{
      .name = "f",
      .object = DeviceObject{Kind::Ptx, other, "erfcinv"},
      .dtypes = {DType::Float64},
      .inputs = 1};
  expect(definition, "CompileError f.cu: expected a symbol that CUDA C++ does ",
         "got erfcinv");
}

TEST_F(GivenRefusals, TheHostHasNoPlaceForThem) {
  OperatorDefinition definition =
      axpy_of(Kind::Ptx, stored_object("functions.clang.ptx"));
  EXPECT_EQ(thrown_by<BackendUnavailable>(
                [&] { complete_object(definition, traits_of("host")); }),
            "axpy: expected a source or an expression on the host "
            "backend, got an object with code for a GPU");
}

}  // namespace
}  // namespace gpuos::cu
