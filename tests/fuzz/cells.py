"""Programs that are cut into cells, compared with the same text in one file."""

import os
import random
import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import device_cells
from device_cells import DEVICE

import gpuos

INCLUDES = (
    "#include <sstream>\n#include <string>\n#include <vector>\n"
    "#include <stdio.h>\n"
)
MARKS = ["\n", "\r\n", " // a remark /* of src/*.cu\n", "\n/* it's; { */\n"]
BATCH = 10  # texts for one call of the C++ compiler


def declarations(text: str) -> list[str]:
    """Return the lines of a kind; "! " begins a statement, "= " a value."""
    return [line.replace(r"\n", "\n") for line in text.strip().split("\n")]


# N is the number of the kind in its text. Lines are cut from each other; \\n
# is a line's end within a declaration, and @ one of the operators.
HOST = {
    "operator": r"""
struct VN { int x; };
VN operator@(VN a, VN b) { return {a.x * 3 @ b.x}; }
VN aN{7};
VN bN = aN @ VN{2};
! bN = bN @ aN;
= bN.x
""",
    "compound operator": r"""
struct CN { int x; CN& operator+=(const CN& o); CN operator-() const; };
CN& CN::operator+=(const CN& o) { x += o.x; return *this; }
CN CN::operator-() const { return {-x}; }
CN cN{4};
! cN += -CN{9};
= cN.x
""",
    "stream operator": r"""
struct SN { int x; };
std::ostream& operator<<(std::ostream& o, const SN& s) { return o << s.x; }
std::ostringstream outN;
SN sN{12};
! outN << sN << "/*" << sN;
std::string textN = outN.str();
= textN.size()
""",
    "template": r"""
template <class T> struct TN { T x; T f(T y); template <class U> U g(U); };
template <class T> T TN<T>::f(T y) { return x + y; }
template <class T> template <class U> U TN<T>::g(U u) { return u + x; }
template <class A, class B = A> A castN(B b) { return A(b); }
TN<int> tN{3};
int uN = castN<int, long>(tN.f(4)), vN = uN < 3, wN = uN > (2);
= uN + tN.g(2.5) + vN + wN
""",
    "specialisation": r"""
template <class T> struct KN { static int f() { return 1; } };
template <class T> int hN(T) { return 5; }
template <> struct KN<int> { static int f() { return 2; } };
template <> int KN<char>::f() { return 3; }
template <> int hN<double>(double) { return 6; }
int kN = KN<int>::f() * 10 + KN<char>::f();
= kN * 100 + hN(1) * 10 + hN(1.0)
""",
    "member": r"""
struct MN { int x; struct In; static int count; int f() const; MN(int); };
int MN::count = 0;
MN::MN(int a) : x{a} { ++count; }
struct MN::In { int y = 8; };
int MN::f() const { return x + In{}.y; }
MN mN(3);
int (MN::*pN)() const = &MN::f;
= (mN.*pN)() + MN::count
""",
    "macro": r"""
#define WN 6 // of src/*.h
#define PAIRN(a, b) \\n  (a) * 10 + (b)
#define QUOTEN(a) #a
const std::string quotedN = QUOTEN(a+b and c);
std::vector<int> vN(WN);
std::vector<int> wN(WN, PAIRN(WN, 2));
int iN[WN] = {PAIRN(1, 2)};
= vN.size() + wN[1] + iN[0] + quotedN.size()
""",
    "macro before a function": r"""
#define HDN __host__ __device__ inline
#define APIN(T) extern T
HDN int dN(int x) { return x + 1; }
APIN(int) globalN;
int globalN = 4;
HDN int eN(int x) { return dN(x) * 2; }
! globalN += eN(1);
= eN(2) + globalN
""",
    "macro of a statement": r"""
#define FORN(i, n) for (int i = 0; i < (n); ++i)
#define CHECKN(x) do { if (!(x)) ++failedN; } while (0)
int failedN, sumN;
! FORN(i, 4) { sumN += i; }
! CHECKN(sumN == 7);
= sumN * 10 + failedN
""",
    "enum": r"""
enum EN { lowN = 2, highN };
enum class FN { one = 1, two };
std::vector<int> xN(highN);
std::vector<int> yN(highN, lowN);
struct GN { int v; GN(FN f, int n) : v(int(f) * n) {} };
GN gN(FN::two, highN);
= xN.size() + yN[0] + gN.v
""",
    "lambda": r"""
auto oneN = [](int x) { return x + 1; };
int baseN = 5;
auto twoN = [](auto x) { return oneN(x) * baseN; };
! baseN = 6;
= twoN(2)
""",
    "static": r"""
static int zN = 2;
static int nextN() { static int calls = 0; return ++calls + zN; }
! nextN();
static const int constantN = 3;
int seenN = nextN() * constantN;
= seenN
""",
    "string": r"""
const char* qN = "/* no comment */ // \\\" ;";
std::string rN = R"x(it's " { ) */)x";
char charN = '"';
std::string lN(3, '\'');
= std::string(qN).size() + rN.size() + charN + lN.size()
""",
    "directive": r"""
#if 0\nit's {prose\n#else\nint jN = 2;\n#endif
#ifdef __NEVER__\nstruct QN;\n#endif
#define TEXTN "src/*.cu"
#undef TEXTN
#define TEXTN "b"
int lengthN = sizeof(TEXTN);
= jN + lengthN
""",
    "namespace": r"""
namespace nN { const int k = 5; int f(int); }
namespace nN { struct P { int x; }; }
int nN::f(int x) { return x * k; }
std::vector<int> inN(nN::k);
nN::P partN{nN::f(2)};
= inN.size() + partN.x
""",
    "declaration": r"""
struct DN;
int laterN(const DN&, int = 4);
extern int outerN;
struct DN { int x; };
int laterN(const DN& d, int y) { return d.x * y + outerN; }
int outerN = 2;
int (*pointerN)(const DN&, int) = laterN;
int (&arrayN(int (&a)[2]))[2] { return a; }
int twiceN[2] = {1, 2};
int (&sameN)[2] = arrayN(twiceN);
= laterN(DN{3}) + pointerN(DN{1}, 1) + sameN[1]
""",
    "alias": r"""
using IN = long;
typedef int AN[3];
IN firstN(4);
AN secondN = {1, 2, 3};
std::vector<IN> thirdN(firstN);
int fourthN(IN);
int fourthN(IN x) { return x; }
= firstN + secondN[2] + thirdN.size() + fourthN(2)
""",
    "spelling": r"""
struct YN { int x; };
int spellN(const volatile int a, float const* b, long unsigned int c, int d[], struct YN);
int fourN[4] = {1, 2, 3, 4};
int spellN(int a, const float* b, unsigned long c, int* d, const YN y) { return a + c + d[2] + y.x; }
int rowsN(const int (*)[2]);
int rowsN(int const m[][2]) { return m[1][1]; }
= spellN(1, nullptr, 2, fourN, {5}) + rowsN(reinterpret_cast<int (*)[2]>(fourN))
""",
    "overload": r"""
int oN(double x) { return x * 2; }
int oN(int x) { return oN(x + 0.5) + 10; }
template <class T> int oN(const std::vector<T>& v) { return oN(v[0]) + oN(v[1]); }
template <class T> T sumN(T a) { return a; }
template <class T, class... R> T sumN(T a, R... r) { return a + sumN(r...); }
struct HN { int x; };
HN abs(HN h) { return {abs(h.x)}; }
= oN(std::vector<int>{1, 2}) + sumN(1, 2, 3) + abs(HN{-4}).x
""",
    "friend": r"""
class FN { int x; friend class LN; template <class U> friend U getN(const FN&, U);\n  friend std::ostream& operator<<(std::ostream&, const FN&); public: FN(int a) : x(a) {} };
std::ostream& operator<<(std::ostream& o, const FN& f) { return o << f.x; }
template <class U> U getN(const FN& f, U u) { return f.x + u; }
class LN { public: int at(const FN& f) { return f.x * 2; } };
FN fN(7);
std::ostringstream shownN;
! shownN << fN;
= getN(fN, 1) + LN{}.at(fN) + shownN.str().size()
""",
    "macro of before": r"""
#define LISTN(X) X(aN, 1) X(bN, 2)
#define XN(n, v) n = v,
enum ListN { LISTN(XN) };
#undef XN
#define XN(n, v) case n: return v * 10;
int ofN(ListN e) { switch (e) { LISTN(XN) } return 0; }
#undef XN
#define SIZEN 3
struct ArrayN { int d[SIZEN]; };
#undef SIZEN
#define SIZEN 5
inline int sizeN() { return SIZEN; }
= ofN(bN) + sizeof(ArrayN) + sizeN()
""",
    "typedef": r"""
typedef struct nodeN { int v; struct nodeN* next; } nodeN, *linkN;
typedef struct { int x; } PairN;
typedef struct tagN tag_N;
struct tagN { tag_N* self; int v = 3; };
typedef int numN, *ptrN, arrN[2], (*funN)(int);
typedef enum { offN, onN } switchN;
nodeN firstN = {1, nullptr};
linkN lastN = &firstN;
arrN partsN = {4, 5};
ptrN atN = partsN;
funN callN = [](int x) { return x + onN; };
= lastN->v + PairN{2}.x + tagN{}.v + atN[1] + callN(1) + sizeof(switchN)
""",
    "declared text": r"""
constexpr int oddN(int n);
constexpr int evenN(int n) { return n == 0 ? 1 : oddN(n - 1); }
constexpr int oddN(int n) { return n == 0 ? 0 : evenN(n - 1); }
template <class T> T lateN(T);
template <class T> T earlyN(T x) { return lateN(x) + 1; }
template <class T> T lateN(T x) { return x * 2; }
static int againN(int);
inline auto usesN(int x) { return againN(x) + 1; }
static int againN(int x) { return x * 3; }
= evenN(10) + oddN(3) + earlyN(4) + usesN(2)
""",
    "special member": r"""
struct MN { int v; MN(); MN(const MN&); ~MN(); MN& operator<<=(int k); static const char* text; int& at(int); int at(int) const; };
int& MN::at(int) { return v; }
int MN::at(int k) const { return k; }
MN::MN() : v(1) {}
MN::MN(const MN&) = default;
MN::~MN() = default;
MN& MN::operator<<=(int k) { v <<= k; return *this; }
const char* MN::text = "ab";
void neverN(double) = delete;
MN mN;
! mN <<= 3;
= MN(mN).at(0) + MN::text[1] + const_cast<const MN&>(mN).at(5)
""",
    "instance": r"""
template <class T> T halfN(T x) { return x / 2; }
template int halfN<int>(int);
template <class T> struct OneN { T f() { return 3; } };
extern template struct OneN<long>;
template struct OneN<long>;
= halfN(5) + OneN<long>{}.f()
""",
    "parentheses": r"""
typedef int TN;
TN (aN), (bN) = 3;
std::vector<TN> (vN)(2), wN{vN};
TN (fN)(TN x) { return x + 1; }
int (rowN[2]) = {1, 2}, (cN)(4);
! (fN)(aN);
= aN + bN + vN.size() + wN.size() + fN(rowN[1]) + cN
""",
    "other spellings": r"""
struct DN <% int x; bool operator not() const <% return x == 0; %> %>;
%:define SIZEN 2
int dN<:SIZEN:> = <%3, 4%>;
bool bN = not DN<%1%> or dN<:1:> not_eq 4;
int wN(int bitand x, int and) <% return compl x bitand 7; %>
= wN(dN[0], 1) + bN + (not DN{0})
""",
    "jump": r"""
int iN, jN;
! againN: ++iN; if (iN < 4) goto againN;
! if (iN > 3) goto endN; ++jN; (void)iN; endN: jN += 2;
= iN * 10 + jN
""",
    "two classes of a friend": r"""
class SN;
class RN { int x = 2; friend int bothN(const RN&, const SN&); friend RN operator@(const RN&, const SN&); };
class SN { int y = 3; friend int bothN(const RN&, const SN&); friend RN operator@(const RN&, const SN&); };
int bothN(const RN& r, const SN& s) { return r.x * 10 + s.y; }
RN operator@(const RN& r, const SN& s) { RN t = r; t.x += s.y; return t; }
= bothN(RN{} @ SN{}, SN{})
""",
    "guard": r"""
#ifndef LIMITN\n#define LIMITN 4\n#endif
#ifndef LIMITN\n#define LIMITN 5\n#endif
int limitN = LIMITN;
inline int laterN() { return LIMITN; }
#ifdef LIMITN\n#undef LIMITN\n#define LIMITN 6\n#endif
int listN[LIMITN];
= limitN * 100 + sizeof(listN) + laterN()
""",
    "linkage of C": r"""
extern "C" int far_N(int);
int useN(int x) { return far_N(x) + 1; }
extern "C" { int near_N(int); }
extern "C" int far_N(int x) { return near_N(x) * 2; }
extern "C" { int near_N(int x) { return x + 3; } }
= useN(4) + near_N(1)
""",
    "both sides": r"""
#define HN __host__ __device__
struct BN { int x; HN BN(int a) : x(a) {} HN int at(int k) const; HN BN& operator+=(const BN& o); };
HN int BN::at(int k) const { return x * k; }
HN BN& BN::operator+=(const BN& o) { x += o.at(2); return *this; }
HN int sumN(BN a, BN b) { return (a += b).at(1); }
BN bN = BN(3) += BN(4);
= bN.at(2) + sumN(bN, BN(1))
""",
    "pack": r"""
#pragma pack(push, 1)
struct ON { char c; double d; };
template <class T> struct QN { char c; T d; };
#pragma pack(pop)
struct RN { char c; double d; ON o; };
QN<double> qN; RN rN{1, 2, {3, 4}};
= sizeof(qN) * 100 + sizeof(ON) * 10 + sizeof(rN) + rN.o.d
""",
}
OPERATORS = ["+", "-", "*", "&", "|", "^", "%", "<<"]


