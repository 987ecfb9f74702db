"""Declarations in cells of host code, and their uses.

`{x}` is the declared name, `{y}` the name of its user, and `{use}` an
expression of it that is an int.
"""

from __future__ import annotations

INCLUDES = """
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>
using namespace std::string_literals;
"""

# A declaration, a use of it, and a statement that changes its value.
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
    ("int {x}_a(2), {x}(3), *{x}_b(&{x});", "{x}_a * *{x}_b", "{x} += 10;"),
    (
        "struct {x}_t {{ int a; }}; int {x}({x}_t, {x}_t); int {x}({x}_t p, {x}_t q) {{ return p.a + q.a; }}",
        "{x}({{1}}, {{2}})",
        "",
    ),
    ("int {x}{{8}};", "{x}", "{x} += 10;"),
    ("int {x}(9);", "{x}", "{x} += 10;"),
    ("int {x};", "{x}", "{x} += 10;"),
    ("decltype(1 + 1) {x} = 2;", "{x}", "{x} += 10;"),
    ("unsigned {x} = 2u;", "int({x})", "{x} += 10;"),
    ("constinit int {x} = 4;", "{x}", "{x} += 10;"),
    # Functions.
    (
        "int {x}(int a) try {{ return a; }} catch (...) {{ throw; }}",
        "{x}(3)",
        "",
    ),
    ("int {x}(int a, int b = 4) {{ return a + b; }}", "{x}(1)", ""),
    (
        "int {x}(double) {{ return 2; }} int {x}(int a) {{ return a; }}",
        "{x}(3) + {x}(3.0)",
        "",
    ),
    ("[[nodiscard]] int {x}(int a) noexcept {{ return a; }}", "{x}(3)", ""),
    ("int {x}(int a) noexcept(true) {{ return a; }}", "{x}(3)", ""),
    ("__attribute__((noinline)) int {x}(int a) {{ return a; }}", "{x}(3)", ""),
    ("consteval int {x}(int a) {{ return a; }}", "{x}(3)", ""),
    (
        "int (&{x}())[2] {{ static int n[2] = {{1, 2}}; return n; }}",
        "{x}()[1]",
        "{x}()[1] += 10;",
    ),
    ("int {x}_f() {{ return 3; }} int (*{x})() = {x}_f;", "{x}()", ""),
    # Templates.
    (
        "template <class T> int {x}(T) {{ return 1; }} template <> int {x}<int>(int a) {{ return a + 5; }}",
        "{x}(3)",
        "",
    ),
    (
        "template <class T> struct {x} {{ int f(); }}; template <class T> int {x}<T>::f() {{ return 5; }}",
        "{x}<int>{{}}.f()",
        "",
    ),
    (
        "template <class T> struct {x} {{ static int a; }}; template <class T> int {x}<T>::a = 4;",
        "{x}<int>::a",
        "{x}<int>::a += 10;",
    ),
    (
        "template <class T> int {x}(T a) requires (sizeof(T) == 4) {{ return a; }}",
        "{x}(3)",
        "",
    ),
    (
        "template <class T> requires (sizeof(T) > 1) struct {x} {{ T a = 2; }};",
        "{x}<int>{{}}.a",
        "",
    ),
    (
        "template <class... T> int {x}(T... a) {{ return (a + ...); }}",
        "{x}(1, 2)",
        "",
    ),
    ("template <int N> int {x}() {{ return N; }}", "{x}<3>()", ""),
    ("template <auto N> constexpr int {x} = N;", "{x}<3>", ""),
    (
        "template <class T> struct {x} {{ T a; }}; template <class T> {x}(T) -> {x}<T>;",
        "{x}{{3}}.a",
        "",
    ),
    ("template <class T> using {x} = T*;", "int(sizeof({x}<int>))", ""),
    (
        "template <template <class...> class C> struct {x} {{ C<int> a; }};",
        "int({x}<std::vector>{{}}.a.size())",
        "",
    ),
    (
        "template <class T> constexpr bool {x} = false; template <> constexpr bool {x}<int> = true;",
        "int({x}<int>)",
        "",
    ),
    (
        "template <class T> struct {x} {{ int a = 1; }}; template <class T> struct {x}<T*> {{ int a = 2; }};",
        "{x}<int*>{{}}.a",
        "",
    ),
    (
        "template <class T> struct {x} {{ T a = 2; }}; template struct {x}<int>;",
        "{x}<int>{{}}.a",
        "",
    ),
    (
        "template <class T> struct {x}_b {{ int f() {{ return static_cast<T*>(this)->a; }} }}; struct {x} : {x}_b<{x}> {{ int a = 6; }};",
        "{x}{{}}.f()",
        "",
    ),
    ("auto {x} = []<class T>(T a) {{ return a; }};", "{x}(3)", ""),
    (
        "auto {x} = [n = 3](int a) mutable {{ return n += a; }};",
        "{x}(0)",
        "{x}(1);",
    ),
    # Types.
    ("enum {x}_e : short {{ {x} = 4 }};", "int({x})", ""),
    ("enum {{ {x}_a = 2, {x} }};", "int({x})", ""),
    ("enum class {x}_e {{ {x} = 2 }}; using enum {x}_e;", "int({x})", ""),
    ("struct {x} {{ int a : 4; int b = 2; }};", "{x}{{}}.b", ""),
    ("struct {x} {{ struct in {{ int a = 5; }}; }};", "{x}::in{{}}.a", ""),
    (
        "struct {x} {{ struct in {{ int f(); }}; }}; int {x}::in::f() {{ return 3; }}",
        "{x}::in{{}}.f()",
        "",
    ),
    (
        "struct {x} {{ int operator()(int a) const {{ return a; }} }};",
        "{x}{{}}(3)",
        "",
    ),
    (
        "struct {x} {{ friend int operator-({x}) {{ return 4; }} }};",
        "(-{x}{{}})",
        "",
    ),
    (
        "struct {x}_b {{ virtual int f() {{ return 1; }} virtual ~{x}_b() = default; }}; struct {x} : {x}_b {{ int f() override {{ return 2; }} }};",
        "{x}{{}}.f()",
        "",
    ),
    (
        "struct {x}_b {{ virtual int f(); }}; int {x}_b::f() {{ return 3; }} struct {x} final : public {x}_b {{}};",
        "{x}{{}}.f()",
        "",
    ),
    (
        "struct {x} {{ operator int() const {{ return 3; }} }};",
        "int({x}{{}})",
        "",
    ),
    (
        "struct {x} {{ operator int(); }}; {x}::operator int() {{ return 3; }}",
        "int({x}{{}})",
        "",
    ),
    (
        "struct {x} {{ ~{x}(); int a = 3; }}; {x}::~{x}() {{}}",
        "{x}{{}}.a",
        "",
    ),
    (
        "struct {x} {{ int a = 3; int operator[](int i); }}; int {x}::operator[](int i) {{ return a + i; }}",
        "{x}{{}}[1]",
        "",
    ),
    (
        "struct {x} {{ int a; {x}(int b); }}; {x}::{x}(int b) : a{{b}} {{}}",
        "{x}(3).a",
        "",
    ),
    (
        "struct {x} {{ int a; {x}(int b); }}; {x}::{x}(int b) try : a(b) {{}} catch (...) {{ throw; }}",
        "{x}(3).a",
        "",
    ),
    (
        "struct {x} {{ static int f(int a); }}; int {x}::f(int a) {{ return a; }}",
        "{x}::f(3)",
        "",
    ),
    (
        "struct {x} {{ int a; }}; bool operator<(const {x}& p, const {x}& q) {{ return p.a < q.a; }}",
        "int({x}{{1}} < {x}{{2}})",
        "",
    ),
    (
        "struct {x} {{ int a = 3; bool operator==(const {x}&) const = default; }};",
        "int({x}{{}} == {x}{{}})",
        "",
    ),
    (
        "struct {x}_b {{ int g() {{ return 3; }} }}; struct {x} : private {x}_b {{ using {x}_b::g; }};",
        "{x}{{}}.g()",
        "",
    ),
    (
        "struct {x}; int {x}_f({x}*); struct {x} {{ int a = 2; }}; int {x}_f({x}* p) {{ return p ? p->a : 9; }}",
        "{x}_f(nullptr)",
        "",
    ),
    ("typedef struct {{ int a; }} {x};", "{x}{{3}}.a", ""),
    ("typedef struct {x}_s {{ int a; }} {x};", "{x}_s{{3}}.a + {x}{{1}}.a", ""),
    ("typedef int (*{x})(int);", "int(sizeof({x}))", ""),
    ("using {x} = int (*)(int);", "int(sizeof({x}))", ""),
    # Namespaces.
    ("inline namespace {x}_n {{ int {x} = 3; }}", "{x}", "{x} += 10;"),
    ("namespace {x}_a::{x}_b {{ int a = 3; }}", "{x}_a::{x}_b::a", ""),
    (
        "namespace {x}_n {{ int f(); }} int {x}_n::f() {{ return 3; }}",
        "{x}_n::f()",
        "",
    ),
    (
        "namespace {x}_n {{ int a = 1; }} namespace {x}_n {{ int b = a + 1; }}",
        "{x}_n::b",
        "{x}_n::b += 10;",
    ),
    (
        "namespace {x}_n {{ int {x} = 2; }} using namespace {x}_n;",
        "{x}",
        "{x} += 10;",
    ),
    (
        "namespace {x}_n {{ int {x}() {{ return 2; }} }} using {x}_n::{x};",
        "{x}()",
        "",
    ),
    (
        "using std::vector; vector<int> {x}(3);",
        "int({x}.size())",
        "{x}.clear();",
    ),
    # Variables.
    ("struct {x}_t {{ int a; }} const {x} = {{4}};", "{x}.a", ""),
    (
        "struct {x}_t {{ int a; int b; }}; {x}_t {x} = {{.a = 1, .b = 2}};",
        "{x}.b",
        "{x}.b += 10;",
    ),
    (
        "struct {x}_t {{ int a = 1; }}; int {x}_t::* {x} = &{x}_t::a;",
        "({x}_t{{}}.*{x})",
        "",
    ),
    (
        "struct {x}_t {{ explicit {x}_t(int b) : a(b) {{}} int a; }}; {x}_t {x}(4);",
        "{x}.a",
        "{x}.a += 10;",
    ),
    (
        "int {x}_a[2] = {{5, 6}}; int (&{x})[2] = {x}_a;",
        "{x}[1]",
        "{x}[1] += 10;",
    ),
    ("int {x}[] = {{1, 2, 3}};", "int(sizeof({x})) + {x}[2]", "{x}[2] += 10;"),
    ('char {x}[] = "abc";', "int({x}[1])", "{x}[1] += 1;"),
    (
        "int {x}[2][2] = {{{{1, 2}}, {{3, 4}}}};",
        "{x}[1][0]",
        "{x}[1][0] += 10;",
    ),
    ('static const char* const {x}[] = {{"ab", "c"}};', "int({x}[0][1])", ""),
    (
        "std::vector<std::vector<int>> {x} = {{{{1}}, {{2, 3}}}};",
        "{x}[1][0]",
        "{x}[1][0] += 10;",
    ),
    ("std::unique_ptr<int> {x}(new int(3));", "*{x}", "*{x} += 10;"),
    ('const std::string& {x} = std::string("abc");', "int({x}.size())", ""),
    ("int&& {x} = 3;", "{x}", "{x} += 10;"),
    (
        "bool {x} = 1 < 2, {x}_b = 3 > 2;",
        "int({x}) + int({x}_b)",
        "{x} = false;",
    ),
    ("int {x} = 1 < 2 ? 3 : 4;", "{x}", "{x} += 10;"),
    (
        "int {x} = [] {{ int s = 0; while (s < 3) ++s; return s; }}();",
        "{x}",
        "{x} += 10;",
    ),
    ('std::string {x} = R"(a"b\n;}})";', "int({x}.size())", ""),
    ("char {x} = '\"';", "int({x})", "{x} += 1;"),
    ("int {x} = 1'000;", "{x}", "{x} += 10;"),
    ("int /* ; */ {x} // {{\n  \\\n = 3;", "{x}", "{x} += 10;"),
    ('extern "C++" {{ int {x} = 3; }}', "{x}", "{x} += 10;"),
    ("unsigned long long int {x} = 3ull;", "int({x})", "{x} += 10;"),
    (
        "long {x} = 3; static_assert(sizeof({x}) == 8);",
        "int({x})",
        "{x} += 10;",
    ),
    ("auto {x} = std::pair(1, 2.5);", "{x}.first", "{x}.first += 10;"),
    (
        "template <class T> requires (sizeof(T) > 1) && std::is_same_v<T, int> int {x}(T a) {{ return a; }}",
        "{x}(3)",
        "",
    ),
    (
        "template <class T> requires requires(T a) {{ a + 1; }} int {x}(T a) {{ return a; }}",
        "{x}(3)",
        "",
    ),
    (
        "template <class T> struct {x} {{ T a; {x}(T b) : a(b) {{}} }}; {x}(const char*) -> {x}<int>; {x}(short) -> {x}<int>;",
        "int(sizeof({x}(short(3)).a))",
        "",
    ),
    (
        "int (*{x}(int a))(int) {{ return [](int b) {{ return b + 1; }}; }}",
        "{x}(1)(2)",
        "",
    ),
    (
        "namespace {x} {{ struct P {{ int a = 2; }}; int operator+(P, int); }} int {x}::operator+(P p, int b) {{ return p.a + b; }}",
        "({x}::P{{}} + 1)",
        "",
    ),
    (
        "namespace {x} {{ struct P {{ operator int(); ~P(); int f(); }}; }} {x}::P::operator int() {{ return 3; }} {x}::P::~P() {{}} int {x}::P::f() {{ return 2; }}",
        "(int({x}::P()) + {x}::P().f())",
        "",
    ),
    (
        "namespace {x} {{ extern int {x}_a[2]; }} int {x}::{x}_a[2] = {{1, 2}};",
        "{x}::{x}_a[1]",
        "{x}::{x}_a[1] += 10;",
    ),
    (
        "namespace {x} {{ extern int (*{x}_p[1])(int); }} int (*{x}::{x}_p[1])(int) = {{[](int a) {{ return a + 3; }}}};",
        "{x}::{x}_p[0](1)",
        "",
    ),
    (
        "namespace {x} {{ template <class T> T f(T); }} template <class T> T {x}::f(T a) {{ return a; }}",
        "{x}::f(3)",
        "",
    ),
    (
        "struct {x}_f; struct {x} {{ friend struct {x}_f; {x}_f* p; int a = 6; }}; struct {x}_f {{ {x} b; }};",
        "{x}_f{{}}.b.a",
        "",
    ),
    (
        "template <class T> struct {x} {{ int f(T); }}; template <> int {x}<int>::f(int a) {{ return a + 1; }}",
        "{x}<int>{{}}.f(2)",
        "",
    ),
]

