"""Kernels of a cell and of later cells use its device code as in one file.

All declarations are tested in one cell or in two, twice under other names. The
C++ compiler gives the expected values.
"""

import pytest
from jit_support import or_skip
from session_support import words_of_one_file

# A declaration of @, and an expression that is an int.
THINGS = [
    (
        "template <class T> struct @ { __device__ int f(); }; template <class T> __device__ int @<T>::f() { return 5; }",
        "@<int>{}.f()",
    ),
    (
        "template <class T> __device__ int @(T) { return 1; } template <> __device__ int @<int>(int a) { return a + 5; }",
        "@(3)",
    ),
    (
        "namespace @_n { __device__ int f(); } __device__ int @_n::f() { return 3; }",
        "@_n::f()",
    ),
    (
        "namespace @_n { extern __device__ int v; } __device__ int @_n::v = 3;",
        "@_n::v",
    ),
    (
        "template <class T> __device__ int @(T a) requires (sizeof(T) == 4) { return a; }",
        "@(3)",
    ),
    (
        "template <class T> requires (sizeof(T) > 1) struct @ { T a = 2; };",
        "@<int>{}.a",
    ),
    ("__device__ auto @ = 3;", "@"),
    ("__device__ auto @_b = 4.5f; __device__ auto @ = 2;", "int(@ * @_b)"),
    ("__constant__ auto @{'a'};", "int(sizeof @)"),
    ("__device__ int @_b(2), @(3);", "@ * @_b"),
    (
        "struct @_t { int a; }; __device__ int @(@_t, @_t); __device__ int @(@_t p, @_t q) { return p.a + q.a; }",
        "@(@_t{1}, @_t{2})",
    ),
    ("template <class T> using @ = T*;", "int(sizeof(@<int>))"),
    ("enum class @_e { @ = 2 }; using enum @_e;", "int(@)"),
    (
        "template <class T> struct @ { T a; }; template <class T> @(T) -> @<T>;",
        "@{3}.a",
    ),
    (
        "__device__ int @_a[2] = {1, 2}; __device__ int (&@())[2] { return @_a; }",
        "@()[1]",
    ),
    (
        "template <class T> struct @ { static constexpr int a = 4; };",
        "@<int>::a",
    ),
    (
        "template <class T> constexpr bool @ = false; template <> constexpr bool @<int> = true;",
        "int(@<int>)",
    ),
    (
        "struct @ { struct in { __device__ int f(); }; }; __device__ int @::in::f() { return 3; }",
        "@::in{}.f()",
    ),
    (
        "struct @ { __device__ operator int(); }; __device__ @::operator int() { return 3; }",
        "int(@{})",
    ),
    (
        "struct @ { int a; __device__ @(int b); }; __device__ @::@(int b) : a{b} {}",
        "@(3).a",
    ),
    (
        "namespace @_n { __device__ int @() { return 2; } } using namespace @_n;",
        "@()",
    ),
    ("namespace @_n { __device__ int @() { return 2; } } using @_n::@;", "@()"),
    ("inline namespace @_n { __device__ int @() { return 2; } }", "@()"),
    ("namespace @_a::@_b { __device__ int a = 3; }", "@_a::@_b::a"),
    (
        "__device__ __noinline__ int @(int a, int b = 4) { return a + b; }",
        "@(1)",
    ),
    (
        "__device__ int @(double) { return 2; } __device__ int @(int a) { return a; }",
        "@(3) + @(3.0)",
    ),
    ("template <int N> __device__ int @() { return N; }", "@<3>()"),
    (
        "template <class... T> __device__ int @(T... a) { return (a + ...); }",
        "@(1, 2)",
    ),
    ("__device__ int @[2][2] = {{1, 2}, {3, 4}};", "@[1][0]"),
    ("struct @_t { int a; } const @ = {4};", "@_t{3}.a"),
    ("struct @_t { int a; }; __device__ @_t @ = {4};", "@.a"),
    ("__constant__ int @[2] = {1, 2};", "@[1]"),
    ("typedef struct { int a; } @;", "@{3}.a"),
    ("__device__ constexpr int @ = 3;", "@"),
    (
        "struct @ { friend __device__ int operator-(@) { return 4; } };",
        "(-@{})",
    ),
    (
        "struct @ { int a; }; __device__ bool operator<(const @& p, const @& q) { return p.a < q.a; }",
        "int(@{1} < @{2})",
    ),
    ("template <class T> concept @ = sizeof(T) == 4;", "int(@<int>)"),
    ("template <class T> __device__ T @ = T(6);", "@<int>"),
    ("__managed__ int @ = 3;", "@"),
    ("__device__ static int @ = 3;", "@"),
    ("static __device__ int @(int a) { return a; }", "@(3)"),
    ("__device__ inline int @(int a) { return a; }", "@(3)"),
    ("__device__ auto @(int a) { return a; }", "@(3)"),
    ("__device__ int @(auto a) { return a; }", "@(3)"),
    ('extern "C" __device__ int @(int a) { return a; }', "@(3)"),
    ('extern "C" { __device__ int @(int a) { return a; } }', "@(3)"),
    ("__host__ __device__ int @(int a) { return a; }", "@(3)"),
    ("__device__ int @(int a) noexcept { return a; }", "@(3)"),
    ("[[nodiscard]] __device__ int @(int a) { return a; }", "@(3)"),
    ("__device__ consteval int @(int a) { return a; }", "@(3)"),
    (
        "struct @ { static __device__ int f(int a); }; __device__ int @::f(int a) { return a; }",
        "@::f(3)",
    ),
    ("struct @ { int a : 4; int b = 2; };", "@{}.b"),
    ("__device__ int @(int); __device__ int @(int a) { return a; }", "@(3)"),
    ("extern __device__ int @; __device__ int @ = 3;", "@"),
    (
        "__device__ int @(int a); namespace @_n { __device__ int f() { return @(2); } } __device__ int @(int a) { return a + 1; }",
        "@_n::f()",
    ),
    (
        "\n#if 1\n__device__ int @ = 5;\n#else\n__device__ int @ = 6;\n#endif\n",
        "@",
    ),
    ("\n#define @ 7\n", "@"),
    ("\n#define @(a) ((a) + 1)\n", "@(2)"),
    (
        "template <class T> struct @_b { __device__ int f() { return static_cast<T*>(this)->a; } }; struct @ : @_b<@> { int a = 6; };",
        "@{}.f()",
    ),
    (
        "struct @ { int a; __device__ @(int b); }; __device__ @::@(int b) : a{b} {} __device__ @ @_f() { return @(4); }",
        "@_f().a",
    ),
    (
        "struct @ { int a = 3; __device__ ~@(); }; __device__ @::~@() {}",
        "@{}.a",
    ),
    (
        "struct @_b { virtual __device__ int f() { return 1; } }; struct @ : @_b { __device__ int f() override { return 2; } };",
        "@{}.f()",
    ),
    (
        "struct @ { virtual __device__ int f(); }; __device__ int @::f() { return 2; }",
        "@{}.f()",
    ),
    (
        "struct @ { int a = 3; __device__ int operator[](int i); }; __device__ int @::operator[](int i) { return a + i; }",
        "@{}[1]",
    ),
    (
        "namespace @_n { struct P { int a; __device__ P(int b); }; } __device__ @_n::P::P(int b) : a(b) {}",
        "@_n::P(3).a",
    ),
    (
        "template <class T> struct @ { T a; __device__ @(T b); }; template <class T> __device__ @<T>::@(T b) : a(b) {}",
        "@<int>(3).a",
    ),
]
NAMES = [
    (thing.replace("@", name), use.replace("@", name))
    for first in "ab"
    for i, (thing, use) in enumerate(THINGS)
    for name in [f"{first}{i}"]
]
THING_CELL = "\n".join(thing for thing, _ in NAMES)
OUT = f"__device__ int out[{len(NAMES)}];\n"
KERNEL = "".join(f"  out[{i}] = {use};\n" for i, (_, use) in enumerate(NAMES))
KERNEL_CELL = f"__global__ void k() {{\n{KERNEL}}}\n"