@dataclass
class Kind:
    """One kind of declaration with its uses."""

    name: str
    lines: list[str]
    value: str  # of the device: its kernels

    @property
    def is_device(self) -> bool:
        """Return whether NVRTC is the reference, instead of the C++ compiler."""
        return self.name in DEVICE


@dataclass
class Case:
    """Kinds, the order of their lines, and the cuts between cells."""

    kinds: list[Kind]
    seed: int
    is_broken: bool = False
    cuts: Counter = field(default_factory=Counter)

    @property
    def kernels(self) -> list[str]:
        of_device = [kind for kind in self.kinds if kind.is_device]
        return [name for kind in of_device for name in kind.value.split()]

    def pieces(self) -> list[tuple[str, str]]:
        """Return (kind, line) in the order of the text."""
        dice = random.Random(self.seed)
        left = [list(kind.lines) for kind in self.kinds]
        if self.is_broken:
            of_device = [
                lines
                for kind, lines in zip(self.kinds, left, strict=True)
                if kind.is_device
            ]
            lines = dice.choice(of_device)
            del lines[dice.randrange(len(lines) - 1)]
        drawn = []
        while any(left):
            at = dice.choice([i for i, lines in enumerate(left) if lines])
            run = dice.randint(1, 3)  # of one kind
            for _ in range(min(run, len(left[at]))):
                drawn.append((self.kinds[at].name, left[at].pop(0)))
        return drawn

    def cells(self) -> list[str]:
        """Return the text cut at random between declarations."""
        dice = random.Random(self.seed + 1)
        cells = [""]
        self.cuts.clear()
        for kind, line in self.pieces():
            text = line.removeprefix("! ")
            if cells[-1] and dice.random() < 0.4:
                cells.append("")
                self.cuts[kind] += 1
            is_directive = line.startswith("#")
            end = "\n" if is_directive else dice.choice(MARKS)
            if dice.random() < 0.1:
                text = text.replace("\n", "\r\n")
            cells[-1] += text + end
        values = ", ".join(
            f"double({kind.value})" for kind in self.kinds if not kind.is_device
        )
        return [*cells, f"double values[] = {{0, {values}}};"]

    def device_text(self) -> str:
        """Return the device code of the case, as one text."""
        of_device = {kind.name for kind in self.kinds if kind.is_device}
        return "".join(
            f"{line}\n" for name, line in self.pieces() if name in of_device
        )

    def file(self, name: str) -> str:
        """Return the text as a part of one file, with a function `name`."""
        text = ""
        for index, (kind, line) in enumerate(self.pieces()):
            if kind in DEVICE:
                continue
            if line.startswith("! "):
                body = line.removeprefix("! ")
                text += f"int run_{name}_{index} = ([] {{ {body} }}(), 0);\n"
            else:
                text += f"{line}\n"
        prints = ""
        for number, each in enumerate(self.kinds):
            if each.is_device:
                continue
            show = f"print_{name}_{number}()"
            text += (
                f'void {show} {{ printf(" %.17g", double({each.value})); }}\n'
            )
            prints += f"{show}; "
        return (
            f'{text}void {name}() {{ printf("0"); {prints} printf("\\n"); }}\n'
        )

    def text(self) -> str:
        """Return the case as Python."""
        runs = "".join(f"session.run({cell!r})\n" for cell in self.cells())
        links = "".join(f"\nsession.link({name!r})" for name in self.kernels)
        return (
            "import gpuos\nsession = gpuos.Runtime('host').session()\n"
            f"session.run({INCLUDES!r})\n{runs}print(session['values']){links}"
        )


