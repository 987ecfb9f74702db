#include "errors.h"
#include "session/cells/items.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gpuos/error.h"

namespace gpuos::session {
namespace {

std::vector<Item> split(const std::string& text) {
  const CellText cell{"cell 1", text};
  return split_cell(cell, nullptr);
}

Item only(const std::string& text) {
  std::vector<Item> items = split(text);
  EXPECT_EQ(items.size(), 1u) << text;
  return items.empty() ? Item{} : items.front();
}

std::string failure_of(const std::string& text) {
  return thrown_by<CompileError>([&] { split(text); });
}

TEST(SessionItems, KindsAreRecognized) {
  using enum ItemKind;
  const std::vector<std::pair<std::string, ItemKind>> cases{
      {"#define N 4\n", Directive},
      {"#include <a.h>\n", Directive},
      {"struct P { float x; };", Header},
      {"struct __align__(16) P { float x; };", Header},
      {"struct P;", Header},
      {"enum class E : int { a, b };", Header},
      {"using T = float;", Header},
      {"typedef float (*F)(float);", Header},
      {"template <typename T> struct S { T x; };", Header},
      {"template <int N> __global__ void k(int* x) { x[0] = N; }", Header},
      {"inline __device__ float f(float x) { return x; }", Header},
      {"constexpr int n = 4;", Header},
      {"__device__ const float t[2] = {1, 2};", Header},
      {"extern __shared__ float s[];", Header},
      {"static_assert(sizeof(int) == 4);", Header},
      {"__device__ float f(float);", Declaration},
      {"__global__ void k(float* x);", Declaration},
      {"extern __device__ int n;", Declaration},
      {"__device__ float f(float x) { return x; }", Function},
      {"__device__ bool operator<(P a, P b) { return a.x < b.x; }", Function},
      {"__device__ auto f(int x) -> float { return x; }", Function},
      {"__device__ auto f(int x) { return x; }", Header},
      {"__device__ decltype(auto) f(int x) { return x; }", Header},
      {"__device__ float f(auto x) { return x; }", Header},
      {"__device__ float f(int x) { auto y = x; return y; }", Function},
      {"__global__ void __launch_bounds__(64) k(float* x) {}", Kernel},
      {"extern \"C\" __global__ void k() {}", Kernel},
      {"__device__ int n;", Variable},
      {"__constant__ float c[4] = {1, 2, 3, 4};", Variable},
      {"__device__ float (*fp)(float);", Variable},
      {"static __device__ __align__(16) int n{3};", Variable},
      {"__device__ P p;", Variable},
      {"k<<<1, 32>>>(a, 3);", Launch},
      {"k<float, 3><<<dim3(1, 2), 32>>>(a);", Launch},
      {"void f() { k<<<1, 1>>>(); }", Launches},
      {"f();", Call},
      {"int f(int);", HostDeclaration},
      {"extern int n;", HostDeclaration},
      {"extern \"C\" int puts(const char*);", HostDeclaration},
      {"std::string f(std::string s);", HostDeclaration},
      {"int f(int x) { return x; }", HostFunction},
      {"int main() { return 0; }", HostFunction},
      {"void f(int x) { k<<<1, 1>>>(x); }", HostFunction},
      {"P::P(int a) : a_{a}, b_(a) {}", HostFunction},
      {"P::~P() {}", HostFunction},
      {"P operator+(P a, P b) { return a; }", HostFunction},
      {"auto f(int x) { return x; }", Header},
      {"template <class T> T f(T x) { return x; }", Header},
      {"const int n = 3;", Header},
      {"int n;", HostVariable},
      {"static int n = 3;", HostVariable},
      {"auto f = [](int x) { return x; };", HostVariable},
      {"std::map<int, std::vector<P>> m;", HostVariable},
      {"std::string s(3, 'a');", HostVariable},
      {"std::thread t([] { f(); });", HostVariable},
      {"std::vector<int> v(n.size());", HostVariable},
      {"P* p = nullptr;", HostVariable},
      {"P& r = *p;", HostVariable},
      {"int P::count = 0;", HostVariable},
      {"P (*f)(int);", HostVariable},
      {"for (int i = 0; i < 3; ++i) k<<<1, 1>>>(i);", HostStatement},
      {"if (a) b(); else { c(); }", HostStatement},
      {"do x(); while (y);", HostStatement},
      {"try { f(); } catch (int) { g(); } catch (...) {}", HostStatement},
      {"switch (n) { case 1: break; }", HostStatement},
      {"{ int n = 3; }", HostStatement},
      {"n = 3;", HostStatement},
      {"n++;", HostStatement},
      {"++n;", HostStatement},
      {"*p = 3;", HostStatement},
      {"a[3] = 4;", HostStatement},
      {"p->x(3);", HostStatement},
      {"f(3);", HostStatement},
      {"f<int>(3);", HostStatement},
      {"std::cout << x << 1 << \"\\n\";", HostStatement},
      {"std::cin >> x >> y;", HostStatement},
      {"std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });",
       HostStatement},
      {"cudaMalloc(&p, 3);", HostStatement},
      {"throw 3;", HostStatement},
      {"delete p;", HostStatement},
      {"\"text\";", HostStatement}};
  for (const auto& [text, kind] : cases)
    EXPECT_EQ(only(text).kind, kind) << text;
}

TEST(SessionItems, NamesAreFound) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"struct __align__(16) P { float x; };", "P"},
      {"template <> struct Traits<P> { };", "Traits"},
      {"enum E { a, b };", "E"},
      {"using T = float;", "T"},
      {"typedef float (*F)(float);", "F"},
      {"typedef struct { int x; } Pair;", "Pair"},
      {"__device__ unsigned long long f(int a, float* b) { return 0; }", "f"},
      {"__device__ float P::norm() const { return x; }", "P::norm"},
      {"__device__ float (*fp)(float);", "fp"},
      {"__device__ float t[2][3];", "t"},
      {"__device__ P* p = nullptr;", "p"},
      {"constexpr int n = 4;", "n"}};
  for (const auto& [text, name] : cases)
    EXPECT_EQ(only(text).name, name) << text;
}

