"""Operators from other compilers' output: define(ptx=, ltoir=, cubin=).

tests/cpp/cuda/given_* link every kind for several devices and refuse wrong
ones. This file tests what Python adds, the output of installed compilers, and
results on a GPU.
"""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from deadlines import until
from program_support import captured, python

import gpuos

OBJECTS = Path(__file__).parents[2] / "objects"
STORED = sorted(OBJECTS.glob("functions.*.ptx"))
REFUSED = (
    "expected a source or an expression on the host backend, got an object"
)


def steps(n):
    count = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


# The functions of tests/objects/functions.c: keywords of define(), and NumPy's
# result for the inputs and the scalar.
FUNCTIONS = {
    "axpy": (
        {"inputs": 2, "params": {"alpha": "float32"}},
        lambda x, y, alpha: alpha * x + y,
    ),
    "cube": ({"inputs": 1, "dtype": "float64"}, lambda x: x * x * x),
    "steps": (
        {"inputs": 1, "dtype": "int64"},
        np.vectorize(steps, otypes=["int64"]),
    ),
    "wrapped": ({"inputs": 2, "dtype": "uint8"}, lambda x, y: x * y),
    "lowered": (
        {"inputs": 1, "dtype": "int16", "params": {"by": "int8"}},
        lambda x, by: x - np.int16(by),
    ),
    "differ": ({"inputs": 2, "dtype": "bool"}, lambda x, y: x != y),
    "backwards": (
        {"inputs": 1, "elementwise": False, "params": {"factor": "float32"}},
        lambda x, factor: factor * x[::-1],
    ),
}
SCALARS = {"axpy": 3.0, "lowered": -5, "backwards": 0.5}


def names_in(text):
    return re.findall(r"\.visible \.func.*?(\w+)\($", text, re.MULTILINE)


def inputs_of(name, n):
    """Return numbers with exact operations, and every bool and byte."""
    keywords, _ = FUNCTIONS[name]
    dtype = np.dtype(keywords.get("dtype", "float32"))
    numbers = np.arange(n) * 37 % 251
    return [
        (numbers * step % 251).astype(dtype)
        if dtype != bool
        else numbers * step % 2 == 1
        for step in range(1, 1 + keywords["inputs"])
    ]


def check(rt, op, name, n):
    keywords, expected = FUNCTIONS[name]
    given = inputs_of(name, n)
    scalars = dict.fromkeys(keywords.get("params", {}), SCALARS.get(name))
    out = rt.empty(n, given[0].dtype)
    rt.submit(op, *(rt.array(x) for x in given), out=out, **scalars)
    with np.errstate(over="ignore"):
        wanted = expected(*given, *scalars.values())
    np.testing.assert_array_equal(out.numpy(), wanted.astype(out.dtype), name)


def compiled_by_clang(folder):
    clang = next(filter(shutil.which, ["clang-14", "clang"]), None)
    if clang is None:
        pytest.skip("no clang")
    head = (OBJECTS / "functions.clang.ptx").read_text().split("\n", 1)[0]
    made = folder / "functions.ptx"
    command = [clang, *head.split()[2:-1], str(made)]
    done = captured(*command, cwd=OBJECTS)
    if "nvptx" in done.stderr:
        pytest.skip("clang knows no NVPTX")
    assert done.returncode == 0, done.stderr
    return made.read_text()


def compiled_by_rust(folder):
    if shutil.which("rustc") is None:
        pytest.skip("no rustc")
    head = (OBJECTS / "functions.rust.ptx").read_text().split("\n", 1)[0]
    made = folder / "functions.ptx"
    # The traits that the compiler wants of a library change with it.
    done = captured(
        *head.split()[2:-1],
        str(made),
        cwd=OBJECTS,
        variables={"RUSTC_BOOTSTRAP": "1"},
    )
    if done.returncode != 0:
        pytest.skip("this rustc does not compile functions.rs")
    return made.read_text()


def need_numba():
    try:
        import numba.cuda  # noqa: F401, PLC0415
    except Exception as error:  # noqa: BLE001 (one of another NumPy's time)
        pytest.skip(f"no Numba: {error}")


def compiled_by_numba(_folder):
    need_numba()
    done = python("functions.py", cwd=OBJECTS)
    # The NVVM that it finds may be none, or another than it writes for.
    if done.returncode != 0:
        pytest.skip(f"Numba compiles nothing here: {done.stderr[-200:]}")
    return done.stdout


COMPILERS = [compiled_by_clang, compiled_by_rust, compiled_by_numba]


@pytest.mark.parametrize("compiler", COMPILERS, ids=lambda f: f.__name__[12:])
def test_compilers_still_make_such_functions(host, compiler, tmp_path):
    text = compiler(tmp_path)
    stored = OBJECTS / f"functions.{compiler.__name__[12:]}.ptx"
    assert names_in(text) == names_in(stored.read_text())
    for name in names_in(text):
        keywords, _ = FUNCTIONS[name]
        with pytest.raises(gpuos.BackendUnavailable, match=REFUSED):
            host.define(name, ptx=text, **keywords)


