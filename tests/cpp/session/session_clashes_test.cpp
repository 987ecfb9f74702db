#include <string>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "errors.h"
#include "jit/unit_compiler.h"
#include "session_support.h"

namespace gpuos::session {
namespace {

// A kind of entity that the name `a` may have, and a statement that uses it.
struct Kind {
  std::string_view word;
  std::string_view text;
  std::string_view use;
};

constexpr std::string_view kFirst =
    "namespace other { struct T { int m; }; __device__ int a(int, int); }";

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"function", "__device__ int a(int x) { return x; }", "x[0] = a(1);"},
      {"C function", "extern \"C\" { __device__ int a(long x) { return 1; } }",
       "x[0] = a(1l);"},
      {"other C function",
       "extern \"C\" { __device__ int a(char* x) { return 1; } }",
       "x[0] = a((char*)0);"},
      {"declaration", "__device__ int a(short);", "x[0] = a((short)1);"},
      {"kernel", "__global__ void a(int** x) {}",
       "static_cast<void (*)(int**)>(&a);"},
      {"template", "template <class T> __device__ T a(T* x) { return *x; }",
       "x[0] = a(x);"},
      {"variable", "__device__ int a = 3;", "x[0] = a;"},
      {"extern variable", "extern __device__ int a[4];", "x[0] = a[1];"},
      {"constant", "constexpr int a = 4;", "x[0] = a;"},
      {"class", "struct a { int m; };", "struct a s = {1}; x[0] = s.m;"},
      {"class template", "template <class T> struct a { T m; };",
       "a<int> s = {1}; x[0] = s.m;"},
      {"enumerator", "enum { zero, a = 4, b };", "x[0] = a;"},
      {"alias", "using a = int;", "x[0] = a(3.5);"},
      {"variable template", "template <class T> constexpr T a = 3;",
       "x[0] = a<int>;"},
      {"concept", "template <class T> concept a = sizeof(T) == 4;",
       "x[0] = a<int>;"},
      {"using-declaration", "using other::a;", "x[0] = a(1, 2);"},
      {"namespace", "namespace a { struct T { int m; }; }",
       "a::T s = {1}; x[0] = s.m;"},
      {"inner namespace", "namespace a::c { struct T { int m; }; }",
       "a::c::T s = {1}; x[0] = s.m;"},
      {"namespace alias", "namespace a = other;", "a::T s = {1}; x[0] = s.m;"},
  };
  return all;
}

// Returns whether the compiler accepts one file, without sessions.
bool is_one_file(std::string_view first, std::string_view second) {
  const std::string source = concat(kFirst, "\n", first, "\n", second);
  const jit::Unit unit{.source = source, .file_name = "file.cu"};
  try {
    jit::compile_unit(jit::nvrtc(), unit,
                      jit::choose_target(jit::nvrtc(), 90, ""));
    return true;
  } catch (const CompileError&) {
    return false;
  }
}

class ClashTest : public WorkspaceTest,
                  public testing::WithParamInterface<std::size_t> {
 protected:
  std::string failure_of_use(const Kind& kind) {
    return failure_of_cell(
        concat("__global__ void user(int* x) { ", kind.use, " }"));
  }
};

// For each pair of kinds, the cell is refused with the clash, as one file would
// be, or the name's user compiles. In both cases the session continues.
TEST_P(ClashTest, ANameIsOneThing) {
  const Kind& first = kinds()[GetParam()];
  run(kFirst);
  run(first.text);
  ASSERT_EQ(failure_of_use(first), "");
  std::size_t refused = 0;
  for (const Kind& second : kinds()) {
    SCOPED_TRACE(concat(first.word, ", then ", second.word));
    const std::size_t before = workspace().cells();
    const std::string failure = failure_of_cell(second.text);
    if (failure.empty()) {
      EXPECT_EQ(failure_of_use(second), "");
    } else {
      ++refused;
      EXPECT_FALSE(is_one_file(first.text, second.text)) << failure;
      EXPECT_TRUE(says(failure, "expected a new name, got a, which is "));
      EXPECT_TRUE(says(failure, "of cell 2"));
      EXPECT_EQ(failure_of_use(first), "");
    }
    while (workspace().cells() > before) ASSERT_TRUE(workspace().undo());
  }
  EXPECT_GT(refused, 0u);
}

