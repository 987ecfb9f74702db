"""Kinds of device declarations for cells.py, and the comparison with NVRTC."""

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator

import gpuos

# The format is that of cells.py. The last line names the kernels.
DEVICE = {
    "device operator": r"""
struct OVN { float x; __device__ OVN operator-() const; };
__device__ OVN OVN::operator-() const { return {-x}; }
__host__ __device__ inline OVN operator@(OVN a, OVN b) { return {float(int(a.x) @ int(b.x))}; }
__device__ OVN dovN = {3};
__global__ void okN(float* o) { o[0] = (dovN @ -OVN{2}).x; }
= okN
""",
    "macro before device code": r"""
#define DEVN __device__ __forceinline__
#define KERNELN extern "C" __global__ void
#define BOUNDSN(n) __launch_bounds__(n)
DEVN float mdN(float x) { return x + 1; } // of src/*.cu
KERNELN BOUNDSN(64) mkN(float* o) { o[0] = mdN(2); }
= mkN
""",
    "shared memory": r"""
#define TILEN 32
extern __shared__ float dynN[];
__device__ float fieldN[TILEN][TILEN + 1];
__global__ void skN(float* o) {\n  __shared__ float s[TILEN][TILEN + 1];\n  s[threadIdx.y][threadIdx.x] = fieldN[0][1];\n  if (o == nullptr) dynN[0] = 1;\n  __syncthreads();\n  o[0] = s[threadIdx.x][threadIdx.y];\n}
= skN
""",
    "constants and variables": r"""
const int lengthN = 5;
enum { oneN = 1, twoN };
__constant__ float cN[lengthN] = {1, 2, 3};
__device__ int cdN = 4;
__device__ unsigned long long zeroN[1 << 12];
__global__ void ckN(float* o) { o[0] = cN[twoN] + cdN + zeroN[7]; }
= ckN
""",
    "device template": r"""
template <class T> struct DTN { T x; __device__ T twice() const; };
template <class T> __device__ T DTN<T>::twice() const { return x + x; }
template <class T, int K> __device__ T addN(T x) { return x + K; }
template <> __device__ int addN<int, 9>(int) { return 90; }
__device__ int nineN() { return addN<int, 9>(0); }
template <class T> __global__ void tkN(T* o) { o[0] = addN<T, 2>(DTN<T>{1}.twice()) + addN<int, 9>(1) + nineN(); }
= tkN<float>
""",
    "declared before": r"""
__device__ float lateN(float, int = 4);
struct DSN;
__global__ void dkN(float*);
__device__ float lateN(float x, int y) { return x * y; }
struct DSN { int n; };
__global__ void dkN(float* o) { DSN s{7}; o[0] = lateN(s.n); }
= dkN
""",
    "namespace of the device": r"""
namespace dnN { __device__ int f(int); const int k = 5; }
namespace dnN { __device__ int f(int x) { return x * k; } }
namespace dnN { __global__ void go(float* o) { o[0] = f(2); } }
__global__ void nkN(float* o) { o[0] = dnN::f(3); }
= nkN dnN::go
""",
    "specialisation of a member": r"""
template <class T> struct SMN { static __device__ int f() { return 1; } };
template <> __device__ int SMN<char>::f() { return 3; }
__device__ int smN() { return SMN<char>::f() + SMN<int>::f(); }
__global__ void smkN(float* o) { o[0] = smN() + SMN<char>::f(); }
= smkN
""",
    "functor": r"""
struct FNN { int by; __device__ int operator()(int x) const { return x * by; } };
template <class F> __global__ void applyN(float* o, F f) { o[0] = f(3); }
using AliasN = FNN;
__device__ const char* textN() { return "/* it's ; { */"; }
__global__ void fkN(float* o) { o[0] = AliasN{2}(4) + textN()[0]; }
= fkN applyN<FNN>
""",
    "part of a condition": r"""
#if defined(__NEVER__)\nit's {prose\n#else\n__device__ int condN() { return 1; }\n#endif
#define TEXTDN "src/*.cu"
#ifdef TEXTDN\n#define LENGTHN int(sizeof(TEXTDN))\n#endif
__global__ void pkN(float* o) { o[0] = condN() + LENGTHN; }
= pkN
""",
    "declared constexpr": r"""
__host__ __device__ constexpr int cxN(int);
inline __device__ float ixN(float);
__global__ void cxkN(float* o) { o[0] = cxN(3) + ixN(1); }
__host__ __device__ constexpr int cxN(int x) { return x * 2; }
__device__ int sizedN[cxN(2)];
inline __device__ float ixN(float x) { return x + sizedN[3]; }
= cxkN
""",
    "parentheses of the device": r"""
typedef float DTN;
__device__ DTN (xN), yN<:2:> = <% 1, 2 %>;
__device__ DTN (pfN)(DTN x) { return not x ? xN : x + yN[1]; }
__global__ void (pgkN)(DTN* o) { o[0] = pfN(3); }
= pgkN
""",
}


def kernels_in(image: bytes) -> set[str]:
    """Return the kernels of an ELF file."""
    return {
        name.decode()
        for name in re.findall(rb"\.nv\.constant0\.(\w+)\0", image)
    }


@contextlib.contextmanager
def kept_errors() -> Iterator[list[str]]:
    """Keep what the linker of the device writes to file descriptor 2."""
    lines: list[str] = []
    sys.stderr.flush()
    before = os.dup(2)
    with tempfile.TemporaryFile("w+") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(before, 2)
            os.close(before)
            file.seek(0)
            lines += file.read().splitlines()


def value_of(rt: gpuos.Runtime, kernel: gpuos.Kernel) -> float:
    """Return what a kernel writes into its one element."""
    out = rt.zeros(1)
    rt.synchronize()
    kernel.launch(1, 1, [out])
    return float(out.numpy()[0])


def compiled(text: str, kernels: list[str]) -> gpuos.JitModule | None:
    """Compile one text with NVRTC; return None if it refuses the text."""
    try:
        return gpuos.JitModule(
            text, name_expressions=kernels, options=["-arch=sm_90"]
        )
    except gpuos.CompileError:
        return None


def finding(
    rt: gpuos.Runtime, session: gpuos.Session, text: str, kernels: list[str]
) -> str | None:
    """Return the difference between the kernels of the cells and of one text.

    A text that NVRTC refuses must be refused by a cell or by a link.
    """
    module = compiled(text, kernels)
    linked = set()
    try:
        with kept_errors() as printed:
            for kernel in kernels:
                linked |= kernels_in(session.link(kernel))
    except gpuos.Error as error:
        return module and f"{kernel}: {type(error).__name__}: {error}"
    if printed:
        return printed[0]
    if module is None:
        return f"expected an error, got {linked}"
    wanted = kernels_in(module.image)
    if linked != wanted:
        return f"expected the kernels {wanted}, got {linked}"
    if rt.backend == "host":
        return None
    for kernel in kernels:
        if "<" in kernel:
            continue  # some take more than one argument
        right = value_of(rt, module.kernel(kernel))
        got = value_of(rt, session.kernel(kernel))
        if got != right:
            return f"{kernel}: expected {right}, got {got}"
    return None
