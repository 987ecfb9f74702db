"""Element types beside the four of the built-in operators."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import gpuos

AXPY = """
#include "gpuos/half.h"
GPUOS_OPERATOR({name}) {{
  const {type} k = task.scalar<{type}>(2);
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    task.pointer<{type}>(0)[i] =
        static_cast<{type}>(k * task.pointer<const {type}>(1)[i]);
}}
"""
CPP_TYPES = {
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float16": "gpuos::F16",
}


def times(rt, dtype):
    name = f"times_{dtype}"
    source = AXPY.format(name=name, type=CPP_TYPES[dtype])
    try:
        return rt.define(
            name, source=source, dtype=dtype, params={"k": dtype}, inputs=1
        )
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("dtype", CPP_TYPES)
def test_whole_operators_have_buffers_and_scalars_of_any_dtype(rt, dtype):
    x = rt.array(np.arange(7, dtype=dtype))
    out = rt.empty(7, dtype)
    rt.submit(times(rt, dtype), x, out=out, k=3)
    assert out.numpy().tolist() == [0, 3, 6, 9, 12, 15, 18]


def test_scalars_must_fit(rt):
    x = rt.array([1, 2], "uint64")
    op = times(rt, "uint64")
    most = 2**64 - 1
    rt.submit(op, x, out=x, k=most)
    assert x.numpy().tolist() == [most, most - 1]
    for wrong in (-1, 0.5, 2**64, 1 + 2j, np.complex64(1)):
        with pytest.raises(gpuos.InvalidArgument, match="uint64"):
            rt.submit(op, x, out=x, k=wrong)
    small, op = rt.zeros(2, "uint8"), times(rt, "uint8")
    with pytest.raises(gpuos.InvalidArgument, match="0 to 255 for uint8"):
        rt.submit(op, small, out=small, k=256)


SUM = """
GPUOS_OPERATOR(sum_parts) {
  struct Parts { float real, imag; };
  const Parts k = task.scalar<Parts>(1);
  if (lane.index() == 0) task.pointer<float>(0)[0] = k.real - 10 * k.imag;
}
"""


@pytest.mark.parametrize(
    ("k", "expected"),
    [(1 + 2j, -19), (np.complex64(1 + 2j), -19), (3, 3), (0.5, 0.5)],
)
def test_a_parameter_may_be_complex(rt, k, expected):
    try:
        op = rt.define(
            "sum_parts",
            source=SUM,
            params={"k": "complex64"},
            inputs=0,
            elementwise=False,
        )
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))
    out = rt.zeros(1)
    rt.submit(op, out=out, k=k)
    assert out.numpy()[0] == expected


def test_built_in_operators_have_four_dtypes(rt):
    x = rt.zeros(3, "float16")
    with pytest.raises(gpuos.InvalidArgument, match=r"int64, got float16"):
        rt.submit("add", x, x, out=x)


def test_booleans_come_and_go(host):
    array = host.array([True, False, True])
    assert array.dtype == np.bool_
    assert np.from_dlpack(array[::-2]).tolist() == [True, True]
    assert array.numpy().tolist() == [True, False, True]
    array.copy_from(np.array([False, False, True]))
    assert array.numpy().tolist() == [False, False, True]


def test_bfloat16_needs_ml_dtypes_only_for_numpy(rt, monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    array = rt.zeros((2, 3), "bfloat16")
    assert array.nbytes == 12
    assert array.strides == (6, 2)
    assert "bfloat16" in repr(array)
    for use in (array.numpy, lambda: array.dtype):
        with pytest.raises(TypeError, match="ml_dtypes"):
            use()
    with pytest.raises(TypeError, match="ml_dtypes"):
        rt.array([1, 2], "bfloat16")
    assert not hasattr(array, "__array_interface__")
    assert not hasattr(array, "__cuda_array_interface__")


def test_bfloat16_is_that_of_ml_dtypes(rt):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    source = np.arange(6).astype(bfloat16).reshape(2, 3)
    array = rt.array(source)
    assert array.dtype == bfloat16
    assert array.numpy().dtype == bfloat16
    np.testing.assert_array_equal(array.T[::-1].numpy(), source.T[::-1])
    assert rt.array([1.5, 2], "bfloat16").numpy().tolist() == [1.5, 2]
    assert rt.empty(2, bfloat16).dtype == bfloat16
    array.copy_from(-source)
    np.testing.assert_array_equal(array.numpy(), -source)


def test_bfloat16_of_ml_dtypes_is_taken_without_a_copy(host):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    x = np.ones(3, bfloat16)
    with pytest.raises(gpuos.InvalidArgument, match=r"int64, got bfloat16"):
        host.submit("add", x, x, out=x)