WAYS = {
    "one cell": [OUT + THING_CELL + "\n" + KERNEL_CELL],
    "two cells": [OUT + THING_CELL, KERNEL_CELL],
    "a cell each": [OUT, *(thing for thing, _ in NAMES), KERNEL_CELL],
    "twice": [OUT + THING_CELL, KERNEL_CELL, THING_CELL, KERNEL_CELL],
}
WORDS = ["device", "global", "host", "constant", "managed", "noinline"]


@pytest.fixture(scope="module")
def of_one_file(tmp_path_factory) -> list[int]:
    folder = tmp_path_factory.mktemp("cells")
    text = "#include <cstdio>\n"
    text += "".join(f"#define __{word}__\n" for word in WORDS)
    text += OUT + THING_CELL + "\n" + KERNEL_CELL
    text += 'int main() { k(); for (int n : out) std::printf("%d ", n); }\n'
    return [int(word) for word in words_of_one_file(folder, text)]


@pytest.mark.parametrize("way", WAYS)
def test_device_cells_mean_the_same_as_one_file(rt, of_one_file, way):
    session = or_skip(rt.session)
    for cell in WAYS[way]:
        session.run(cell)
    if rt.backend == "host":
        assert session.link("k").startswith(b"\x7fELF")
        return
    session.run("k<<<1, 1>>>();")
    assert session["out"].tolist() == of_one_file
