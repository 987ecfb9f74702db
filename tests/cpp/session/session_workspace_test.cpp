#include "errors.h"
#include "session_support.h"

#include "gpuos/error.h"
#include "jit/objects/elf_resources.h"
#include "jit/objects/object_symbols.h"

namespace gpuos::session {
namespace {

TEST_F(WorkspaceTest, ALaterCellCallsAnEarlierOne) {
  run("__device__ float twice(float x) { return 2 * x; }");
  run("__global__ void k(float* x) { x[0] = twice(x[0]); }");
  const auto linked = link("k");
  EXPECT_EQ(linked->closure.functions.size(), 2u);
  EXPECT_TRUE(jit::has_symbol(linked->image, "_Z1kPf"));
  EXPECT_TRUE(jit::has_symbol(linked->image, "_Z5twicef"));
  EXPECT_EQ(link("k"), linked);
  EXPECT_EQ(compiled(), 2u);
}

TEST_F(WorkspaceTest, OnlyNeededObjectsAreLinked) {
  run("__device__ int one() { return 1; }"
      "__device__ int missing();"
      "__device__ int other() { return missing(); }"
      "__global__ void k(int* x) { x[0] = one(); }");
  EXPECT_EQ(link("k")->closure.functions.size(), 2u);
}

TEST_F(WorkspaceTest, TypesTemplatesMacrosAndIncludesReachLaterCells) {
  run("#include \"gpuos/libm.h\"\n"
      "#define SQUARE(x) ((x) * (x))\n"
      "struct Point { float x, y; };\n"
      "template <typename T> __device__ T half(T x) { return x / 2; }\n"
      "enum Side { left, right };\n"
      "using Number = float;\n"
      "namespace deep { constexpr int n = 3; "
      "__device__ float f(Point p) { return p.x; } }\n");
  run("__device__ Point operator+(Point a, Point b) {"
      "  return {a.x + b.x, a.y + b.y}; }");
  run("__global__ void k(Point* p, Number* x, Side side) {"
      "  p[0] = p[0] + p[side];"
      "  x[0] = half(SQUARE(x[0])) + deep::n + deep::f(p[0]) + right; }");
  EXPECT_EQ(link("k")->closure.functions.size(), 3u);
}

TEST_F(WorkspaceTest, AMacroMeansWhatItMeantWhereItIsUsed) {
  run("#define N 4\ninline __device__ int f() { return N; }\n#undef N\n"
      "#define N 5\n");
  run("__global__ void k(int* x) { static_assert(N == 5); x[0] = f(); }");
  run("#define N 4\n");
  const CellReport report =
      run("__device__ int g() { static_assert(N == 4); return f(); }");
  EXPECT_EQ(report.log, "");
  EXPECT_TRUE(workspace().undo());
  EXPECT_TRUE(workspace().undo());
  EXPECT_EQ(failure_of_cell("static_assert(N == 5);"), "");
}

TEST_F(WorkspaceTest, ADefinitionInAConditionalIsDecidedWhenItsCellRuns) {
  const std::string cell =
      "#ifdef DOUBLED\n__device__ int f() { return 2; }\n"
      "#elif defined(NEGATED)\n__device__ long f() { return -1; }\n"
      "#else\n#  if 1\n__device__ float f() { return 1; }\n#  endif\n"
      "#endif\n";
  const std::string user =
      "__device__ void g() { static_assert(sizeof(f()) == SIZE); "
      "f() % 2; }";
  run(cell);
  EXPECT_THROW(run("#define SIZE 4\n" + user), CompileError);  // of a float
  run("#define DOUBLED\n" + cell);
  run("#define SIZE 4\n" + user);
  run("#undef DOUBLED\n#define NEGATED\n" + cell);
  run("#define SIZE 8\n" + user);
  run("#if SIZE == 9\n__device__ int h();\n__device__ int none() { no }\n"
      "#endif\n__device__ int some() { return 1; }");
  EXPECT_THROW(run("__device__ int i() { return none(); }"), CompileError);
  EXPECT_THROW(run("#if 1 +\n__device__ int j() { return 1; }\n#endif"),
               CompileError);
}

TEST_F(WorkspaceTest, DeclarationsAreLinkedOnceTheirDefinitionsCome) {
  run("__global__ void foo(int* x); __global__ void bar(int* x);"
      "__device__ int later(int);");
  run("__global__ void foo(int* x) { x[0] = later(1); }");
  EXPECT_EQ(failure_of_link("bar"),
            "session: expected a definition of bar; it is declared in cell 1 "
            "and defined nowhere");
  EXPECT_EQ(failure_of_link("foo"),
            "session: expected a definition of later(int), which kernel foo "
            "(cell 2) uses; it is declared in cell 1 and defined nowhere");
  run("__device__ int later(int x) { return x; }");
  EXPECT_EQ(link("foo")->closure.functions.size(), 2u);
}

TEST_F(WorkspaceTest, CallersTakeTheNewestVersionWithoutBeingCompiled) {
  run("__device__ int f() { return 1; }");
  run("__global__ void k(int* x) { x[0] = f(); }");
  const auto before = link("k");
  run("__device__ int f() { return 2; }");
  const std::uint64_t compiled_before = compiled();
  const auto after = link("k");
  EXPECT_NE(before, after);
  EXPECT_NE(before->image, after->image);
  EXPECT_EQ(compiled(), compiled_before);
}

TEST_F(WorkspaceTest, AnotherResultTypeHasCallersCompiledAgain) {
  run("__device__ int f() { return 1; }");
  run("__global__ void k(float* x) { x[0] = f(); }");
  run("__device__ float f() { return 0.5f; }");
  const std::uint64_t before = compiled();
  link("k");
  EXPECT_EQ(compiled(), before + 1);
}

TEST_F(WorkspaceTest, ATypeDefinedAgainHasItsUsersCompiledAgain) {
  run("struct P { float x; };");
  run("__device__ float f(P* p) { return p[1].x; }");
  run("__global__ void k(P* p) { p[0].x = f(p); }");
  run("__global__ void other(float* x) { x[0] = 1; }");
  run("struct P { float y; float x; };");
  const std::uint64_t before = compiled();
  link("k");
  link("other");
  EXPECT_EQ(compiled(), before + 2);
  run("struct P { float y; };");
  const std::string failure = failure_of_link("k");
  EXPECT_TRUE(says(failure,
                   "kernel k (cell 3) was compiled again (P was defined "
                   "again in cell 6): cell 3:1: error"));
}

TEST_F(WorkspaceTest, AnEarlierTypeMayUseALaterOneWhenItIsDefinedAgain) {
  run("struct A { int x; }; struct B; struct C { A a; B* b; };"
      "struct B { C* c; };");
  run("struct D { int y; };");
  run("struct A { int x; D d; };");
  run("__global__ void k(C* c) { c->a.d.y = c->b->c->a.x; }");
  EXPECT_EQ(failure_of_link("k"), "");
}

TEST_F(WorkspaceTest, AVariableOfAnOldTypeIsRefused) {
  run("struct P { float x; }; __device__ P p;");
  run("__global__ void k() { p.x = 1; }");
  EXPECT_EQ(failure_of_link("k"), "");
  run("struct P { float y; float x; };");
  EXPECT_TRUE(says(failure_of_link("k"),
                   "variable p (cell 1): P was defined again in cell 3"));
  run("__device__ P p;");
  EXPECT_EQ(failure_of_link("k"), "");
}

TEST_F(WorkspaceTest, AnErrorLeavesEverythingAsItWas) {
  run("__device__ int f() { return 1; }"
      "__global__ void k(int* x) { x[0] = f(); }");
  const auto before = link("k");
  const std::string failure = failure_of_cell(
      "struct P { int x; };\n"
      "__device__ int f() { return 2; }\n"
      "__device__ int g() { return\n"
      "    unknown; }");
  EXPECT_TRUE(says(failure, "cell 2:4: error"));
  EXPECT_TRUE(says(failure, "unknown"));
  EXPECT_EQ(link("k"), before);
  EXPECT_NE(failure_of_cell("__device__ P p;"), "");
  EXPECT_EQ(run("__device__ int g() { return 3; }").cell, "cell 2");
}

TEST_F(WorkspaceTest, AnErrorInAnUnusedTypeIsReported) {
  EXPECT_TRUE(
      says(failure_of_cell("struct P { flaot x; };"), "cell 1:1: error"));
  EXPECT_NE(failure_of_cell("static_assert(sizeof(int) == 3);"), "");
  EXPECT_NE(failure_of_cell("__device__ flaot f(int);"), "");
}

TEST_F(WorkspaceTest, UndoTakesBackTheLastCell) {
  run("__device__ int f() { return 1; }"
      "__global__ void k(int* x) { x[0] = f(); }");
  const auto before = link("k");
  run("__device__ int f() { return 2; } struct P { int x; };");
  EXPECT_NE(link("k")->image, before->image);
  EXPECT_TRUE(workspace().undo());
  EXPECT_EQ(link("k")->image, before->image);
  EXPECT_NE(failure_of_cell("__device__ P p;"), "");
  EXPECT_TRUE(workspace().undo());
  EXPECT_NE(failure_of_link("k"), "");
  EXPECT_FALSE(workspace().undo());
}

TEST_F(WorkspaceTest, KernelTemplatesAreInstantiatedByName) {
  run("template <typename T, int N> __global__ void k(T* x) { x[0] = N; }");
  EXPECT_TRUE(jit::has_symbol(link("k<float, 3>")->image, "_Z1kIfLi3EEvPT_"));
  EXPECT_NE(failure_of_link("missing<int>"), "");
}

TEST_F(WorkspaceTest, OverloadsOfAKernelAreDistinct) {
  run("__global__ void k(int* x) { x[0] = 1; }");
  run("__global__ void k(float* x) { x[0] = 1; }");
  EXPECT_EQ(workspace().kernel("k")->symbol, "_Z1kPf");
  EXPECT_EQ(workspace().kernel("k(int*)")->symbol, "_Z1kPi");
}

TEST_F(WorkspaceTest, TextTakesThePlaceOfAnObject) {
  run("__device__ int n = 1; __device__ int f() { return 1; }");
  run("__global__ void k(int* x) { x[0] = f() + n; }");
  EXPECT_EQ(link("k")->closure.functions.size(), 2u);
  run("constexpr int n = 2; inline __device__ int f() { return 2; }");
  const auto linked = link("k");
  EXPECT_EQ(linked->closure.functions.size(), 1u);
  EXPECT_TRUE(linked->closure.variables.empty());
  EXPECT_EQ(workspace().find_variable("n"), nullptr);
  EXPECT_TRUE(workspace().undo());
  EXPECT_EQ(link("k")->closure.variables.size(), 1u);
}

TEST_F(WorkspaceTest, AStaticKernelIsAKernel) {
  run("static __global__ void k(int* x) { x[0] = 1; }"
      "inline __global__ void l(int* x) { x[0] = 1; }");
  EXPECT_EQ(failure_of_link("k") + failure_of_link("l"), "");
}

TEST_F(WorkspaceTest, UsersOfAVariableHoldItsAddressOnly) {
  run("__device__ float table[1000] = {1, 2};"
      "namespace m { __device__ int n = 3; __constant__ int c[] = {1, 2}; }");
  run("__global__ void k(float* x) {"
      "  static_assert(sizeof(table) == 4000 && sizeof(m::c) == 8);"
      "  x[0] = table[1] + m::n + m::c[1]; m::n = 4; }");
  const auto linked = link("k");
  EXPECT_EQ(linked->closure.variables.size(), 3u);
  EXPECT_LT(linked->image.size(), 20'000u);
  EXPECT_EQ(workspace().find_variable("table")->bytes, 4000u);
  EXPECT_EQ(workspace().find_variable("m::n")->symbol, "_ZN1m1nE");
  EXPECT_NE(failure_of_cell("__global__ void w() { m::c[0] = 1; }"), "");
}

TEST_F(WorkspaceTest, ImagesHavePlacesForAddressesAndStorage) {
  run("namespace m { __device__ int n; } __constant__ float c[2] = {1, 2};"
      "extern \"C\" __device__ double plain = 3;"
      "__global__ void k(float* x) { x[0] = m::n + c[1] + plain; }");
  const auto linked = link("k");
  ASSERT_EQ(linked->closure.variables.size(), 3u);
  std::string image = linked->image;
  std::vector<jit::SymbolAddress> addresses;
  for (const DefinitionPtr& variable : linked->closure.variables) {
    addresses.push_back({variable->symbol, 0x123456789abcdefu});
    const std::string storage = workspace().linker().link_storage(*variable);
    EXPECT_TRUE(jit::has_symbol(storage, variable->storage_symbol));
    EXPECT_FALSE(jit::has_symbol(storage, variable->symbol));
  }
  jit::put_addresses(image, addresses);
  EXPECT_EQ(image.size(), linked->image.size());
  EXPECT_NE(image, linked->image);
  addresses.push_back({"missing", 0});
  EXPECT_THROW(jit::put_addresses(image, addresses), CompileError);
}

TEST_F(WorkspaceTest, TheWholeSessionIsExportedAsOneImage) {
  run("__device__ int n = 3; __constant__ float c[4]; struct P { int x; };");
  run("__device__ int f(P p) { return p.x + n; }");
  run("__global__ void k(int* x) { x[0] = f({1}); }"
      "__global__ void other(float* x) { x[0] = c[0]; n = 4; }");
  const std::string image = workspace().linker().link_all();
  for (const char* name : {"_Z1kPi", "_Z5otherPf", "_Z1f1P", "n", "c"})
    EXPECT_TRUE(jit::has_symbol(image, name)) << name;
  run("__device__ int missing(); __device__ int g() { return missing(); }");
  EXPECT_TRUE(
      says(thrown_by([&] { workspace().linker().link_all(); }), "missing()"));
}

TEST_F(WorkspaceTest, TheReportSaysWhatACellHas) {
  const CellReport report =
      run("#define N 4\n"
          "namespace m { __device__ int n; }\n"
          "__global__ void k(int* x) { x[0] = N; }\n"
          "void both() { k<<<1, 1>>>(m::n); k<<<1, 2>>>(m::n); }\n"
          "both(); k<<<1, 1>>>(m::n);");
  EXPECT_EQ(report.defined,
            (std::vector<std::string>{"macro N", "variable m::n", "kernel k",
                                      "name both"}));
  EXPECT_EQ(report.statements.size(), 2u);
  EXPECT_EQ(workspace().find_launches("both")->statements.size(), 2u);
}

TEST_F(WorkspaceTest, ANameThatIsNotThereIsAnsweredWithThoseThatAre) {
  run("__global__ void k() {} __device__ int f() { return 1; }");
  EXPECT_EQ(failure_of_link("q"),
            "session: expected the name of a kernel (f, k), got 'q'");
  EXPECT_EQ(failure_of_link("f"),
            "session: expected the name of a kernel, got function f (cell 1)");
}

}  // namespace
}  // namespace gpuos::session