AXPY = FUNCTIONS["axpy"][0]
TEXT = STORED[0].read_text()


class Folder:
    """A path that is no pathlib.Path."""

    def __fspath__(self):
        return str(STORED[0])


@pytest.mark.parametrize("form", [TEXT, TEXT.encode(), STORED[0], Folder()])
def test_ptx_is_text_bytes_or_a_path(host, form):
    with pytest.raises(gpuos.BackendUnavailable, match="^axpy: " + REFUSED):
        host.define("axpy", ptx=form, **AXPY)
    with pytest.raises(gpuos.BackendUnavailable, match="^other: " + REFUSED):
        host.define("other", ptx=form, symbol="axpy", **AXPY)
    with pytest.raises(ValueError, match=r"float other\(float, float, float\)"):
        host.define("other", ptx=form, **AXPY)


@pytest.mark.parametrize("keyword", ["ltoir", "cubin"])
def test_other_objects_are_bytes_or_a_path(host, keyword, tmp_path):
    expected = "expected bytes or a path such as pathlib.Path, got str"
    with pytest.raises(TypeError, match=f"define: {keyword}: {expected}"):
        host.define("axpy", **{keyword: "axpy.o"}, **AXPY)
    with pytest.raises(FileNotFoundError):
        host.define("axpy", **{keyword: tmp_path / "none"}, **AXPY)
    with pytest.raises(ValueError, match="got PTX, which is given as ptx"):
        host.define("axpy", **{keyword: STORED[0]}, **AXPY)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        (
            {"ptx": TEXT, "cubin": b""},
            "one of ptx, ltoir and cubin, got ptx and",
        ),
        ({"ltoir": b"", "cubin": b""}, "got ltoir and cubin"),
        ({"symbol": "f"}, "symbol: expected ptx, ltoir or cubin with it"),
        ({"ptx": TEXT, "source": "x"}, "got more than one"),
        ({"ptx": TEXT, "expression": "o = x"}, "got more than one"),
        ({"ptx": TEXT, "tiered": True}, "tiered: expected a source, got an ob"),
        ({"ptx": TEXT, "checked": True}, "checked: expected a source, got an"),
        ({"ptx": TEXT, "inputs": None}, "expected `inputs`, the number of"),
        (
            {"ptx": TEXT, "inputs": 1},
            r"\(4, 4\) -> 4 bytes, got \(4, 4, 4\) ->",
        ),
        ({"ptx": TEXT, "dtype": "c8"}, "a number of C, got complex64"),
        (
            {"ptx": TEXT, "dtype": ["f4", "f8"]},
            "expected 1 dtype of a whole operator, got 2",
        ),
        ({"ptx": "axpy.ptx"}, "a file is given as its path, a pathlib.Path"),
        ({"ptx": TEXT, "symbol": "a b"}, "a symbol that is a name of C"),
    ],
)
def test_contradicting_keywords_are_refused(host, keywords, message):
    with pytest.raises(gpuos.InvalidArgument, match=message):
        host.define("axpy", **{**AXPY, **keywords})
    many = {**AXPY, **keywords, "name": "axpy"}
    with pytest.raises(gpuos.InvalidArgument, match=message):
        host.define_many([many])
    assert "axpy" not in host.operators()


def test_a_refused_ptx_keeps_the_old_operator(host):
    op = host.define("axpy", "o = alpha * x + y", params={"alpha": "float32"})
    with pytest.raises(gpuos.BackendUnavailable, match=REFUSED):
        host.replace(op, ptx=TEXT)
    change = host.transaction()
    change.__enter__()
    change.define("other", "o = x")
    change.replace(op, ptx=TEXT)
    with pytest.raises(gpuos.BackendUnavailable, match=REFUSED):
        change.__exit__(None, None, None)
    assert ("other" in host.operators(), op.version) == (False, 1)
    check(host, op, "axpy", 100)


def test_a_saved_ptx_file_is_recognized(host, tmp_path):
    op = host.define("axpy", "o = alpha * x + y", params={"alpha": "float32"})
    file, errors = tmp_path / "axpy.ptx", []
    with host.watch(op, file, on_error=errors.append):
        file.write_text(TEXT)
        until(lambda: errors)
    assert isinstance(errors[0], gpuos.BackendUnavailable)


# ---- On a GPU.


def made_here(device_code, arch="compute_80"):
    """Return NVRTC's output for CUDA C++ to be linked: PTX, or a CUBIN of
    sm_*."""
    options = gpuos.JitOptions(
        arch=arch, extra=["--relocatable-device-code=true"]
    )
    return gpuos.JitModule(device_code, options=options).image


