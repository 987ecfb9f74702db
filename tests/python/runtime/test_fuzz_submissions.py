"""A few of the random tasks of tests/fuzz, always the same ones."""

import submissions

COUNT = 300
COMPILED = 3  # with whole operators, each of which waits for a compiler


def test_tasks_are_as_if_in_order(rt):
    assert submissions.first_finding(rt.backend, COUNT, seed=1) == ""


def test_tasks_of_compiled_operators_are_as_if_in_order(rt):
    found = submissions.first_finding(
        rt.backend, COMPILED, seed=2, is_compiled=True
    )
    assert found == ""