# A declaration that uses a thing, and an expression for its value.
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
    ("struct {y} {{ int a; {y}(); }}; {y}::{y}() : a({use}) {{}}", "{y}().a"),
    (
        "template <class T> struct {y} {{ T f(); }}; template <class T> T {y}<T>::f() {{ return {use}; }}",
        "{y}<int>{{}}.f()",
    ),
    (
        "template <class T> int {y}(T) {{ return 0; }} template <> int {y}<int>(int a) {{ return a + {use}; }}",
        "{y}(1)",
    ),
    (
        "int {y}(int a) try {{ return a + {use}; }} catch (...) {{ throw; }}",
        "{y}(1)",
    ),
    (
        "struct {y} {{ operator int() const {{ return {use}; }} }};",
        "int({y}{{}})",
    ),
    (
        "namespace {y}_n {{ int f(); }} int {y}_n::f() {{ return {use}; }}",
        "{y}_n::f()",
    ),
    (
        "int {y} = 0; switch (int s = {use}; s > 0) {{ case true: {y} = s; break; default: {y} = -1; }}",
        "{y}",
    ),
    (
        "int {y} = 0; try {{ throw {use}; }} catch (int a) {{ {y} = a; }}",
        "{y}",
    ),
    ("int {y} = 0; for (int a : {{{use}, 2}}) {y} += a;", "{y}"),
]

# Conditions around a declaration. Only the active branch is compiled.
CONDITIONS = {
    "alone": "{text}",
    "if": "\n#if 1\n{text}\n#endif\n",
    "else": "\n#ifdef NO_SUCH\nint wrong(: no);\n#else\n{text}\n#endif\n",
    "elif": "\n#if NO_SUCH\n#elif 2 > 1\n# if 1\n{text}\n# endif\n#else\nno\n#endif\n",
}
