"""PyTorch's own samples of every operator, compared with eager.

test_torch_composites.py has their gradients.
"""

import pytest
from torch_operations import (
    TAKEN,
    foreach_operators,
    name_of,
    operators,
    own,
    samples,
)
from torch_support import (
    assert_same,
    cloned,
    outcome,
    scheduler,
    taken,
    torch,
)

pytestmark = [
    pytest.mark.torch,
    # PyTorch's samples use functions that warn.
    pytest.mark.filterwarnings("ignore"),
]

SAMPLES = 10
DTYPES = (
    torch.float32,
    torch.bfloat16,
    torch.int64,
    torch.uint8,
    torch.bool,
    torch.float64,
)
# PyTorch 2.13's own, on processors with oneDNN.
STRIDED_OUT_IS_WRONG = {"nn.functional.gelu"}


def forms(op):
    """Yield the ways to call an operator: name, and function of a sample."""

    def functional(sample):
        return op(sample.input, *sample.args, **sample.kwargs)

    def strided(sample):
        return functional(sample.noncontiguous())

    def in_place(sample):
        op.inplace_variant(sample.input, *sample.args, **sample.kwargs)
        return sample.input

    def into(sample):
        result = functional(sample)
        if not isinstance(result, torch.Tensor):
            return result
        # Every second element of something larger.
        whole = torch.zeros(
            *result.shape, 2, dtype=result.dtype, device=result.device
        )
        op(sample.input, *sample.args, out=whole[..., 0], **sample.kwargs)
        return whole

    yield functional
    yield strided
    if op.inplace_variant:
        yield in_place
    if op.supports_out and op.name not in STRIDED_OUT_IS_WRONG:
        yield into


def compare(form, found, dtype=torch.float32):
    """Compare one form of all samples, scheduled together, with eager."""
    # Eager rounds numbers and sums in between to bfloat16; ours do not.
    limits = {"rtol": 1.6e-2, "atol": 3e-2} if dtype is torch.bfloat16 else {}
    expected = [cloned(outcome(lambda s=s: form(own(s)))) for s in found]
    inputs = [own(sample) for sample in found]
    with scheduler(takes=0):
        came = [outcome(lambda s=s: form(s)) for s in inputs]
    for sample, one, other in zip(found, expected, came, strict=True):
        try:
            assert_same(one, cloned(other), **limits)
        except AssertionError as error:
            error.add_note(f"{form.__name__} of {sample.summary()}") if hasattr(
                error, "add_note"
            ) else None
            raise


@pytest.mark.parametrize("op", operators(TAKEN), ids=name_of)
def test_samples_of_deferred_operators_match_eager(device, op):
    before = taken()
    known = op.supported_dtypes(device)
    for dtype in [dtype for dtype in DTYPES if dtype in known]:
        found = samples(op, device, dtype, SAMPLES)
        for form in forms(op):
            compare(form, found, dtype)
    assert taken() > before


@pytest.mark.parametrize("op", foreach_operators(), ids=name_of)
def test_samples_of_operators_on_lists(device, op):
    before = taken()
    known = op.supported_dtypes(device)
    for dtype in [dtype for dtype in DTYPES[:3] if dtype in known]:
        found = samples(op, device, dtype, SAMPLES)

        def functional(sample):
            return op.method_variant(
                sample.input, *sample.args, **options(sample)
            )

        def in_place(sample):
            op.inplace_variant(sample.input, *sample.args, **options(sample))
            return sample.input

        compare(functional, found, dtype)
        compare(in_place, found, dtype)
    assert taken() > before


def options(sample):
    """Return the keywords that are for the operator, not for its test."""
    return {
        key: value
        for key, value in sample.kwargs.items()
        if key not in ("zero_size", "disable_fastpath")
    }
