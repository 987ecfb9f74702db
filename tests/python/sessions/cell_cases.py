"""Declarations in cells of host code, and their uses.

In a declaration `@` is its name. In a user `$` is the user's name, and `@` an
expression of the declared thing that is an int.
"""

INCLUDES = """
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>
using namespace std::string_literals;
"""

# A declaration, a use of it, and perhaps a statement that changes its value.
THINGS = [
    ("int @ = 2;", "@", "@ += 10;"),
    ("const int @ = 3;", "@"),
    ("constexpr int @ = 3;", "@"),
    ("static int @ = 4;", "@", "@ += 10;"),
    ("inline int @ = 4;", "@", "@ += 10;"),
    ("thread_local int @ = 5;", "@", "@ += 10;"),
    ("auto @ = 5;", "@", "@ += 10;"),
    ("auto @ = [](int a) { return a + 1; };", "@(1)"),
    ("std::vector<int> @{1, 2};", "int(@.size())", "@.push_back(1);"),
    ("int @[3] = {1, 2, 3};", "@[1]", "@[1] += 10;"),
    ("int @_v = 1, *@ = &@_v;", "*@", "*@ += 10;"),
    ("int @_v = 3; int& @ = @_v;", "@", "@ += 10;"),
    ("extern int @; int @ = 2;", "@", "@ += 10;"),
    ("int (*@)(int) = [](int a) { return -a; };", "@(3)"),
    ("struct @ { int a = 1; };", "@{}.a"),
    ("struct @_t { int a = 1; } @;", "@.a", "@.a += 10;"),
    ("struct @_t { int a; } @ = {4}, *@_p = &@;", "@_p->a", "@.a += 10;"),
    ("struct { int a = 1; } @;", "@.a", "@.a += 10;"),
    ("union @_u { int a; char b; } @ = {7};", "@.a", "@.a += 10;"),
    ("enum @_e { @ = 3 };", "int(@)"),
    ("enum class @_e { a = 2 } @ = @_e::a;", "int(@)"),
    ("template <class T> T @ = T(6);", "@<int>", "@<int> += 10;"),
    ("template <class T> constexpr T @ = T(6);", "@<int>"),
    ("template <class T> struct @ { T a = 1; };", "@<int>{}.a"),
    (
        "template <class T> struct @ { static inline T a = 1; };",
        "@<int>::a",
        "@<int>::a += 10;",
    ),
    ("template <class T> T @(T a) { return a; }", "@(3)"),
    (
        "template <class T> int @(T a) { static int n = 0; return ++n; }",
        "(@(3), 1)",
    ),
    ("int @(int a) { return a; }", "@(3)"),
    ("auto @(int a) { return a * 2; }", "@(3)"),
    ("int @(auto a) { return a; }", "@(3)"),
    ("inline int @(int a) { return a; }", "@(3)"),
    ("static int @(int a) { return a; }", "@(3)"),
    ("constexpr int @(int a) { return a; }", "@(3)"),
    ("int& @() { static int n = 1; return n; }", "@()", "@() += 10;"),
    ("inline int& @() { static int n = 1; return n; }", "@()", "@() += 10;"),
    ("auto& @() { static int n = 1; return n; }", "@()", "@() += 10;"),
    ("int @(int a); int @(int a) { return a + 1; }", "@(3)"),
    ("using @ = short;", "int(sizeof(@))"),
    ("typedef int @[2];", "int(sizeof(@))"),
    ("namespace @ { int a = 3; }", "@::a", "@::a += 10;"),
    ("namespace @ { int f() { return 3; } }", "@::f()"),
    ("namespace @_n { int a = 4; } namespace @ = @_n;", "@::a", "@::a += 10;"),
    ("namespace { int @ = 4; }", "@", "@ += 10;"),
    ("\n#define @ 7\n", "@"),
    ("\n#define @(a) ((a) + 1)\n", "@(2)"),
    ("struct @ { static int a; }; int @::a = 3;", "@::a", "@::a += 10;"),
    ("struct @ { static inline int a = 3; };", "@::a", "@::a += 10;"),
    ("struct @ { int f(); }; int @::f() { return 4; }", "@{}.f()"),
    ("template <class T> concept @ = sizeof(T) == 4;", "int(@<int>)"),
    ("[[maybe_unused]] int @ = 2;", "@", "@ += 10;"),
    ("alignas(16) int @ = 2;", "@", "@ += 10;"),
    ("int @ [[maybe_unused]] = 2;", "@", "@ += 10;"),
    ('extern "C" int @(int a) { return a + 2; }', "@(3)"),
    ('extern "C" { int @ = 5; }', "@", "@ += 10;"),
    (
        "struct @_t { int a; }; int operator+(@_t p, int q) { return p.a + q; } @_t @{3};",
        "(@ + 1)",
        "@.a += 10;",
    ),
    ('int operator""_@(unsigned long long a) { return int(a) + 1; }', "(4_@)"),
    ('std::string @ = "abc";', "int(@.size())", '@ += "d";'),
    ('auto @ = "abc"s;', "int(@.size())", '@ += "d";'),
    ('const char* @ = "abc";', "int(@[0])"),
    ("std::map<int, int> @ = {{1, 2}, {3, 4}};", "@[3]", "@[3] += 10;"),
    ("volatile int @ = 3;", "@", "@ = @ + 10;"),
    ("struct @; struct @ { int a = 5; };", "@{}.a"),
    (
        "template <class T> struct @_t; template <> struct @_t<int> { int a = 6; }; @_t<int> @;",
        "@.a",
        "@.a += 10;",
    ),
    ("auto @(int a) -> int { return a; }", "@(2)"),
    ("std::function<int(int)> @ = [](int a) { return a + 4; };", "@(1)"),
    ("int @_a = 1, @ = @_a + 2;", "@", "@ += 10;"),
    ("int @_a(2), @(3), *@_b(&@);", "@_a * *@_b", "@ += 10;"),
    (
        "struct @_t { int a; }; int @(@_t, @_t); int @(@_t p, @_t q) { return p.a + q.a; }",
        "@({1}, {2})",
    ),
    ("int @{8};", "@", "@ += 10;"),
    ("int @(9);", "@", "@ += 10;"),
    ("int @;", "@", "@ += 10;"),
    ("decltype(1 + 1) @ = 2;", "@", "@ += 10;"),
    ("unsigned @ = 2u;", "int(@)", "@ += 10;"),
    ("constinit int @ = 4;", "@", "@ += 10;"),
    # Functions.
    ("int @(int a) try { return a; } catch (...) { throw; }", "@(3)"),
    ("int @(int a, int b = 4) { return a + b; }", "@(1)"),
    ("int @(double) { return 2; } int @(int a) { return a; }", "@(3) + @(3.0)"),
    ("[[nodiscard]] int @(int a) noexcept { return a; }", "@(3)"),
    ("int @(int a) noexcept(true) { return a; }", "@(3)"),
    ("__attribute__((noinline)) int @(int a) { return a; }", "@(3)"),
    ("consteval int @(int a) { return a; }", "@(3)"),
    (
        "int (&@())[2] { static int n[2] = {1, 2}; return n; }",
        "@()[1]",
        "@()[1] += 10;",
    ),
    ("int @_f() { return 3; } int (*@)() = @_f;", "@()"),
    # Templates.
    (
        "template <class T> int @(T) { return 1; } template <> int @<int>(int a) { return a + 5; }",
        "@(3)",
    ),
    (
        "template <class T> struct @ { int f(); }; template <class T> int @<T>::f() { return 5; }",
        "@<int>{}.f()",
    ),
    (
        "template <class T> struct @ { static int a; }; template <class T> int @<T>::a = 4;",
        "@<int>::a",
        "@<int>::a += 10;",
    ),
    (
        "template <class T> int @(T a) requires (sizeof(T) == 4) { return a; }",
        "@(3)",
    ),
    (
        "template <class T> requires (sizeof(T) > 1) struct @ { T a = 2; };",
        "@<int>{}.a",
    ),
    ("template <class... T> int @(T... a) { return (a + ...); }", "@(1, 2)"),
    ("template <int N> int @() { return N; }", "@<3>()"),
    ("template <auto N> constexpr int @ = N;", "@<3>"),
    (
        "template <class T> struct @ { T a; }; template <class T> @(T) -> @<T>;",
        "@{3}.a",
    ),
    ("template <class T> using @ = T*;", "int(sizeof(@<int>))"),
    (
        "template <template <class...> class C> struct @ { C<int> a; };",
        "int(@<std::vector>{}.a.size())",
    ),
    (
        "template <class T> constexpr bool @ = false; template <> constexpr bool @<int> = true;",
        "int(@<int>)",
    ),
    (
        "template <class T> struct @ { int a = 1; }; template <class T> struct @<T*> { int a = 2; };",
        "@<int*>{}.a",
    ),
    (
        "template <class T> struct @ { T a = 2; }; template struct @<int>;",
        "@<int>{}.a",
    ),
    (
        "template <class T> struct @_b { int f() { return static_cast<T*>(this)->a; } }; struct @ : @_b<@> { int a = 6; };",
        "@{}.f()",
    ),
    ("auto @ = []<class T>(T a) { return a; };", "@(3)"),
    ("auto @ = [n = 3](int a) mutable { return n += a; };", "@(0)", "@(1);"),
    # Types.
    ("enum @_e : short { @ = 4 };", "int(@)"),
    ("enum { @_a = 2, @ };", "int(@)"),
    ("enum class @_e { @ = 2 }; using enum @_e;", "int(@)"),
    ("struct @ { int a : 4; int b = 2; };", "@{}.b"),
    ("struct @ { struct in { int a = 5; }; };", "@::in{}.a"),
    (
        "struct @ { struct in { int f(); }; }; int @::in::f() { return 3; }",
        "@::in{}.f()",
    ),
    ("struct @ { int operator()(int a) const { return a; } };", "@{}(3)"),
    ("struct @ { friend int operator-(@) { return 4; } };", "(-@{})"),
    (
        "struct @_b { virtual int f() { return 1; } virtual ~@_b() = default; }; struct @ : @_b { int f() override { return 2; } };",
        "@{}.f()",
    ),
    (
        "struct @_b { virtual int f(); }; int @_b::f() { return 3; } struct @ final : public @_b {};",
        "@{}.f()",
    ),
    ("struct @ { operator int() const { return 3; } };", "int(@{})"),
    (
        "struct @ { operator int(); }; @::operator int() { return 3; }",
        "int(@{})",
    ),
    ("struct @ { ~@(); int a = 3; }; @::~@() {}", "@{}.a"),
    (
        "struct @ { int a = 3; int operator[](int i); }; int @::operator[](int i) { return a + i; }",
        "@{}[1]",
    ),
    ("struct @ { int a; @(int b); }; @::@(int b) : a{b} {}", "@(3).a"),
    (
        "struct @ { int a; @(int b); }; @::@(int b) try : a(b) {} catch (...) { throw; }",
        "@(3).a",
    ),
    (
        "struct @ { static int f(int a); }; int @::f(int a) { return a; }",
        "@::f(3)",
    ),
    (
        "struct @ { int a; }; bool operator<(const @& p, const @& q) { return p.a < q.a; }",
        "int(@{1} < @{2})",
    ),
    (
        "struct @ { int a = 3; bool operator==(const @&) const = default; };",
        "int(@{} == @{})",
    ),
    (
        "struct @_b { int g() { return 3; } }; struct @ : private @_b { using @_b::g; };",
        "@{}.g()",
    ),
    (
        "struct @; int @_f(@*); struct @ { int a = 2; }; int @_f(@* p) { return p ? p->a : 9; }",
        "@_f(nullptr)",
    ),
    ("typedef struct { int a; } @;", "@{3}.a"),
    ("typedef struct @_s { int a; } @;", "@_s{3}.a + @{1}.a"),
    ("typedef int (*@)(int);", "int(sizeof(@))"),
    ("using @ = int (*)(int);", "int(sizeof(@))"),
    ("inline namespace @_n { int @ = 3; }", "@", "@ += 10;"),
    ("namespace @_a::@_b { int a = 3; }", "@_a::@_b::a"),
    ("namespace @_n { int f(); } int @_n::f() { return 3; }", "@_n::f()"),
    (
        "namespace @_n { int a = 1; } namespace @_n { int b = a + 1; }",
        "@_n::b",
        "@_n::b += 10;",
    ),
    ("namespace @_n { int @ = 2; } using namespace @_n;", "@", "@ += 10;"),
    ("namespace @_n { int @() { return 2; } } using @_n::@;", "@()"),
    ("using std::vector; vector<int> @(3);", "int(@.size())", "@.clear();"),
    # Variables.
    ("struct @_t { int a; } const @ = {4};", "@.a"),
    (
        "struct @_t { int a; int b; }; @_t @ = {.a = 1, .b = 2};",
        "@.b",
        "@.b += 10;",
    ),
    ("struct @_t { int a = 1; }; int @_t::* @ = &@_t::a;", "(@_t{}.*@)"),
    (
        "struct @_t { explicit @_t(int b) : a(b) {} int a; }; @_t @(4);",
        "@.a",
        "@.a += 10;",
    ),
    ("int @_a[2] = {5, 6}; int (&@)[2] = @_a;", "@[1]", "@[1] += 10;"),
    ("int @[] = {1, 2, 3};", "int(sizeof(@)) + @[2]", "@[2] += 10;"),
    ('char @[] = "abc";', "int(@[1])", "@[1] += 1;"),
    ("int @[2][2] = {{1, 2}, {3, 4}};", "@[1][0]", "@[1][0] += 10;"),
    ('static const char* const @[] = {"ab", "c"};', "int(@[0][1])"),
    (
        "std::vector<std::vector<int>> @ = {{1}, {2, 3}};",
        "@[1][0]",
        "@[1][0] += 10;",
    ),
    ("std::unique_ptr<int> @(new int(3));", "*@", "*@ += 10;"),
    ('const std::string& @ = std::string("abc");', "int(@.size())"),
    ("int&& @ = 3;", "@", "@ += 10;"),
    ("bool @ = 1 < 2, @_b = 3 > 2;", "int(@) + int(@_b)", "@ = false;"),
    ("int @ = 1 < 2 ? 3 : 4;", "@", "@ += 10;"),
    (
        "int @ = [] { int s = 0; while (s < 3) ++s; return s; }();",
        "@",
        "@ += 10;",
    ),
    ('std::string @ = R"(a"b\n;})";', "int(@.size())"),
    ("char @ = '\"';", "int(@)", "@ += 1;"),
    ("int @ = 1'000;", "@", "@ += 10;"),
    ("int /* ; */ @ // {\n  \\\n = 3;", "@", "@ += 10;"),
    ('extern "C++" { int @ = 3; }', "@", "@ += 10;"),
    ("unsigned long long int @ = 3ull;", "int(@)", "@ += 10;"),
    ("long @ = 3; static_assert(sizeof(@) == 8);", "int(@)", "@ += 10;"),
    ("auto @ = std::pair(1, 2.5);", "@.first", "@.first += 10;"),
    (
        "template <class T> requires (sizeof(T) > 1) && std::is_same_v<T, int> int @(T a) { return a; }",
        "@(3)",
    ),
    (
        "template <class T> requires requires(T a) { a + 1; } int @(T a) { return a; }",
        "@(3)",
    ),
    (
        "template <class T> struct @ { T a; @(T b) : a(b) {} }; @(const char*) -> @<int>; @(short) -> @<int>;",
        "int(sizeof(@(short(3)).a))",
    ),
    ("int (*@(int a))(int) { return [](int b) { return b + 1; }; }", "@(1)(2)"),
    (
        "namespace @ { struct P { int a = 2; }; int operator+(P, int); } int @::operator+(P p, int b) { return p.a + b; }",
        "(@::P{} + 1)",
    ),
    (
        "namespace @ { struct P { operator int(); ~P(); int f(); }; } @::P::operator int() { return 3; } @::P::~P() {} int @::P::f() { return 2; }",
        "(int(@::P()) + @::P().f())",
    ),
    (
        "namespace @ { extern int @_a[2]; } int @::@_a[2] = {1, 2};",
        "@::@_a[1]",
        "@::@_a[1] += 10;",
    ),
    (
        "namespace @ { extern int (*@_p[1])(int); } int (*@::@_p[1])(int) = {[](int a) { return a + 3; }};",
        "@::@_p[0](1)",
    ),
    (
        "namespace @ { template <class T> T f(T); } template <class T> T @::f(T a) { return a; }",
        "@::f(3)",
    ),
    (
        "struct @_f; struct @ { friend struct @_f; @_f* p; int a = 6; }; struct @_f { @ b; };",
        "@_f{}.b.a",
    ),
    (
        "template <class T> struct @ { int f(T); }; template <> int @<int>::f(int a) { return a + 1; }",
        "@<int>{}.f(2)",
    ),
]

