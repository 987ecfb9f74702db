"""Test which bridge is used: a prebuilt one, one of the cache, or none."""

import itertools
import os
import re
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest
import torch_overloads
from building_support import COMMANDS, site
from program_support import captured
from torch_support import assert_same, gt, outcome, pair, torch

import gpuos
from gpuos import choosing
from gpuos.torch import eager, loading, readiness
from gpuos.torch.requests import _REDUCTIONS

__all__ = ["site"]

pytestmark = [pytest.mark.host, pytest.mark.torch]

ROOT = Path(__file__).resolve().parents[3]
DEFERS = """
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(defers())
    print(gt.bridge().__file__ if gt.stats()["eager"] == 0 else "")
print(*(str(one.message) for one in caught))
"""


OURS = f"Name: gpuos-runtime-torch\nRequires-Dist: gpuos-runtime=={gpuos.__version__}"


def prebuild(site, name, says=OURS):
    """Install a package of one bridge, or one more in it."""
    package = site.folder / "site/gpuos_torch"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()
    shutil.copy(readiness.bridge().__file__, package / f"{name}.so")
    project = re.match(r"Name: (\S+)", says)[1].replace("-", "_")
    info = package.parent / f"{project}-{gpuos.__version__}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\n{says}\n")
    with (info / "RECORD").open("a") as record:
        record.write(f"gpuos_torch/{name}.so,,\n" * (says != UNLISTED))
    site.has_packages(package.parent)
    return package / f"{name}.so"


UNLISTED = f"{OURS}\nSummary: its RECORD has no bridge"
FOREIGN = {
    "of PyPI": "Name: gpuos_torch",
    "for another project": "Name: gpuos-runtime-torch\nRequires-Dist: gpuos (==0.1.1)",
    "another version": OURS.replace(gpuos.__version__, "9.8.7"),
    "without the file": UNLISTED,
}


