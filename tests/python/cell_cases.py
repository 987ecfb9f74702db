"""What a cell of host code may declare, and what may use it.

`{x}` is a thing's name, `{y}` that of what uses it, `{use}` an expression of
the thing that is an int.
"""

from __future__ import annotations

INCLUDES = """
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>
using namespace std::string_literals;
"""

# A declaration, a use of it, and a statement that changes what that is worth.
THINGS = [
    ("int {x} = 2;", "{x}", "{x} += 10;"),
    ("const int {x} = 3;", "{x}", ""),
    ("constexpr int {x} = 3;", "{x}", ""),
    ("static int {x} = 4;", "{x}", "{x} += 10;"),
    ("inline int {x} = 4;", "{x}", "{x} += 10;"),
    ("thread_local int {x} = 5;", "{x}", "{x} += 10;"),
    ("auto {x} = 5;", "{x}", "{x} += 10;"),
    ("auto {x} = [](int a) {{ return a + 1; }};", "{x}(1)", ""),
    ("std::vector<int> {x}{{1, 2}};", "int({x}.size())", "{x}.push_back(1);"),
    ("int {x}[3] = {{1, 2, 3}};", "{x}[1]", "{x}[1] += 10;"),
    ("int {x}_v = 1, *{x} = &{x}_v;", "*{x}", "*{x} += 10;"),
    ("int {x}_v = 3; int& {x} = {x}_v;", "{x}", "{x} += 10;"),
    ("extern int {x}; int {x} = 2;", "{x}", "{x} += 10;"),
    ("int (*{x})(int) = [](int a) {{ return -a; }};", "{x}(3)", ""),
    ("struct {x} {{ int a = 1; }};", "{x}{{}}.a", ""),
    ("struct {x}_t {{ int a = 1; }} {x};", "{x}.a", "{x}.a += 10;"),
    (
        "struct {x}_t {{ int a; }} {x} = {{4}}, *{x}_p = &{x};",
        "{x}_p->a",
        "{x}.a += 10;",
    ),
    ("struct {{ int a = 1; }} {x};", "{x}.a", "{x}.a += 10;"),
    ("union {x}_u {{ int a; char b; }} {x} = {{7}};", "{x}.a", "{x}.a += 10;"),
    ("enum {x}_e {{ {x} = 3 }};", "int({x})", ""),
    ("enum class {x}_e {{ a = 2 }} {x} = {x}_e::a;", "int({x})", ""),
    ("template <class T> T {x} = T(6);", "{x}<int>", "{x}<int> += 10;"),
    ("template <class T> constexpr T {x} = T(6);", "{x}<int>", ""),
    ("template <class T> struct {x} {{ T a = 1; }};", "{x}<int>{{}}.a", ""),
    (
        "template <class T> struct {x} {{ static inline T a = 1; }};",
        "{x}<int>::a",
        "{x}<int>::a += 10;",
    ),
    ("template <class T> T {x}(T a) {{ return a; }}", "{x}(3)", ""),
    (
        "template <class T> int {x}(T a) {{ static int n = 0; return ++n; }}",
        "({x}(3), 1)",
        "",
    ),
    ("int {x}(int a) {{ return a; }}", "{x}(3)", ""),
    ("auto {x}(int a) {{ return a * 2; }}", "{x}(3)", ""),
    ("int {x}(auto a) {{ return a; }}", "{x}(3)", ""),
    ("inline int {x}(int a) {{ return a; }}", "{x}(3)", ""),
    ("static int {x}(int a) {{ return a; }}", "{x}(3)", ""),
    ("constexpr int {x}(int a) {{ return a; }}", "{x}(3)", ""),
    ("int& {x}() {{ static int n = 1; return n; }}", "{x}()", "{x}() += 10;"),
    (
        "inline int& {x}() {{ static int n = 1; return n; }}",
        "{x}()",
        "{x}() += 10;",
    ),
    ("auto& {x}() {{ static int n = 1; return n; }}", "{x}()", "{x}() += 10;"),
    ("int {x}(int a); int {x}(int a) {{ return a + 1; }}", "{x}(3)", ""),
    ("using {x} = short;", "int(sizeof({x}))", ""),
    ("typedef int {x}[2];", "int(sizeof({x}))", ""),
    ("namespace {x} {{ int a = 3; }}", "{x}::a", "{x}::a += 10;"),
    ("namespace {x} {{ int f() {{ return 3; }} }}", "{x}::f()", ""),
    (
        "namespace {x}_n {{ int a = 4; }} namespace {x} = {x}_n;",
        "{x}::a",
        "{x}::a += 10;",
    ),
    ("namespace {{ int {x} = 4; }}", "{x}", "{x} += 10;"),
    ("\n#define {x} 7\n", "{x}", ""),
    ("\n#define {x}(a) ((a) + 1)\n", "{x}(2)", ""),
    (
        "struct {x} {{ static int a; }}; int {x}::a = 3;",
        "{x}::a",
        "{x}::a += 10;",
    ),
    ("struct {x} {{ static inline int a = 3; }};", "{x}::a", "{x}::a += 10;"),
    (
        "struct {x} {{ int f(); }}; int {x}::f() {{ return 4; }}",
        "{x}{{}}.f()",
        "",
    ),
    ("template <class T> concept {x} = sizeof(T) == 4;", "int({x}<int>)", ""),
    ("[[maybe_unused]] int {x} = 2;", "{x}", "{x} += 10;"),
    ("alignas(16) int {x} = 2;", "{x}", "{x} += 10;"),
    ("int {x} [[maybe_unused]] = 2;", "{x}", "{x} += 10;"),
    ('extern "C" int {x}(int a) {{ return a + 2; }}', "{x}(3)", ""),
    ('extern "C" {{ int {x} = 5; }}', "{x}", "{x} += 10;"),
    (
        "struct {x}_t {{ int a; }}; int operator+({x}_t p, int q) {{ return p.a + q; }} {x}_t {x}{{3}};",
        "({x} + 1)",
        "{x}.a += 10;",
    ),
    (
        'int operator""_{x}(unsigned long long a) {{ return int(a) + 1; }}',
        "(4_{x})",
        "",
    ),
    ('std::string {x} = "abc";', "int({x}.size())", '{x} += "d";'),
    ('auto {x} = "abc"s;', "int({x}.size())", '{x} += "d";'),
    ('const char* {x} = "abc";', "int({x}[0])", ""),
    (
        "std::map<int, int> {x} = {{{{1, 2}}, {{3, 4}}}};",
        "{x}[3]",
        "{x}[3] += 10;",
    ),
    ("volatile int {x} = 3;", "{x}", "{x} = {x} + 10;"),
    ("struct {x}; struct {x} {{ int a = 5; }};", "{x}{{}}.a", ""),
    (
        "template <class T> struct {x}_t; template <> struct {x}_t<int> {{ int a = 6; }}; {x}_t<int> {x};",
        "{x}.a",
        "{x}.a += 10;",
    ),
    ("auto {x}(int a) -> int {{ return a; }}", "{x}(2)", ""),
    (
        "std::function<int(int)> {x} = [](int a) {{ return a + 4; }};",
        "{x}(1)",
        "",
    ),
    ("int {x}_a = 1, {x} = {x}_a + 2;", "{x}", "{x} += 10;"),
    ("int {x}{{8}};", "{x}", "{x} += 10;"),
    ("int {x}(9);", "{x}", "{x} += 10;"),
    ("int {x};", "{x}", "{x} += 10;"),
    ("decltype(1 + 1) {x} = 2;", "{x}", "{x} += 10;"),
    ("unsigned {x} = 2u;", "int({x})", "{x} += 10;"),
    ("constinit int {x} = 4;", "{x}", "{x} += 10;"),
]