def kind_of(dice: random.Random, name: str, number: int) -> Kind:
    text = (HOST | DEVICE)[name].replace("@", dice.choice(OPERATORS))
    lines = declarations(text)
    lines = [re.sub(r"N(?![A-Za-z_])", f"_{number}", line) for line in lines]
    return Kind(name, lines[:-1], lines[-1].removeprefix("= "))


def draw(seed: int, index: int) -> Case:
    dice = random.Random(f"{seed}:{index}")
    names = dice.sample(list(HOST), dice.randint(2, 5))
    names += dice.sample(list(DEVICE), dice.randint(1, 3))
    dice.shuffle(names)
    kinds = [
        kind_of(dice, name, index * 100 + at) for at, name in enumerate(names)
    ]
    return Case(kinds, dice.randrange(1 << 30), dice.random() < 0.1)


def expected(cases: list[Case]) -> list[list[float]]:
    """Return the values that a C++ compiler gives to the texts in one file."""
    names = [f"case_{index}" for index in range(len(cases))]
    files = [case.file(name) for case, name in zip(cases, names, strict=True)]
    main = f"int main() {{ {' '.join(f'{name}();' for name in names)} }}\n"
    marks = "#define __host__\n#define __device__\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.cpp"
        path.write_text(marks + INCLUDES + "".join(files) + main)
        made = Path(folder) / "all"
        command = [os.environ.get("CXX", "c++"), "-std=c++20", "-w"]
        subprocess.run([*command, path, "-o", made], check=True)
        done = subprocess.run(
            [made], check=True, capture_output=True, text=True
        )
    return [
        [float(word) for word in line.split()]
        for line in done.stdout.splitlines()
    ]