// C++ asks what a name is: a type declares, a value computes.
TEST(SessionItems, KnownValuesDistinguishProductsFromPointers) {
  using enum ItemKind;
  const Known known{.kind_of = [](std::string_view name, bool) {
    if (name == "v" || name == "n::v") return NameKind::Value;
    return name == "U" ? NameKind::Type : NameKind::Unknown;
  }};
  const auto kind = [&](const std::string& text) {
    const CellText cell{"cell 1", text};
    return split_cell(cell, nullptr, known).back().kind;
  };
  EXPECT_EQ(kind("T * b;"), HostVariable);
  EXPECT_EQ(kind("v * b;"), HostStatement);
  EXPECT_EQ(kind("int a = 1; a * b;"), HostStatement);
  EXPECT_EQ(kind("T x(v);"), HostVariable);
  EXPECT_EQ(kind("T x(U);"), HostDeclaration);
  EXPECT_EQ(kind("T x(n::v);"), HostVariable);
  EXPECT_EQ(kind("T x(W);"), HostVariable);
  EXPECT_EQ(kind("void x(W);"), HostDeclaration);
  EXPECT_EQ(kind("__device__ T x(W);"), Declaration);
  EXPECT_EQ(kind("int a = 1; T x(a);"), HostVariable);
}

// All pairs of contents of parentheses and of preceding tokens.
TEST(SessionItems, ParametersMakeAFunctionAndArgumentsAVariable) {
  const std::vector<std::string> parameters{"A",
                                            "A a",
                                            "A&",
                                            "A&& a",
                                            "A*",
                                            "A* a",
                                            "const A&",
                                            "A const& a",
                                            "B<int>",
                                            "B<A, int> b",
                                            "q::C",
                                            "q::C c",
                                            "A (&a)[2]",
                                            "A (*a)(A)",
                                            "A a[2]",
                                            "A = A()",
                                            "A a = {1}",
                                            "int",
                                            "int = 3",
                                            "unsigned n",
                                            "struct A",
                                            "auto",
                                            "int (&a)[2]",
                                            "int (*)(A)",
                                            "decltype(1)",
                                            "decltype(1) x",
                                            "int* __restrict__ p"};
  const std::vector<std::string> arguments{
      "3",       "'a'",         "\"a\"",         "-1",  "n",         "n + A()",
      "A(3)",    "A{}",         "f(1)",          "n.a", "&n",        "int(3)",
      "q::C(1)", "B<A, int>{}", "[] {}",         "(n)", "sizeof(A)", "true",
      "nullptr", "*n",          "decltype(1)(2)"};
  const Known known{.kind_of = [](std::string_view name, bool) {
    return name == "n" ? NameKind::Value : NameKind::Type;
  }};
  const auto kind_of = [&](const std::string& text) {
    const CellText cell{"cell 1", text};
    const std::vector<Item> items = split_cell(cell, nullptr, known);
    EXPECT_EQ(items.size(), 1u) << text;
    return items.front().kind;
  };
  const auto join = [](const std::string& a, const std::string& b) {
    return b.empty() ? a : a + ", " + b;
  };
  for (const bool is_device : {false, true}) {
    const std::string before = is_device ? "__device__ T x(" : "T x(";
    const auto function =
        is_device ? ItemKind::Declaration : ItemKind::HostDeclaration;
    const auto variable =
        is_device ? ItemKind::Variable : ItemKind::HostVariable;
    std::vector<std::string> second = parameters;
    second.emplace_back();
    for (const std::string& a : parameters) {
      for (const std::string& b : second) {
        const std::string text = before + join(a, b) + ");";
        EXPECT_EQ(kind_of(text), function) << text;
      }
    }
    second = arguments;
    second.emplace_back();
    second.emplace_back("A");  // a macro or a constant, for all we know
    for (const std::string& a : arguments) {
      for (const std::string& b : second) {
        const std::string text = before + join(a, b) + ");";
        EXPECT_EQ(kind_of(text), variable) << text;
      }
    }
  }
}