# A declaration that uses a thing, and what it is worth.
USERS = [
    ("int {y} = {use};", "{y}"),
    ("auto {y} = {use};", "{y}"),
    ("const int {y} = {use};", "{y}"),
    ("int {y}[2] = {{{use}, 1}};", "{y}[0]"),
    ("int {y}() {{ return {use}; }}", "{y}()"),
    ("inline int {y}() {{ return {use}; }}", "{y}()"),
    ("static int {y}() {{ return {use}; }}", "{y}()"),
    ("auto {y}() {{ return {use}; }}", "{y}()"),
    ("int {y}(auto a) {{ return a + {use}; }}", "{y}(1)"),
    ("template <class T> T {y}(T a) {{ return a + {use}; }}", "{y}(1)"),
    ("struct {y} {{ int f() {{ return {use}; }} }};", "{y}{{}}.f()"),
    ("struct {y} {{ int a = {use}; }};", "{y}{{}}.a"),
    ("struct {y}_t {{ int f() {{ return {use}; }} }} {y};", "{y}.f()"),
    ("struct {{ int f() {{ return {use}; }} }} {y};", "{y}.f()"),
    (
        "struct {y} {{ int f(); }}; int {y}::f() {{ return {use}; }}",
        "{y}{{}}.f()",
    ),
    ("struct {y} {{ static inline int a = {use}; }};", "{y}::a"),
    (
        "template <class T> struct {y} {{ T f() {{ return {use}; }} }};",
        "{y}<int>{{}}.f()",
    ),
    ("auto {y} = [] {{ return {use}; }};", "{y}()"),
    ("std::function<int()> {y} = [] {{ return {use}; }};", "{y}()"),
    ("int {y}(int a = {use}) {{ return a; }}", "{y}()"),
    ("\n#define {y} ({use})\n", "{y}"),
    (
        "namespace {y} {{ int f() {{ return {use}; }} int a = {use}; }}",
        "{y}::f() + {y}::a",
    ),
    ("using {y} = decltype({use});", "int(sizeof({y}))"),
    ("template <class T> T {y} = T({use});", "{y}<int>"),
    ("int {y} = 0; {y} = {use};", "{y}"),
    ("int {y} = 0; if ({use}) {y} = {use} + 1;", "{y}"),
    ("int {y} = 0; for (int i = 0; i < 2; ++i) {{ {y} += {use}; }}", "{y}"),
    ("int {y}_f() {{ return {use}; }} int {y} = {y}_f();", "{y} + {y}_f()"),
    (
        "struct {y}_t {{ int a; {y}_t() : a({use}) {{}} }}; {y}_t {y};",
        "{y}.a + {y}_t().a",
    ),
]

# Around a declaration: none but the one that counts is looked at.
CONDITIONS = {
    "alone": "{text}",
    "if": "\n#if 1\n{text}\n#endif\n",
    "else": "\n#ifdef NO_SUCH\nint wrong(: no);\n#else\n{text}\n#endif\n",
    "elif": "\n#if NO_SUCH\n#elif 2 > 1\n# if 1\n{text}\n# endif\n#else\nno\n#endif\n",
}
