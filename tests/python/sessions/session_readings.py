"""Declarations in two cells, and values that they give."""

# The text of one cell, the text of the next, and a value after both.
READINGS = [
    # Operators and members are no variables of the types that they take.
    (
        "struct V0 { float x; }; V0 operator-(V0 a) { return {-a.x}; }",
        "V0 v0{2};",
        ("(-v0).x", -2),
    ),
    (
        "struct V1 { int x; V1& operator+=(const V1&); static V1* last; };",
        (
            "V1& V1::operator+=(const V1& o) { x += o.x; return *this; }"
            " V1* V1::last = nullptr; V1 v1{1}; v1 += v1;"
        ),
        ("v1.x", 2),
    ),
    (
        (
            "std::ostream& operator<<(std::ostream& o, const std::pair<int, int>&)"
            " { return o; }"
        ),
        "std::ostream* o2 = &std::cout;",
        ("o2 != nullptr", 1),
    ),
    (
        (
            "template <class T> struct S3 { int f(); };"
            " template <class T> int S3<T>::f() { return 1; }"
        ),
        "template <> int S3<char>::f() { return 9; } S3<char> s3;",
        ("s3.f() + S3<int>().f()", 10),
    ),
    (
        "struct A4 { struct B; int f(); };",
        "struct A4::B { int x = 4; }; int A4::f() { return B{}.x; }",
        ("A4{}.f()", 4),
    ),
    (
        "struct B4 { struct C; };",
        "struct B4::C { int x = 4; };",
        ("B4::C{}.x", 4),
    ),
    (
        "struct A5 { int get() const { return 7; } };",
        "int (A5::*m5)() const = &A5::get;",
        ("(A5{}.*m5)()", 7),
    ),
    # An expression of such a type stays one.
    (
        (
            "struct M6 { int x; }; int t6; M6 operator*(M6 a, M6 b)"
            " { t6 = a.x * b.x; return a; } M6 a6{2}, b6{3};"
        ),
        "a6 * b6;",
        ("t6", 6),
    ),
    ("int a7[2] = {1, 2};", "int (&r7)[2] = a7;", ("r7[1]", 2)),
    # Directives with marks of comments, texts and prose.
    (
        (
            "#define LIMIT8 3 // for src/*.cu\nstatic int n8 = 1;\n/* remark */\n"
            "void bump8() { ++n8; } bump8();"
        ),
        "bump8();",
        ("n8", 3),
    ),
    (
        '#define GLOB9 "src/*.cu"\n#define Q9 \'"\' // "\nint n9 = 1;',
        "int size9 = sizeof(GLOB9) + (Q9 == '\"');",
        ("size9", 10),
    ),
    (
        "#define F10(x) \\\r\n  ((x) + 1)\r\nint n10 = F10(2);\r\n",
        "// spliced \\\nint lost10 = 1;\nint m10 = 1;",
        ("n10 + m10", 4),
    ),
    (
        "#if 0\nit's {prose\n#else\nint n11 = 2;\n#endif",
        "#ifdef NEVER11\n#error don't\n#endif\nint m11 = 3;",
        ("n11 * m11", 6),
    ),
    # Arguments that are no variables of the session.
    ("#define N12 10", "std::vector<float> h12(N12);", ("h12.size()", 10)),
    (
        "enum E13 { A13 = 3, B13 };",
        "std::vector<float> h13(B13), g13(A13, B13);",
        ("h13.size() + g13.size()", 7),
    ),
    (
        (
            "struct S14 { static constexpr int k = 5; enum { q = 2 };"
            " using T = int; };"
        ),
        (
            "std::vector<int> h14(S14::k), g14(S14::q); int f14(S14::T);"
            " int f14(int x) { return x; }"
        ),
        ("h14.size() + g14.size() + f14(1)", 8),
    ),
    (
        "namespace n15 { const int k = 5; }",
        "std::vector<int> h15(n15::k);",
        ("h15.size()", 5),
    ),
    (
        "std::vector<int> h16(CHAR_BIT); int f16(size_t);",
        "int f16(size_t n) { return n; }",
        ("h16.size() + f16(1)", 9),
    ),
    (
        "int f17(std::string, size_t = 0); struct W17 {}; int g17(W17);",
        (
            "int f17(std::string s, size_t n) { return s.size() + n; }"
            " int g17(W17) { return 1; }"
        ),
        ('f17("abc") + g17({})', 4),
    ),
    ("#define B18 16", "dim3 t18(B18, bound);", ("t18.x + t18.y", 28)),
    # Macros that begin, mark or are a declaration or a statement.
    (
        "#define FOR19(i, n) for (int i = 0; i < (n); ++i)\nint t19;",
        "FOR19(i, 3) { t19 += i; }\nint u19 = 5;",
        ("t19 + u19", 8),
    ),
    (
        "#define CHECK20(x) { if (x) throw x; }",
        "CHECK20(0)\nint u20 = 5;\nCHECK20(u20 - 5)",
        ("u20", 5),
    ),
    (
        (
            "#ifdef __CUDACC__\n#define HD21 __host__ __device__\n#else\n"
            "#define HD21\n#endif\nstruct V21 { int x; HD21 int f() const "
            "{ return x; } };"
        ),
        (
            "HD21 V21 g21(V21 v) { return v; } static HD21 int h21(V21 v)"
            " { return v.f(); } template <class T> HD21 T u21(T x) { return x; }"
        ),
        ("g21({4}).x + h21({5}) + u21(6)", 15),
    ),
    (
        (
            "#define DEFINE22(type, name, ...) type name##22() "
            "{ return sizeof(#name) + __VA_ARGS__; }"
        ),
        "DEFINE22(int, f, 2)",
        ("f22()", 4),
    ),
    (
        '#include "own23.h"\nOWN23(int) first23() { return 1; }',
        (
            "CHECK23(first23() != 1)\nOWN_HD23 int next23(int x) "
            "{ return x + own23; }\nown23 += 3;"
        ),
        ("next23(1) + twice23(2)", 13),
    ),
    # Lines that go on, attributes, linkage and aliases of the library.
    (
        'const char* s24 = "ab\\\ncd";',
        "[[deprecated]] [[maybe_unused]] static int n24 = 3;",
        ("s24[3] + n24", 103),
    ),
    (
        'extern "C" { extern int n25; int n25 = 3; }',
        'extern "C" int m25; int m25 = n25 + 1;',
        ("n25 * m25", 12),
    ),
    (
        "#include <ranges>\nnamespace views26 = std::views;",
        "int n26 = *views26::iota(4).begin();",
        ("n26", 4),
    ),
    (
        (
            "char t27[9];\n#define LOG27(f, ...) snprintf(t27, 9, f, ##__VA_ARGS__)\n"
            "#define OLD27(f, a...) snprintf(t27, 9, f, ##a)\n"
            "#define JOIN27(a, b) a##b\nint JOIN27(n, 27) = 4;"
        ),
        'LOG27("x"); LOG27("%d", 1); OLD27("%d%d", 2, 3); OLD27("yz");',
        ("t27[0] + n27", 125),
    ),
    (
        (
            "struct T28 { int v = 1; int operator->*(int k) { return v + k; } };"
            " struct U28 { int v; U28(T28 t) : v(t.v) {} };"
        ),
        "U28 f28(T28()); U28 f28(T28 g()) { return g(); } T28 t28;",
        ("f28([] { return T28(); }).v + (t28 ->* 2)", 4),
    ),
    (
        "inline auto f29(int x) { return x + 1; }",
        "typedef int F29(int); F29* p29 = f29;",
        ("p29(2)", 3),
    ),
    # Templates that differ by their conditions alone.
    (
        (
            "#include <type_traits>\ntemplate <class T> std::enable_if_t<"
            "std::is_integral_v<T>, int> f30(T) { return 1; }"
            " template <class T> int g30(T) requires(sizeof(T) == 1) { return 2; }"
        ),
        (
            "template <class T> std::enable_if_t<!std::is_integral_v<T>, int> f30(T)"
            " { return 4; } int g30(auto a) requires(sizeof(a) > 1) { return 8; }"
        ),
        ("f30(1) + f30(1.0) + g30('a') + g30(1)", 15),
    ),
    (
        "#define BEGIN31 namespace n31 {\n#define END31 }",
        "BEGIN31\nint x = 5;\nEND31\nint y31 = n31::x + 1;",
        ("y31 + n31::x", 11),
    ),
    # Only main() may end without a return.
    (
        "int n32 = 0; int main() { ++n32; }",
        "main(); int r32 = main();",
        ("n32 * 10 + r32", 20),
    ),
    # A variable that hides its type, parentheses around a name, other spellings.
    (
        "struct s33 { int x; }; namespace n33 { enum e { a = 2 }; }",
        (
            "struct s33 s33 = {4}, *p33 = &s33; struct s33 t33 = s33;"
            " namespace n33 { enum e e = a; } std::vector<struct s33> v33(2);"
        ),
        ("s33.x + p33->x + t33.x + n33::e + v33[0].x", 14),
    ),
    (
        "typedef int T34; T34 (a34), (b34) = 3;",
        (
            "std::vector<T34> (v34)(2); T34 (f34)(T34 x) { return x + 1; }"
            " (f34)(a34); T34 (w34){1};"
        ),
        ("a34 + b34 + v34.size() + f34(1) + w34", 8),
    ),
    (
        "struct D35 <% int x; bool operator not() <% return not x; %> %>;",
        (
            "%:define N35 2\nint d35<:N35:> = <% 3, 4 %>;"
            " int f35(int bitand x, int and) <% return compl x bitand 7; %>"
        ),
        ("f35(d35[0], 1) + not D35{0}", 5),
    ),
    (
        "int n36, m36; typedef int T36;",
        (
            "again36: ++n36; if (n36 < 4) goto again36;\n"
            "if (n36) goto end36; ++m36; main(); end36: m36 += 2;\n"
            "T36 (f36)(T36 x) { return x; }"
        ),
        ("f36(n36 + m36)", 6),
    ),
    (
        (
            "class B37; class A37 { int x = 2; friend int f37(A37, const B37&); };"
            " class C37 { friend int g37(); int x = 3; };"
        ),
        (
            "class B37 { int y = 3; friend int f37(A37, const B37&); };"
            " class D37 { friend int g37(); int y = 4; };"
            " int f37(A37 a, const B37& b) { return a.x * b.y; }"
            " int g37() { return C37().x * D37().y; }"
        ),
        ("f37(A37(), B37()) + g37()", 18),
    ),
    # The effect of #if on a macro depends on its earlier value.
    (
        "#define N38 3\n#ifndef N38\n#define N38 5\n#endif\nint n38 = N38;",
        "#ifdef N38\n#undef N38\n#define N38 6\n#endif\nint m38 = N38;",
        ("n38 * 10 + m38", 36),
    ),
    # A function of C that no library has is one of a later cell.
    (
        'extern "C" int c39(int); int u39() { return c39(1); }',
        'extern "C" int c39(int x) { return x + 3; }',
        ("c39(2) + u39()", 9),
    ),
    (
        "struct A40 { int x; int& at(int); int at(int) const; };",
        (
            "int& A40::at(int) { return x; }"
            " int A40::at(int i) const { return x + i; } A40 a40{1};"
        ),
        ("a40.at(0) + const_cast<const A40&>(a40).at(4)", 6),
    ),
    (
        (
            "#define Q41(x) #x\ntemplate <class A, class B> A c41(B b)"
            " { return A(b); }\n"
            "int a41 = c41<int, double>(2.7), b41 = a41 < 3, d41 = b41 > (2);"
        ),
        (
            "const std::string s41 = Q41(a+b and c);"
            " int n41 __attribute__((aligned(64))) = 7;"
        ),
        ("a41 + b41 + d41 + s41.size() + n41", 19),
    ),
    (
        (
            "#pragma pack(push, 1)\nstruct P42 { char c; double d; };\n"
            "#pragma pack(pop)\nstruct Q42 { char c; P42 p; };"
        ),
        "struct R42 { char c; double d; P42 p; }; P42 p42{1, 2};",
        ("sizeof(P42) + sizeof(Q42) + sizeof(R42) + p42.d", 53),
    ),
    (
        (
            "struct A43 { int v; A43(int v = 0) : v(v) {} };"
            " A43 a43(), *b43(int), c43(3), d43{4};"
        ),
        "A43 a43() { return A43(7); } A43* b43(int) { return &c43; }",
        ("a43().v + b43(1)->v + c43.v + d43.v", 17),
    ),
    (
        "enum class E44 : char; enum class E44 : char { X44 = 5, Y44 };",
        'using enum E44; int n44 = int(X44);\n_Pragma("GCC diagnostic push")',
        ("n44 + int(Y44)", 11),
    ),
    (
        (
            "#define CAT45_(a, b) a##b\n#define CAT45(a, b) CAT45_(a, b)\n"
            "int CAT45(n, 45) = 6;"
        ),
        "int m45 = CAT45(n, 45);",
        ("n45 + m45", 12),
    ),
    (
        "struct A46 { int v; A46(int v) : v(v) {} }; A46 a46(1), *p46 = &a46;",
        (
            "A46 b46(*p46); A46 *q46(&b46), &r46(*q46); A46 (&s46) = a46;"
            " const A46 (*t46)[2] = nullptr; unsigned (*u46)(int) = nullptr;"
        ),
        ("b46.v + q46->v + r46.v + s46.v + (t46 == nullptr) + !u46", 6),
    ),
    # A cell may declare or define names of the C library, and use CUDA's.
    (
        'extern "C" int abs(int); extern "C" int read(int x) { return x + 1; }',
        "cudaError_t e47; __host__ __device__ int f47(int x) { return x * 2; }",
        ("abs(-4) + read(4) + f47(1) + e47", 11),
    ),
]
HEADERS = """
#include <climits>
#include <iostream>
#include <string>
#include <vector>
"""
OWN = {
    "own23.h": "#ifndef OWN23\n#define OWN23(T) T\n"
    '#include "more23.h"\nint own23 = 5;\nOWN_HD23 inline int twice23(int x)'
    " { return 2 * x; }\n__global__ void k23(int* x);\n#endif\n",
    "more23.h": "#pragma once\n#define OWN_HD23 __host__ __device__\n"
    "#define CHECK23(x) do { if (x) throw 1; } while (0);\n",
}