# A declaration that uses a thing, and an expression for its value.
USERS = [
    ("int $ = @;", "$"),
    ("auto $ = @;", "$"),
    ("const int $ = @;", "$"),
    ("int $[2] = {@, 1};", "$[0]"),
    ("int $() { return @; }", "$()"),
    ("inline int $() { return @; }", "$()"),
    ("static int $() { return @; }", "$()"),
    ("auto $() { return @; }", "$()"),
    ("int $(auto a) { return a + @; }", "$(1)"),
    ("template <class T> T $(T a) { return a + @; }", "$(1)"),
    ("struct $ { int f() { return @; } };", "${}.f()"),
    ("struct $ { int a = @; };", "${}.a"),
    ("struct $_t { int f() { return @; } } $;", "$.f()"),
    ("struct { int f() { return @; } } $;", "$.f()"),
    ("struct $ { int f(); }; int $::f() { return @; }", "${}.f()"),
    ("struct $ { static inline int a = @; };", "$::a"),
    ("template <class T> struct $ { T f() { return @; } };", "$<int>{}.f()"),
    ("auto $ = [] { return @; };", "$()"),
    ("std::function<int()> $ = [] { return @; };", "$()"),
    ("int $(int a = @) { return a; }", "$()"),
    ("\n#define $ (@)\n", "$"),
    ("namespace $ { int f() { return @; } int a = @; }", "$::f() + $::a"),
    ("using $ = decltype(@);", "int(sizeof($))"),
    ("template <class T> T $ = T(@);", "$<int>"),
    ("int $ = 0; $ = @;", "$"),
    ("int $ = 0; if (@) $ = @ + 1;", "$"),
    ("int $ = 0; for (int i = 0; i < 2; ++i) { $ += @; }", "$"),
    ("int $_f() { return @; } int $ = $_f();", "$ + $_f()"),
    ("struct $_t { int a; $_t() : a(@) {} }; $_t $;", "$.a + $_t().a"),
    ("struct $ { int a; $(); }; $::$() : a(@) {}", "$().a"),
    (
        "template <class T> struct $ { T f(); }; template <class T> T $<T>::f() { return @; }",
        "$<int>{}.f()",
    ),
    (
        "template <class T> int $(T) { return 0; } template <> int $<int>(int a) { return a + @; }",
        "$(1)",
    ),
    ("int $(int a) try { return a + @; } catch (...) { throw; }", "$(1)"),
    ("struct $ { operator int() const { return @; } };", "int(${})"),
    ("namespace $_n { int f(); } int $_n::f() { return @; }", "$_n::f()"),
    (
        "int $ = 0; switch (int s = @; s > 0) { case true: $ = s; break; default: $ = -1; }",
        "$",
    ),
    ("int $ = 0; try { throw @; } catch (int a) { $ = a; }", "$"),
    ("int $ = 0; for (int a : {@, 2}) $ += a;", "$"),
]

# Conditions around a declaration. Only the active branch is compiled.
CONDITIONS = {
    "alone": "{text}",
    "if": "\n#if 1\n{text}\n#endif\n",
    "else": "\n#ifdef NO_SUCH\nint wrong(: no);\n#else\n{text}\n#endif\n",
    "elif": "\n#if NO_SUCH\n#elif 2 > 1\n# if 1\n{text}\n# endif\n#else\nno\n#endif\n",
}