def finding(rt: gpuos.Runtime, case: Case, wanted: list[float]) -> str | None:
    """Return how the cells differ from the file."""
    session = rt.session()
    text, kernels = case.device_text(), case.kernels
    try:
        session.run(INCLUDES)
        for cell in case.cells():
            session.run(cell)
        got = session["values"].tolist()
    except (gpuos.Error, RuntimeError) as error:
        if case.is_broken and device_cells.compiled(text, kernels) is None:
            return None
        return f"{type(error).__name__}: {error}"
    names = [kind.name for kind in case.kinds if not kind.is_device]
    wrong = [
        f"{name}: expected {right}, got {value}"
        for name, value, right in zip(["", *names], got, wanted, strict=True)
        if value != right
    ]
    of_device = kernels and device_cells.finding(rt, session, text, kernels)
    return "; ".join(wrong) or of_device or None


def shrink(rt: gpuos.Runtime, case: Case) -> Case:
    """Leave out the kinds without which it is wrong as well."""
    for kind in list(case.kinds):
        rest = [each for each in case.kinds if each is not kind]
        smaller = Case(rest, case.seed, case.is_broken)
        can_break = any(each.is_device for each in rest)
        if smaller.is_broken and not can_break:
            continue
        if rest and finding(rt, smaller, expected([smaller])[0]):
            case = smaller
    return case


def first_finding(
    rt: gpuos.Runtime, count: int, seed: int, cuts: Counter, *, is_over=None
) -> str | None:
    """Return what is wrong with which of `count` texts, or None."""
    kept = rt.session()  # others find the headers that it has read
    kept.run(INCLUDES)
    kept.run("int read_ahead;")
    for begin in range(0, count, BATCH):
        if is_over is not None and is_over():
            break
        cases = [
            draw(seed, index)
            for index in range(begin, min(begin + BATCH, count))
        ]
        for at, (case, wanted) in enumerate(
            zip(cases, expected(cases), strict=True)
        ):
            found = finding(rt, case, wanted)
            cuts.update(case.cuts)
            if found:
                case = shrink(rt, case)  # noqa: PLW2901
                found = finding(rt, case, expected([case])[0]) or found
                return f"seed {seed}, text {begin + at}: {found}\n{case.text()}"
    return None
