"""Measure what the options of a runtime change, for docs/lab/defaults.md.

    python benchmarks/defaults.py [--backend cuda]

Prints one markdown row for each value; the default is marked. Bulk is float32
adds of 1024 elements in large submissions, a round trip is one such task,
submitted and awaited.
"""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any

from gpuos.bench._loops import Rig

SETS = 256
ELEMS = 1024
BULK_TASKS = 65536
SWEEPS: dict[str, list[int]] = {
    "queue_capacity": [1024, 4096, 16384, 32768],
    "workers": [132, 264, 528],
    "threads_per_worker": [64, 128, 256],
    "linger_us": [20, 50, 100, 200, 1000],
    "lease_us": [1000, 5000, 20_000, 100_000],
    "flush_after_us": [50, 200, 1000],
}


def measure(backend: str, residency: str, options: dict[str, int]) -> list[str]:
    """Return bulk in ns a task and a round trip in us, as text."""
    try:
        rig = Rig(SETS, ELEMS, backend=backend, residency=residency, **options)
    except ValueError as error:
        return [f"refused: {error}", ""]
    bulk = median(rig.bulk_ns(BULK_TASKS, ELEMS, 4, 7))
    trip = median(rig.round_trip_us(ELEMS, 2000))
    rig.poison()
    rig.round_trip_us(ELEMS, SETS, 0)
    wrong = rig.count_wrong(SETS, ELEMS)
    rig.close()
    if wrong:
        raise SystemExit(f"{residency} {options}: {wrong} elements are wrong")
    return [f"{bulk:.2f}", f"{trip:.2f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="auto")
    backend = parser.parse_args().backend
    probe = Rig(SETS, ELEMS, backend=backend)
    defaults: dict[str, Any] = probe.options()
    probe.close()
    print("| option | value | burst, ns | trip, us | resident, ns | trip, us |")
    print("|---|---:|---:|---:|---:|---:|")
    for option, values in SWEEPS.items():
        for value in values:
            cells = [option, str(value)]
            if defaults.get(option) == value:
                cells[1] += " (default)"
            for residency in ("burst", "resident"):
                cells += measure(backend, residency, {option: value})
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