TEST_P(ClashTest, AMacroComesBeforeItsMeaning) {
  const Kind& kind = kinds()[GetParam()];
  run(kFirst);
  run("#define a 3 +\n");
  const std::string failure = failure_of_cell(kind.text);
  EXPECT_TRUE(says(failure, "cell 3:1:"));
  EXPECT_TRUE(says(failure, "a macro of cell 2"));
  run("#undef a\n");
  run(kind.text);
  EXPECT_EQ(failure_of_use(kind), "");
  run("#define a 3 +\n");
  EXPECT_EQ(failure_of_cell("__global__ void k(int* x) { x[0] = a 1; }"), "");
}

std::string word_of(const testing::TestParamInfo<std::size_t>& each) {
  std::string name;
  for (const char c : kinds()[each.param].word)
    name += c == ' ' || c == '-' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kinds, ClashTest,
                         testing::Range<std::size_t>(0, kinds().size()),
                         word_of);

TEST_F(WorkspaceTest, TwoThingsOfOneNameInACellAreRefused) {
  EXPECT_EQ(failure_of_cell("__device__ int a() { return 1; }\n"
                            "__device__ int a = 3;"),
            "cell 1:1:1: expected a new name, got a, which is a variable of "
            "cell 1\n__device__ int a() { return 1; }\n^");
  EXPECT_EQ(failure_of_cell("__device__ int a = 3;"), "");
}

TEST_F(WorkspaceTest, NamesOfTwoNamespacesDoNotClash) {
  run("namespace one { __device__ int a() { return 1; } }");
  run("namespace two { __device__ int a = 3; }");
  run("struct a { int m; };");
  run("namespace three { namespace a { constexpr int m = 2; } }");
  EXPECT_EQ(failure_of_cell("__global__ void k(int* x) {"
                            "  ::a s = {three::a::m};"
                            "  x[0] = one::a() + two::a + s.m; }"),
            "");
  EXPECT_TRUE(says(failure_of_cell("namespace two { using a = int; }"),
                   "got two::a, which is a variable of cell 2"));
  EXPECT_TRUE(says(failure_of_cell("namespace one::a { struct T {}; }"),
                   "got one::a, which is a function of cell 1"));
}

// Names that no cell has: of the compiler, of a file, of a conditional part.
TEST_F(WorkspaceTest, AVariableHasNoNameThatIsTakenElsewhere) {
  run("#include \"gpuos/libm.h\"\n#if 1\nusing cut = int;\n#endif\n");
  for (const char* name : {"threadIdx", "sqrtf", "abs", "gpuos", "cut"}) {
    EXPECT_NE(failure_of_cell(concat("__device__ int ", name, " = 3;")), "")
        << name;
    EXPECT_EQ(failure_of_cell(concat("__device__ int use_", name,
                                     "() { return threadIdx.x + abs(-1) +"
                                     " (int)sqrtf(4.f) + cut(3); }")),
              "");
  }
}

TEST_F(WorkspaceTest, AnErrorOfItsOwnIsNoClash) {
  run("__device__ int a() { return 1; }");
  const std::string failure = failure_of_cell("__device__ Missing a = 3;");
  EXPECT_FALSE(says(failure, "expected a new name"));
  EXPECT_TRUE(says(failure, "Missing"));
}

TEST_F(WorkspaceTest, ANamespaceHasAnotherName) {
  run("namespace a::c { __device__ int f(int x) { return x; }"
      "constexpr int n = 3; }");
  run("namespace b = a::c;");
  run("namespace other { namespace b = a; namespace again = ::b; }");
  run("namespace d = b;");
  run("using namespace d;");
  run("__global__ void k(int* x) {"
      "  x[0] = b::f(1) + other::b::c::n + other::again::f(2) + d::n + n; }");
  EXPECT_EQ(link("k")->closure.functions.size(), 2u);
  // The newest version comes after the alias in the order of versions.
  run("namespace a::c { __device__ long f(int x) { return 2 * x; } }");
  EXPECT_EQ(failure_of_link("k"), "");
  EXPECT_EQ(failure_of_cell("__device__ int unrelated() { return 1; }"), "");
  EXPECT_TRUE(says(failure_of_cell("namespace e = missing::deep"), "';'"));
}

}  // namespace
}  // namespace gpuos::session