@pytest.mark.gpu
@pytest.mark.parametrize("n", [1, 1000, 100_003])
@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_kept_ptx_computes_as_numpy(cuda, path, n):
    for name in names_in(path.read_text()):
        op = cuda.define(name, ptx=path, **FUNCTIONS[name][0])
        check(cuda, op, name, n)


@pytest.mark.gpu
@pytest.mark.parametrize("compiler", COMPILERS, ids=lambda f: f.__name__[12:])
def test_newly_compiled_ptx_computes_as_numpy(cuda, compiler, tmp_path):
    text = compiler(tmp_path)
    for name in names_in(text):
        op = cuda.define(name, ptx=text, **FUNCTIONS[name][0])
        check(cuda, op, name, 5000)


@pytest.mark.gpu
def test_cubins_compute(cuda):
    arch = gpuos.JitModule("").arch
    source = "\n".join(
        line.replace("int64_t", "long long")
        for line in (OBJECTS / "functions.c").read_text().splitlines()
        if "#include" not in line
    )
    for short, long in [
        ("uint8_t", "unsigned char"),
        ("int16_t", "short"),
        ("int8_t", "signed char"),
        ("_Bool", "bool"),
    ]:
        source = source.replace(short, long)
    source = re.sub(r"\n\n(?=\w)", "\n\n__device__ ", source)
    cubin = made_here('extern "C" {\n' + source + "\n}\n", arch)
    # Compiled code keeps its registers.
    for name in set(FUNCTIONS) - {"backwards"}:
        op = cuda.define(name, cubin=cubin, **FUNCTIONS[name][0])
        check(cuda, op, name, 5000)


@pytest.mark.gpu
def test_lto_ir_computes(cuda):
    need_numba()
    sys.path.insert(0, str(OBJECTS))
    try:
        import functions  # noqa: PLC0415
    finally:
        sys.path.remove(str(OBJECTS))
    try:
        compiled = functions.compiled("ltoir")
    except AttributeError as error:  # the first missing attribute
        if "module 'numpy'" not in str(error):
            raise
        pytest.skip(f"Numba is of another NumPy's time: {error}")
    for name, ltoir in compiled.items():
        op = cuda.define(name, ltoir=ltoir, **FUNCTIONS[name][0])
        check(cuda, op, name, 5000)


@pytest.mark.gpu
def test_short_floats_are_computed_as_float32(cuda):
    text = (OBJECTS / "functions.clang.ptx").read_text()
    x = np.arange(100, dtype="float16")
    op = cuda.define("axpy", ptx=text, dtype="float16", **AXPY)
    out = cuda.empty(100, "float16")
    cuda.submit(op, cuda.array(x), cuda.array(x), out=out, alpha=2.0)
    np.testing.assert_array_equal(out.numpy(), 3 * x)


@pytest.mark.gpu
def test_lanes_of_one_worker_meet_at_the_barrier(cuda):
    source = """
    extern "C" __device__ void turn(float* out, const float* x, long long n,
                                    long long lane, long long lanes) {
      for (long long i = lane; i < n; i += lanes) out[i] = x[i];
      __syncthreads();
      for (long long i = lane; i < n / 2; i += lanes) {
        const float kept = out[i];
        out[i] = out[n - 1 - i];
        out[n - 1 - i] = kept;
      }
    }"""
    op = cuda.define("turn", ptx=made_here(source), inputs=1, elementwise=False)
    x, out = cuda.arange(1001.0, dtype="float32"), cuda.empty(1001)
    cuda.submit(op, x, out=out)
    np.testing.assert_array_equal(out.numpy(), np.arange(1001.0)[::-1])


@pytest.mark.gpu
def test_versions_are_taken_back_and_changed_together(cuda):
    op = cuda.define("axpy", "o = alpha * x - y", params={"alpha": "float32"})
    assert cuda.replace(op, ptx=TEXT) == 2
    check(cuda, op, "axpy", 300)
    version = op.versions[-1]
    assert (version.symbol, version.source) == ("axpy", None)
    assert repr(version) == "gpuos.OperatorVersion(2, symbol='axpy', current)"
    cuda.rollback(op)
    with pytest.raises(AssertionError):
        check(cuda, op, "axpy", 300)
    cuda.rollback(op, to=2)
    check(cuda, op, "axpy", 300)
    with cuda.transaction() as change:
        change.replace(op, ptx=STORED[1].read_bytes())
        change.define("cube", ptx=STORED[1], **FUNCTIONS["cube"][0])
    check(cuda, op, "axpy", 300)
    check(cuda, "cube", "cube", 300)


@pytest.mark.gpu
def test_one_text_gives_many_at_once(cuda):
    text = (OBJECTS / "functions.numba.ptx").read_text()
    definitions = [
        {"name": f"{name}_{i}", "ptx": text, "symbol": name, **keywords}
        for i in range(3)
        for name, (keywords, _) in FUNCTIONS.items()
    ]
    for op in cuda.define_many(definitions):
        check(cuda, op, op.name.rsplit("_", 1)[0], 200)