TEST(SessionItems, OperatorsOfAValueStayWhole) {
  EXPECT_EQ(only("__device__ int n = 1 << 3 >= 2;").text,
            "__device__ int n = 1 << 3 >= 2;");
  EXPECT_EQ(only("__device__ int t[1 << 2];").header,
            "struct gpuos_of_t { int t [ 1 << 2 ]; }; extern __device__ "
            "decltype(gpuos_of_t::t)& t;");
}

TEST(SessionItems, ACellIsCutIntoItsItemsWithTheirPlaces) {
  const std::vector<Item> items = split(
      "// first\n"
      "#define TWICE(x) \\\n  ((x) * 2)\n"
      "namespace a { namespace {\n"
      "__device__ int n, *p = nullptr, t[2];\n"
      "  __device__ int f(int x) { return TWICE(x); } } }\n"
      "f(); g<<<1, 1>>>();");
  ASSERT_EQ(items.size(), 7u);
  EXPECT_EQ(items[0].name, "TWICE");
  EXPECT_EQ(items[0].line, 2);
  EXPECT_EQ(items[1].name, "n");
  EXPECT_EQ(items[2].text, "__device__ int *p = nullptr;");
  EXPECT_EQ(items[3].text, "__device__ int t[2];");
  EXPECT_EQ(items[4].name, "f");
  EXPECT_EQ(items[4].line, 6);
  EXPECT_EQ(items[4].column, 3);
  EXPECT_EQ(qualifier_of(items[4].scopes), "a::");
  EXPECT_EQ(items[4].header, "__device__ int f(int x) ;");
  EXPECT_EQ(items[6].kind, ItemKind::Launch);
}

TEST(SessionItems, OverloadsHaveKeysOfTheirOwnAndParameterNamesDoNotCount) {
  const auto key = [](const std::string& parameters) {
    return only("__device__ void f(" + parameters + ");").key;
  };
  EXPECT_EQ(key("int a, const float* b"), key("int, const float*"));
  EXPECT_EQ(key("float x[4]"), key("float y[4]"));
  EXPECT_EQ(key("unsigned n = 3"), key("unsigned"));
  EXPECT_EQ(key("a::P p"), key("a::P"));
  EXPECT_EQ(key("void"), key(""));
  EXPECT_NE(key("int"), key("float"));
  EXPECT_NE(key("const P&"), key("const P*"));
}

