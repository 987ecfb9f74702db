"""With a PyTorch that the bridge does not know schedulers are eager."""

from __future__ import annotations

import re

import pytest

torch = pytest.importorskip("torch")

from gpuos import choosing
from gpuos.torch import building

pytestmark = pytest.mark.torch

# Fake what the test is of, then run a program in which all of it is used.
PROGRAM = """
import sys
import warnings
import torch
import gpuos

{fake}
import gpuos.torch as gt

def program():
    with gt.scheduler(deterministic=True) as outer:
        x = torch.arange(4.0)
        with gt.scheduler():
            y = (x + x).relu()
        gt.flush()
        outer.flush(sync=True)
        assert gt.pending() == 0
        return y.sum().item()

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert program() == 12.0
    assert program() == 12.0
    gt.shutdown()
[warning] = caught
assert warning.category is RuntimeWarning, warning
assert warning.filename == "<string>", warning
print(warning.message)
counted = gt.stats()
assert counted.pop("eager") == 4, counted
assert set(counted.values()) == {{0}}, counted
x = torch.ones(2)
for use in (
    lambda: gt.submit_add(x, x, x),
    lambda: gt.submit_unary("exp", x, x),
    lambda: gt.runtime("cpu"),
    gt.init,
):
    try:
        use()
    except gpuos.BackendUnavailable as error:
        print(error)
    else:
        raise AssertionError(use)
for name in ("add", "__add__", "numpy", "data_ptr"):
    assert "gpuos" not in repr(getattr(torch.Tensor, name)), name
"""
OF_ANOTHER = 'torch.__version__ = "2.99.0"'
# Differences of layout show when the bridge has been loaded.
LIES_ELSEWHERE = """
from gpuos.torch import loading

def load(spec, original=loading.importlib.util.module_from_spec):
    module = original(spec)
    execute = spec.loader.exec_module

    def exec_module(module):
        execute(module)
        def check():
            raise RuntimeError("expected a tensor's keys elsewhere\\nat f()")
        module.check_private_parts = check

    spec.loader.exec_module = exec_module
    return module

loading.importlib.util.module_from_spec = load
"""


@pytest.mark.parametrize(
    ("fake", "says"),
    [
        (OF_ANOTHER, "expected PyTorch 2.11 or 2.13, which were tried, got"),
        (LIES_ELSEWHERE, "expected a tensor's keys elsewhere"),
    ],
)
def test_schedulers_are_eager_and_say_so_once(run_python, fake, says):
    done = run_python(PROGRAM.format(fake=fake))
    assert done.returncode == 0, done.stderr
    warning, *errors = done.stdout.splitlines()
    assert says in warning
    assert warning.endswith("schedulers defer nothing, PyTorch does everything")
    assert errors == [warning.split(";")[0]] * 4


@pytest.mark.parametrize("version", ["2.99.0", "3.0", "2.110.0+cu130"])
def test_nothing_is_compiled_for_another_version(monkeypatch, version):
    monkeypatch.setattr(torch, "__version__", version)
    text = f"expected PyTorch 2.11 or 2.13, which were tried, got {version}"
    with pytest.raises(choosing.UntriedPyTorch, match=re.escape(text)):
        building.build(print)


def test_the_versions_that_were_tried_are_those_of_the_bridge():
    # The C++ of the bridge asserts the same versions.
    text = (choosing.SOURCES / "private_parts.h").read_text()
    for version in choosing.TRIED:
        major, minor = map(int, version.split("."))
        assert f"GPUOS_TORCH_VERSION == {major * 100 + minor}" in text
    assert text.count("GPUOS_TORCH_VERSION ==") == len(choosing.TRIED)
