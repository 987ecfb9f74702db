"""PyTorch's own samples of its operators, and those that schedulers take."""

import importlib
import importlib.util
import itertools
import sys
import types
import unittest
import warnings

import pytest
from torch_support import torch

# Operators of PyTorch's database. The bridge must take at least one sample of
# each.
UNARY = """
    abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh deg2rad erf
    erfc exp exp2 expm1 floor isfinite isinf isnan lgamma log log10 log1p log2
    logical_not nan_to_num neg rad2deg reciprocal round rsqrt sgn sigmoid sign
    signbit sin sinh sqrt square tan tanh trunc
"""
BINARY = """
    add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift
    bitwise_xor clamp clamp_max clamp_min copysign div eq floor_divide fmax fmin
    fmod ge gt heaviside hypot le logaddexp logical_and logical_or logical_xor
    lt maximum minimum mul ne pow remainder rsub sub true_divide where
    __radd__ __rand__ __rdiv__ __rmod__ __rmul__ __ror__ __rpow__ __rsub__
    __rxor__
"""
CASTS = "bfloat16 bool byte char double float half int long short to"
NEURAL = """
    nn.functional.celu nn.functional.elu nn.functional.gelu
    nn.functional.hardsigmoid nn.functional.hardswish nn.functional.hardtanh
    nn.functional.leaky_relu nn.functional.logsigmoid nn.functional.mish
    nn.functional.relu nn.functional.relu6 nn.functional.selu nn.functional.silu
    nn.functional.softplus nn.functional.softsign nn.functional.tanhshrink
    log_softmax nn.functional.layer_norm nn.functional.rms_norm softmax
"""
REDUCTIONS = """
    all amax amin any argmax argmin count_nonzero logsumexp max mean min prod
    std sum var linalg.vector_norm
"""
SHAPES = """
    block_diag cat column_stack combinations dstack hstack nn.functional.pad
    repeat roll stack tile vstack
"""
PRODUCTS = """
    addbmm addmm baddbmm bmm dot einsum inner linalg.multi_dot matmul mm mv
    nn.functional.linear tensordot __rmatmul__
"""
TAKEN = frozenset(
    f"{UNARY} {BINARY} {CASTS} {NEURAL} {REDUCTIONS} {SHAPES} {PRODUCTS}".split()
)
LISTS = """
    abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min cos cosh div
    erf erfc exp expm1 floor lerp lgamma log log10 log1p log2 maximum minimum
    mul neg pow reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan tanh
    trunc
"""
FOREACH = frozenset(f"_foreach_{name}" for name in LISTS.split())

# Their results are not defined, or they need what a test has not.
UNDEFINED = (
    "empty",
    "jiterator",
    "new_empty",
    "resize",
    "_flash",
    "_efficient",
)


def databases():
    """Return the modules that hold PyTorch's samples."""
    # They derive classes, which are not used here, from a package of PyTorch's
    # developers that is rarely installed.
    known = "expecttest" in sys.modules
    if not known and importlib.util.find_spec("expecttest") is None:
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stand_in
    try:
        # Its optional imports emit warnings.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(
                "torch.testing._internal.common_methods_invocations"
            )
    except ImportError as error:
        pytest.skip(str(error), allow_module_level=True)


def name_of(op):
    return f"{op.name}.{op.variant_test_name}".rstrip(".").replace(".", "_")


def operators(names=None):
    """Return the operators of the database, all or those of `names`."""
    return [
        op
        for op in databases().op_db
        if names is None or op.name in names
        if not any(word in op.name for word in UNDEFINED)
        if op.variant_test_name != "complex"
    ]


def foreach_operators():
    """Return the operators on lists of tensors that are taken."""
    made = databases()
    lists = (
        made.foreach_unary_op_db,
        made.foreach_binary_op_db,
        made.foreach_pointwise_op_db,
        made.foreach_other_op_db,
    )
    return [op for db in lists for op in db if op.name in FOREACH]


def samples(op, device, dtype, count, *, requires_grad=False):
    """Return `count` samples from all over the first 60."""
    torch.manual_seed(2)
    try:
        # Not sample_inputs(), which looks through the stack for each.
        found = list(
            itertools.islice(
                op.sample_inputs_func(op, device, dtype, requires_grad), 60
            )
        )
    except (RuntimeError, AssertionError) as error:
        pytest.skip(f"PyTorch has no samples here: {error}")
    step = max(1, len(found) // count)
    return found[::step][:count]


def own(sample):
    """Return a sample with tensors of its own."""
    return sample.transform(
        lambda x: x.detach().clone() if isinstance(x, torch.Tensor) else x
    )


def tensors_in(value):
    """Yield every tensor in nested results."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors_in(one)


def gradients(op, sample):
    """Return the gradients of the sum of every real result."""
    leaves = [
        x
        for x in tensors_in([sample.input, sample.args, sample.kwargs])
        if x.requires_grad
    ]
    results = op(sample.input, *sample.args, **sample.kwargs)
    sums = [x.sum() for x in tensors_in(results) if x.requires_grad]
    if not sums or not leaves:
        return None
    return torch.autograd.grad(sum(sums), leaves, allow_unused=True)