@pytest.mark.parametrize("says", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_bridge_package_is_ignored(site, says):
    prebuild(site, choosing.name(), says)
    site.take_compiler()
    assert site.run(DEFERS).startswith("False\n")


# One of each may be what is here.
VERSIONS = {
    *("2.11.0", "2.11.0+cpu", "2.11.0+cu130"),
    *("2.13.0", "2.13.0+cpu", "2.13.0+cu130", "2.13.1+cpu"),
}
ABIS = {
    "cpython-311-x86_64-linux-gnu",
    "cpython-312-x86_64-linux-gnu",
    "cpython-311d-x86_64",
}


def names_of_others():
    """Yield the names of bridges for anything else that can be installed."""
    read, abi = Path.read_bytes, torch.compiled_with_cxx11_abi()
    changes = [
        (torch, "compiled_with_cxx11_abi", lambda: not abi),
        (choosing, "FLAGS", (*choosing.FLAGS, "-O3")),
    ]
    for version in VERSIONS - {torch.__version__}:
        changes.append((torch, "__version__", version))
    for python in ABIS - {sysconfig.get_config_var("SOABI")}:
        changes.append((sysconfig, "get_config_var", lambda _, p=python: p))
    for name in ("overrides.cpp", "keys.h", "requests.h"):

        def read_other(path, name=name):
            return read(path) + b"\n" * (path.name == name)

        changes.append((Path, "read_bytes", read_other))
    for change in changes:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(*change)
            choosing.name.cache_clear()
            yield choosing.name()
    choosing.name.cache_clear()


def test_the_name_needs_no_pytorch_in_the_process(printed_by):
    text = "from gpuos import choosing\nprint(choosing.name())"
    assert printed_by(text) == f"{choosing.name()}\n"


def test_a_bridge_for_another_build_is_ignored(site):
    real, others = choosing.name(), [*names_of_others()]
    assert choosing.name() == real
    assert len({real, *others}) == len(others) + 1, others
    for name in others:
        prebuild(site, name)
    site.take_compiler()
    defers, path, warning = site.run(DEFERS).split("\n", 2)
    assert (defers, path) == ("False", "")
    assert f"nor a gpuos-runtime-torch with {real}.so" in warning


def test_a_prebuilt_bridge_that_does_not_load_is_compiled(site):
    path = prebuild(site, choosing.name())
    path.write_text("made for another machine")
    site.touch("go")
    said = site.run(
        DEFERS.replace("print(defers", "defers(); until(defers); print(defers")
    )
    assert said.startswith("True\n")
    assert f"expected to load {path}" in said
    assert len(site.started()) == COMMANDS


DAMAGES = {
    "empty": lambda data: data[:0],
    "its header": lambda data: data[:60],
    "a half": lambda data: data[: len(data) // 2],
    "all but the last byte": lambda data: data[:-1],
    "zeros": lambda data: bytes(len(data)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_bridge_is_not_loaded(tmp_path, damage):
    path = tmp_path / "bridge.so"
    whole = Path(readiness.bridge().__file__).read_bytes()
    path.write_bytes(DAMAGES[damage](whole))
    with pytest.raises(loading.Damaged, match="it is damaged"):
        loading.load(path, retire=print, join=print)


def test_a_bridge_that_was_built_for_another_gpuos_is_refused(
    tmp_path, monkeypatch
):
    path = Path(shutil.copy(readiness.bridge().__file__, tmp_path))
    built_for = choosing.name()
    monkeypatch.setattr(choosing, "name", lambda: "bridge-of-today")
    refusal = f"{path} to be bridge-of-today, got {built_for}; remove the file"
    with pytest.raises(loading.NotLoaded, match=re.escape(refusal)):
        loading.load(path, retire=print, join=print)


def test_a_damaged_cached_bridge_is_recompiled(site):
    site.touch("go")
    site.run("gt.wait_ready()")
    [bridge, _] = site.left()
    path = site.cache / "bridge" / bridge
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    site.run("gt.wait_ready()\nassert defers()")
    assert path.read_bytes() == whole
    assert len(site.started()) == 2 * COMMANDS


def test_a_prebuilt_bridge_precedes_the_cache(site):
    site.touch("go")
    site.run("gt.wait_ready()")
    [bridge, _] = site.left()
    site.take_compiler()
    assert site.run(DEFERS).splitlines()[1] == str(
        site.cache / "bridge" / bridge
    )
    path = prebuild(site, choosing.name())
    assert site.run(DEFERS).splitlines()[1] == str(path)


def test_the_read_only_cache_provides_the_bridge(site):
    shared = prebuild(site, f"{choosing.name()}-12345678").parent
    folder = site.folder / "read only" / "bridge"
    folder.parent.mkdir(mode=0o700)
    shared.rename(folder)
    site.take_compiler()
    said = site.run(DEFERS, GPUOS_CACHE_READONLY_DIR=str(folder.parent))
    assert said.startswith(f"True\n{folder}")


def test_a_bridge_folder_of_another_user_is_ignored(site):
    folder = site.folder / f"gpuos-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    site.variables |= {
        "GPUOS_CACHE_DIR": "off",
        "TMPDIR": str(site.folder),
    }
    site.touch("go")
    said = site.run(DEFERS)
    assert said.startswith("False\n")
    assert "that only this user may write, got mode 777" in said
    assert site.started() == []
    folder.chmod(0o700)
    site.run("gt.wait_ready()\nassert defers()")
    assert list(folder.glob("bridge/*.so"))


def test_the_wheel_provides_the_bridge(site):
    """Made, installed and loaded on a machine without a compiler."""
    bridges = site.folder / "bridges"
    bridges.mkdir()
    shutil.copy(readiness.bridge().__file__, bridges / f"{choosing.name()}.so")
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-index")

    def run(*words):
        return captured(*words, cwd=site.folder, check=True).stdout.strip()

    wheel = Path(
        run(sys.executable, ROOT / "scripts/torch_wheel.py", bridges, "out")
    )
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert wheel.name.startswith(
        f"gpuos_runtime_torch-{gpuos.__version__}-{tag}-"
    )
    run(*pip, "--no-deps", "--target", "site", site.folder / wheel)
    site.has_packages(site.folder / "site")
    site.take_compiler()
    path = site.folder / "site/gpuos_torch" / f"{choosing.name()}.so"
    assert site.run(DEFERS).splitlines() == ["True", str(path), ""]
    info = site.run(
        "from gpuos.cli.info import state_of_torch\nprint(state_of_torch())"
    )
    assert info == f"prebuilt: {path}\n"


def test_the_wheels_bridges_match_its_sources(site):
    site.touch("go")
    old = site.folder / "made" / f"{choosing.name()[:-16]}{'0' * 16}.so"
    other = old.with_name("bridge-2.11.0-cpython-310-x86_64-linux-gnu-0.so")
    old.parent.mkdir()
    old.touch()
    other.touch()
    said = site.run("""
from gpuos.torch import building
print(building.compile_into(FOLDER / "made", ["-Wl,one", "-ltwo"], print))
""")
    path = site.folder / "made" / f"{choosing.name()}.so"
    assert said == f"1 of 3\n2 of 3\n3 of 3\n{path}\n"
    assert sorted(path.parent.glob("*.so")) == sorted([path, other])
    *_, link = (site.folder / "words").read_text().splitlines()
    assert link.endswith(f"-lc10 {gpuos.get_library()} -Wl,one -ltwo")
    assert "rpath" not in link
    assert site.left() == []


OFF = """
import functools
a, b, out = torch.arange(4.0), torch.ones(4), torch.zeros(4)
whole = torch.zeros(())

def use_add(call, wanted):
    call(a, b, out)
    assert torch.equal(out, wanted), call

def use_elementwise():
    gt.register_elementwise("twice", "o = 2 * x + relu(y)")
    gt.submit_elementwise("twice", a, b, out=out)
    assert torch.equal(out, 2 * a + 1)

def use_reduce():
    gt.submit_reduce("sum", a, whole)
    assert whole.item() == 6.0

def refuses(use):
    error = error_of(gpuos.BackendUnavailable, use)
    assert "GPUOS_TORCH" in error or "compiler" in error, error

USES = {
    "Scheduler": lambda: gt.Scheduler(1, 32, 1, 1.0, None).__enter__().flush(),
    "build": lambda: refuses(gt.build),
    "flush": lambda: gt.flush(sync=True),
    "init": lambda: gt.init(capacity=16),
    "pending": lambda: gt.pending(),
    "register_elementwise": use_elementwise,
    "runtime": lambda: refuses(gt.runtime),
    "scheduler": lambda: defers(deterministic=True) and 1 / 0,
    "scheduler_context": lambda: defers() and 1 / 0,
    "shutdown": lambda: gt.shutdown(),
    "stats": lambda: gt.stats(),
    "submit_binary": lambda: (
        gt.submit_binary("maximum", a, b, out),
        torch.equal(out, a.maximum(b)) or 1 / 0,
    ),
    "submit_elementwise": use_elementwise,
    "submit_reduce": use_reduce,
    "submit_unary": lambda: (
        gt.submit_unary("exp", a, out),
        torch.equal(out, a.exp()) or 1 / 0,
    ),
    "wait_ready": lambda: gt.wait_ready(),
}
for name in ("add", "sub", "mul", "div"):
    call = getattr(gt, f"submit_{name}")
    USES[f"submit_{name}"] = functools.partial(
        use_add, call, getattr(torch, name)(a, b)
    )
assert sorted(USES) == sorted(gt.__all__)
warnings.simplefilter("error")
for name in gt.__all__:
    USES[name]()
counted = gt.stats()
assert counted.pop("eager") == 3 and not any(counted.values()), counted
assert "bridge-" not in pathlib.Path("/proc/self/maps").read_text()
assert threading.active_count() == 1
"""


def test_off_switches_everything_off(site):
    prebuild(site, choosing.name())
    prebuilt = site.variables.pop("PYTHONPATH")
    site.take_compiler()
    site.run(OFF, GPUOS_TORCH="off")
    # The variable also counts where a bridge exists.
    site.variables["PYTHONPATH"] = prebuilt
    site.run("assert not defers()", GPUOS_TORCH="off")
    site.run("assert defers()", GPUOS_TORCH="on")
    site.run("assert defers()", GPUOS_TORCH="")
    said = site.run(
        "from gpuos.cli.info import state_of_torch\nprint(state_of_torch())",
        GPUOS_TORCH="off",
    )
    assert said == "off: GPUOS_TORCH=off\n"


def test_off_is_one_word(monkeypatch):
    monkeypatch.setenv("GPUOS_TORCH", "0")
    text = "GPUOS_TORCH: expected on, off or ready, got '0'"
    with pytest.raises(gpuos.InvalidArgument, match=text):
        choosing._switch.__wrapped__()


# They take numbers, three tensors or nothing.
OF_OTHERS = {
    *("addcdiv", "addcmul", "clamp", "copy", "elu", "fill", "hardtanh"),
    *("leaky_relu", "lerp", "masked_fill", "softplus", "threshold"),
    *("threshold_backward", "where", "zero"),
}
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int32, torch.bool)


def written(call, *given, out):
    """Return what a request wrote, or its error."""
    error = outcome(call, *given)
    gt.flush()
    return out if error is None else error


@pytest.mark.parametrize("name", torch_overloads.names())
def test_switched_off_requests_compute_the_same(name):
    compared = 0
    for dtype, made, count in itertools.product(DTYPES, DTYPES, (1, 2)):
        given = [x.abs().to(dtype) for x in pair("cpu", 64)][:count]
        out = torch.zeros(64, dtype=made)
        theirs = written(eager.submit, name, given, out, out=out)
        out = torch.zeros(64, dtype=made)
        ours = written(gt.bridge().submit, name, *given, out, out=out)
        if isinstance(theirs, str) or isinstance(ours, str):
            continue  # each takes some that the other one does not
        tolerance = 2e-2 if dtype.itemsize == 2 else 1e-5
        assert_same(theirs, ours, rtol=tolerance, atol=1e-5)
        compared += 1
    assert compared or name in OF_OTHERS


@pytest.mark.parametrize("name", sorted(set(_REDUCTIONS.values())))
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dims", [None, [0], [1, -1], [0, 1, 2], [-2]], ids=str)
def test_switched_off_reductions_compute_the_same(name, dims, keepdim):
    a = torch.rand(3, 4, 5, generator=torch.Generator().manual_seed(1))
    if name in ("any", "all"):
        a = a > 0.5
    over = range(3) if dims is None else [d % 3 for d in dims]
    shape = [
        1 if k in over else a.size(k)
        for k in range(3)
        if keepdim or k not in over
    ]
    dtype = torch.int64 if name.startswith("arg") else a.dtype
    out = torch.zeros(shape, dtype=dtype)
    theirs = written(eager.submit_rows, name, a, out, dims, keepdim, out=out)
    if name.startswith("arg") and dims is not None and len(dims) > 1:
        assert "expected one dim or none" in theirs
        return
    out = torch.zeros(shape, dtype=dtype)
    ours = written(
        gt.bridge().submit_rows, name, a, out, dims, keepdim, out=out
    )
    assert_same(theirs, ours)
    wrong = torch.zeros([*shape, 2])
    with pytest.raises(ValueError, match="expected an out of shape"):
        eager.submit_rows(name, a, wrong, dims, keepdim)


@pytest.mark.parametrize(
    ("name", "operands", "out"),
    [
        ("no_such", [torch.ones(2)], torch.ones(2)),
        ("__dir__", [torch.ones(2)], torch.ones(2)),
        ("exp", [torch.ones(2)], torch.ones(3)),
        ("exp", [torch.ones(2)], torch.ones(2, dtype=torch.int32)),
        ("add", [torch.ones(2), torch.ones(3)], torch.ones(2)),
        ("exp", [torch.ones(2, requires_grad=True)], torch.ones(2)),
    ],
)
def test_switched_off_requests_are_refused_the_same(name, operands, out):
    for submit in (
        lambda: gt.bridge().submit(name, *operands, out),
        lambda: eager.submit(name, operands, out),
    ):
        with pytest.raises(ValueError, match=r"^submit: "):
            submit()
