"""Some of the random programs of tests/fuzz that are cut into cells."""

from __future__ import annotations

from collections import Counter

import cells
from session_support import make_session


def test_a_text_means_the_same_in_cells(host):
    make_session(host)  # or is skipped
    found = cells.first_finding(host, 3, 2, Counter())
    assert found is None, found


def test_each_kind_is_cut_often():
    cuts: Counter = Counter()
    for index in range(1000):
        case = cells.draw(1, index)
        case.cells()
        cuts.update(case.cuts)
    assert cuts.keys() == {**cells.HOST, **cells.DEVICE}.keys()
    assert min(cuts.values()) > 100


def test_a_value_that_differs_is_a_finding(host):
    make_session(host)
    kinds = [kind for kind in cells.draw(1, 0).kinds if not kind.is_device]
    case = cells.Case(kinds[:1], seed=1)
    assert "expected -1.0" in str(cells.finding(host, case, [0.0, -1.0]))


def test_a_kernel_that_differs_is_a_finding(host):
    session = make_session(host)
    session.run("__global__ void k(float* x) { *x = 1; }")
    for text, why in [
        ("__global__ void k(double* x) { *x = 1; }", "expected the kernels"),
        ("__global__ void k(unknown* x) { *x = 1; }", "expected an error"),
    ]:
        found = cells.device_cells.finding(host, session, text, ["k"])
        assert why in str(found)
