"""Kernels of a cell and of later cells use its device code as in one file.

All declarations are tested in one cell or in two, twice under other names. The
C++ compiler gives the expected values.
"""

from __future__ import annotations

import pytest
from session_support import words_of_one_file

import gpuos

# A declaration of {x}, and an expression that is an int.
THINGS = [
    (
        "template <class T> struct {x} {{ __device__ int f(); }}; template <class T> __device__ int {x}<T>::f() {{ return 5; }}",
        "{x}<int>{{}}.f()",
    ),
    (
        "template <class T> __device__ int {x}(T) {{ return 1; }} template <> __device__ int {x}<int>(int a) {{ return a + 5; }}",
        "{x}(3)",
    ),
    (
        "namespace {x}_n {{ __device__ int f(); }} __device__ int {x}_n::f() {{ return 3; }}",
        "{x}_n::f()",
    ),
    (
        "namespace {x}_n {{ extern __device__ int v; }} __device__ int {x}_n::v = 3;",
        "{x}_n::v",
    ),
    (
        "template <class T> __device__ int {x}(T a) requires (sizeof(T) == 4) {{ return a; }}",
        "{x}(3)",
    ),
    (
        "template <class T> requires (sizeof(T) > 1) struct {x} {{ T a = 2; }};",
        "{x}<int>{{}}.a",
    ),
    ("__device__ auto {x} = 3;", "{x}"),
    (
        "__device__ auto {x}_b = 4.5f; __device__ auto {x} = 2;",
        "int({x} * {x}_b)",
    ),
    ("__constant__ auto {x}{{'a'}};", "int(sizeof {x})"),
    ("__device__ int {x}_b(2), {x}(3);", "{x} * {x}_b"),
    (
        "struct {x}_t {{ int a; }}; __device__ int {x}({x}_t, {x}_t); __device__ int {x}({x}_t p, {x}_t q) {{ return p.a + q.a; }}",
        "{x}({x}_t{{1}}, {x}_t{{2}})",
    ),
    ("template <class T> using {x} = T*;", "int(sizeof({x}<int>))"),
    ("enum class {x}_e {{ {x} = 2 }}; using enum {x}_e;", "int({x})"),
    (
        "template <class T> struct {x} {{ T a; }}; template <class T> {x}(T) -> {x}<T>;",
        "{x}{{3}}.a",
    ),
    (
        "__device__ int {x}_a[2] = {{1, 2}}; __device__ int (&{x}())[2] {{ return {x}_a; }}",
        "{x}()[1]",
    ),
    (
        "template <class T> struct {x} {{ static constexpr int a = 4; }};",
        "{x}<int>::a",
    ),
    (
        "template <class T> constexpr bool {x} = false; template <> constexpr bool {x}<int> = true;",
        "int({x}<int>)",
    ),
    (
        "struct {x} {{ struct in {{ __device__ int f(); }}; }}; __device__ int {x}::in::f() {{ return 3; }}",
        "{x}::in{{}}.f()",
    ),
    (
        "struct {x} {{ __device__ operator int(); }}; __device__ {x}::operator int() {{ return 3; }}",
        "int({x}{{}})",
    ),
    (
        "struct {x} {{ int a; __device__ {x}(int b); }}; __device__ {x}::{x}(int b) : a{{b}} {{}}",
        "{x}(3).a",
    ),
    (
        "namespace {x}_n {{ __device__ int {x}() {{ return 2; }} }} using namespace {x}_n;",
        "{x}()",
    ),
    (
        "namespace {x}_n {{ __device__ int {x}() {{ return 2; }} }} using {x}_n::{x};",
        "{x}()",
    ),
    (
        "inline namespace {x}_n {{ __device__ int {x}() {{ return 2; }} }}",
        "{x}()",
    ),
    ("namespace {x}_a::{x}_b {{ __device__ int a = 3; }}", "{x}_a::{x}_b::a"),
    (
        "__device__ __noinline__ int {x}(int a, int b = 4) {{ return a + b; }}",
        "{x}(1)",
    ),
    (
        "__device__ int {x}(double) {{ return 2; }} __device__ int {x}(int a) {{ return a; }}",
        "{x}(3) + {x}(3.0)",
    ),
    ("template <int N> __device__ int {x}() {{ return N; }}", "{x}<3>()"),
    (
        "template <class... T> __device__ int {x}(T... a) {{ return (a + ...); }}",
        "{x}(1, 2)",
    ),
    ("__device__ int {x}[2][2] = {{{{1, 2}}, {{3, 4}}}};", "{x}[1][0]"),
    ("struct {x}_t {{ int a; }} const {x} = {{4}};", "{x}_t{{3}}.a"),
    ("struct {x}_t {{ int a; }}; __device__ {x}_t {x} = {{4}};", "{x}.a"),
    ("__constant__ int {x}[2] = {{1, 2}};", "{x}[1]"),
    ("typedef struct {{ int a; }} {x};", "{x}{{3}}.a"),
    ("__device__ constexpr int {x} = 3;", "{x}"),
    (
        "struct {x} {{ friend __device__ int operator-({x}) {{ return 4; }} }};",
        "(-{x}{{}})",
    ),
    (
        "struct {x} {{ int a; }}; __device__ bool operator<(const {x}& p, const {x}& q) {{ return p.a < q.a; }}",
        "int({x}{{1}} < {x}{{2}})",
    ),
    ("template <class T> concept {x} = sizeof(T) == 4;", "int({x}<int>)"),
    ("template <class T> __device__ T {x} = T(6);", "{x}<int>"),
    ("__managed__ int {x} = 3;", "{x}"),
    ("__device__ static int {x} = 3;", "{x}"),
    ("static __device__ int {x}(int a) {{ return a; }}", "{x}(3)"),
    ("__device__ inline int {x}(int a) {{ return a; }}", "{x}(3)"),
    ("__device__ auto {x}(int a) {{ return a; }}", "{x}(3)"),
    ("__device__ int {x}(auto a) {{ return a; }}", "{x}(3)"),
    ('extern "C" __device__ int {x}(int a) {{ return a; }}', "{x}(3)"),
    ('extern "C" {{ __device__ int {x}(int a) {{ return a; }} }}', "{x}(3)"),
    ("__host__ __device__ int {x}(int a) {{ return a; }}", "{x}(3)"),
    ("__device__ int {x}(int a) noexcept {{ return a; }}", "{x}(3)"),
    ("[[nodiscard]] __device__ int {x}(int a) {{ return a; }}", "{x}(3)"),
    ("__device__ consteval int {x}(int a) {{ return a; }}", "{x}(3)"),
    (
        "struct {x} {{ static __device__ int f(int a); }}; __device__ int {x}::f(int a) {{ return a; }}",
        "{x}::f(3)",
    ),
    ("struct {x} {{ int a : 4; int b = 2; }};", "{x}{{}}.b"),
    (
        "__device__ int {x}(int); __device__ int {x}(int a) {{ return a; }}",
        "{x}(3)",
    ),
    ("extern __device__ int {x}; __device__ int {x} = 3;", "{x}"),
    (
        "__device__ int {x}(int a); namespace {x}_n {{ __device__ int f() {{ return {x}(2); }} }} __device__ int {x}(int a) {{ return a + 1; }}",
        "{x}_n::f()",
    ),
    (
        "\n#if 1\n__device__ int {x} = 5;\n#else\n__device__ int {x} = 6;\n#endif\n",
        "{x}",
    ),
    ("\n#define {x} 7\n", "{x}"),
    ("\n#define {x}(a) ((a) + 1)\n", "{x}(2)"),
    (
        "template <class T> struct {x}_b {{ __device__ int f() {{ return static_cast<T*>(this)->a; }} }}; struct {x} : {x}_b<{x}> {{ int a = 6; }};",
        "{x}{{}}.f()",
    ),
    (
        "struct {x} {{ int a; __device__ {x}(int b); }}; __device__ {x}::{x}(int b) : a{{b}} {{}} __device__ {x} {x}_f() {{ return {x}(4); }}",
        "{x}_f().a",
    ),
    (
        "struct {x} {{ int a = 3; __device__ ~{x}(); }}; __device__ {x}::~{x}() {{}}",
        "{x}{{}}.a",
    ),
    (
        "struct {x}_b {{ virtual __device__ int f() {{ return 1; }} }}; struct {x} : {x}_b {{ __device__ int f() override {{ return 2; }} }};",
        "{x}{{}}.f()",
    ),
    (
        "struct {x} {{ virtual __device__ int f(); }}; __device__ int {x}::f() {{ return 2; }}",
        "{x}{{}}.f()",
    ),
    (
        "struct {x} {{ int a = 3; __device__ int operator[](int i); }}; __device__ int {x}::operator[](int i) {{ return a + i; }}",
        "{x}{{}}[1]",
    ),
    (
        "namespace {x}_n {{ struct P {{ int a; __device__ P(int b); }}; }} __device__ {x}_n::P::P(int b) : a(b) {{}}",
        "{x}_n::P(3).a",
    ),
    (
        "template <class T> struct {x} {{ T a; __device__ {x}(T b); }}; template <class T> __device__ {x}<T>::{x}(T b) : a(b) {{}}",
        "{x}<int>(3).a",
    ),
]
NAMES = [
    (thing.format(x=name), use.format(x=name))
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
def test_device_code_is_as_in_one_file(rt, of_one_file, way):
    try:
        session = rt.session()
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))
    for cell in WAYS[way]:
        session.run(cell)
    if rt.backend == "host":
        assert session.link("k").startswith(b"\x7fELF")
        return
    session.run("k<<<1, 1>>>();")
    assert session["out"].tolist() == of_one_file