TEST(SessionItems, AVariableIsReferredToByItsName) {
  EXPECT_EQ(only("__device__ float t[2][3] = {{1}};").header,
            "struct gpuos_of_t { float t [ 2 ] [ 3 ]; }; extern __device__ "
            "decltype(gpuos_of_t::t)& t;");
  EXPECT_EQ(only("__constant__ int t[] = {1, 2, 3,};").header,
            "struct gpuos_of_t { int t[3]; }; extern __device__ const "
            "decltype(gpuos_of_t::t)& t;");
}

TEST(SessionItems, UnsupportedItemsAreRefusedAtTheirPlace) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"\n __device__ auto [a, b] = p;",
       "cell 1:2:2: expected a variable after __device__, got a"},
      {"if x;", "cell 1:1:1: expected '(' after if"},
      {"for (;;)", "expected a ';' at the end"},
      {"__device__ int f() { static int n; return n++; }",
       "expected no static variable"},
      {"__device__ int f() {", "expected a partner of '{'"},
      {"__device__ int n", "expected a ';' at the end"},
      {"__device__ const char* s = \"abc", "expected a closing \""},
      {"#if 1\n", "expected #endif"},
      {"/* open", "expected */"},
      {"__device__ auto x = {3};", "expected the type of x, got auto"},
      {"__device__ auto x;", "expected the type of x, got auto"}};
  for (const auto& [text, message] : cases)
    EXPECT_TRUE(says(failure_of(text), message)) << text << ": ";
}

TEST(SessionItems, EveryBeginningOfACellIsTakenOrRefused) {
  const std::string cell =
      "#define N(x) \\\n x\n#if 1\nstruct Q {};\n#endif\n"
      "namespace a::b { template <typename T, int N = (3 > 2)> struct S {}; }\n"
      "extern \"C\" { __device__ float (*f)(float), g[2][3] = {{1.5e-3f}}; }\n"
      "(x) { } __device__ a::b::S<int> operator+(const S<int>& l, int r = 2);\n"
      "template <> __global__ void k<3>(int* x) { x[0] = R\"(})\"[0]; }\n"
      "void both() { k<3><<<dim3(1, 2), 1>>>(&y, {1}); both(); }\n"
      "using T = int; typedef struct { int x; } P; enum { u, v };\n"
      "k<<<1, 1>>>(P{1}); both();";
  for (std::size_t end = 0; end <= cell.size(); ++end) {
    for (const std::size_t begin : {std::size_t{0}, end / 2, end / 3}) {
      try {
        split(cell.substr(begin, end - begin));
      } catch (const CompileError& error) {
        EXPECT_FALSE(error.place().file.empty());
      }
    }
  }
}

TEST(SessionItems, AScopeIsFoundByItsName) {
  for (const char* head : {"namespace a::b {", "namespace\na :: b\n{",
                           "namespace /* : */ a::b // {\n {"}) {
    const Item item = only(std::string(head) + " __device__ int n; }");
    EXPECT_EQ(item.scopes, std::vector<std::string>{"namespace a::b"});
    EXPECT_EQ(qualifier_of(item.scopes), "a::b::");
  }
  EXPECT_EQ(only("inline\nnamespace v1 { __device__ int n; }").scopes,
            std::vector<std::string>{"inline namespace v1"});
  EXPECT_TRUE(failure_of("namespace a::inline b { __device__ int n; }")
                  .starts_with("cell 1:1:14: expected an inline namespace"));
}

TEST(SessionItems, BracketsMayNotGoDeeperThanACompilerGoes) {
  for (const int depth : {200, 100'000}) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "namespace {\n";
    text += "using T = int;" + std::string(depth, '}');
    const std::string failure = failure_of(text);
    if (depth == 200)
      EXPECT_EQ(failure, "");
    else
      EXPECT_TRUE(failure.starts_with("cell 1:257:11: expected at most 256 "))
          << failure;
  }
}

TEST(SessionItems, StaticTablesAndSharedMemoryMayBeLocal) {
  EXPECT_EQ(failure_of("__device__ int f(int i) { static const int t[2] = {1, "
                       "2}; static_assert(true); return t[i]; }"),
            "");
  EXPECT_EQ(failure_of("__global__ void k() { static __shared__ int s; }"), "");
}

}  // namespace
}  // namespace gpuos::session
