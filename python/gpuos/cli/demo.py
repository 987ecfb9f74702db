"""`python -m gpuos demo`: compares speeds and injects operators under load."""

from __future__ import annotations

import importlib.util
import threading
import time
from typing import TYPE_CHECKING

import gpuos
from gpuos.cli import sides
from gpuos.cli.flow import ELEMENTS, Flow
from gpuos.cli.options import add_backend, number_of_seconds
from gpuos.cli.progress import REFRESH_S, ProgressLine
from gpuos.cli.words import program_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

    from gpuos.cli.flow import Floats

PHASES = 4
SHARE_OF_SIDES = 0.25  # of the time
# Commands and their purposes.
BRIDGE = ("build-torch", "why there is no bridge to PyTorch")
NEXT = (
    BRIDGE,
    ("info", "what is used of this machine"),
    ('run --expr "o = a * b + 1" a.npy b.npy -o o.npy', "any size"),
)


def next_lines(lacks_bridge: bool) -> list[str]:
    """Return the suggested next commands, as the user calls the program."""
    shown = [each for each in NEXT if lacks_bridge or each != BRIDGE]
    width = max(len(command) for command, _ in NEXT[:-1])
    return [
        f"  {program_name()} {command:<{width}}  {what}"
        for command, what in shown
    ]


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of all."""
    parser = commands.add_parser(
        "demo",
        help="what a loop gains; operators switched while tasks flow",
        description="Run a loop of small operations by NumPy, by PyTorch if it "
        "is installed, and by gpuos. The first time compiles the bridge to "
        "PyTorch, for a minute or so. "
        "Then keep tasks flowing, compile and inject an operator, switch it in "
        "place, switch and roll back an alias; check every element of every "
        "result.",
    )
    add_backend(parser)
    parser.add_argument(
        "--seconds",
        type=float,
        default=6.0,
        metavar="N",
        help="about how long to run (default: %(default)s)",
    )
    parser.set_defaults(function=main)


SOURCE = """
#include "gpuos/map.h"
GPUOS_OPERATOR({name}) {{
  gpuos::map<float>(
      task.pointer<float>(0), task.count, lane,
      [](const float* x) {{ return x[0] {symbol} x[1]; }},
      task.pointer<const float>(1), task.pointer<const float>(2));
}}
"""


class Demo:
    """Runs the phases, one method each."""

    def __init__(self, rt: gpuos.Runtime, seconds: float) -> None:
        self.rt = rt
        self.flow = Flow(rt)
        self.changes: list[tuple[str, float, float]] = []  # ms, pause in us
        self.switches = 0
        self._phase_s = seconds / PHASES
        self._line = ProgressLine()
        self._start = time.monotonic()
        self._sum = self.flow.a + self.flow.b
        self._product = self.flow.a * self.flow.b
        self._difference = self.flow.a - self.flow.b

    def run(self) -> None:
        """Run every phase to its end."""
        self._say("add runs")
        self._keep("add", self._sum)
        self._inject()
        self._switch_in_place()
        self._switch_alias()
        self._line.clear()

    def _inject(self) -> None:
        self._during(
            "mul is defined while add runs",
            lambda: self._define("demo_mul", "*"),
            "add",
            self._sum,
        )
        self._say("C = A * B by the injected operator")
        self._keep("demo_mul", self._product)

    def _switch_in_place(self) -> None:
        op = self._define("demo_op", "+")
        self._keep(op, self._sum, share=0.5)
        # Tasks submitted meanwhile may run either, each of them wholly.
        self._during(
            "+ becomes - while it runs",
            lambda: self._replace(op, "-"),
            op,
            self._sum,
            self._difference,
        )
        self._keep(op, self._difference, share=0.5)

    def _switch_alias(self) -> None:
        alias = self.rt.alias("demo_alias", "add")
        self._say("dual-slot switch and rollback")
        end = time.monotonic() + self._phase_s
        while time.monotonic() < end:
            # No wait in between: tasks of both are in flight at a switch.
            self.flow.submit("demo_alias", self._sum)
            alias.switch("demo_mul")
            self.flow.submit("demo_alias", self._product)
            alias.rollback()
            self.switches += 2
            self._say("dual-slot switch and rollback")
        self.flow.submit("demo_alias", self._sum)
        self.flow.finish()

    def _define(self, name: str, symbol: str) -> gpuos.Operator:
        # Compiled code is injected. An expression needs no compiler.
        try:
            source = SOURCE.format(name=name, symbol=symbol)
            return self.rt.define(name, source=source, inputs=2)
        except gpuos.BackendUnavailable:
            return self.rt.define(name, f"o = a {symbol} b")

    def _replace(self, op: gpuos.Operator, symbol: str) -> None:
        try:
            source = SOURCE.format(name=op.name, symbol=symbol)
            self.rt.replace(op, source=source, inputs=2)
        except gpuos.BackendUnavailable:
            self.rt.replace(op, f"o = a {symbol} b")

    def _keep(
        self, op: str | gpuos.Operator, right: Floats, share: float = 1.0
    ) -> None:
        end = time.monotonic() + self._phase_s * share
        name = op if isinstance(op, str) else op.name
        while True:
            self.flow.submit(op, right)
            self._say(name)
            if time.monotonic() >= end:
                break
        self.flow.finish()

    def _during(
        self,
        text: str,
        change: Callable[[], object],
        op: str | gpuos.Operator,
        *allowed: Floats,
    ) -> None:
        errors: list[Exception] = []
        took_ms: list[float] = []

        def work() -> None:
            start = time.monotonic()
            try:
                change()
                took_ms.append(1e3 * (time.monotonic() - start))
            except Exception as error:  # noqa: BLE001 (raised again below)
                errors.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        while thread.is_alive():
            self.flow.submit(op, *allowed)
            self._say(text)
        thread.join()
        if errors:
            raise errors[0]
        pause_us = self.rt.stats()["last_pause_us"]
        self.changes.append((text, took_ms[0], pause_us))
        self.flow.finish()

    def _say(self, text: str) -> None:
        seconds = time.monotonic() - self._start
        self._line.show(
            f"{seconds:5.1f} s  {self.flow.tasks:>10,} tasks  {text}"
        )


def get_bridge() -> None:
    """Compile the bridge to PyTorch where that is installed, and show so."""
    if importlib.util.find_spec("torch") is None:
        return
    line = ProgressLine()
    line.show("importing PyTorch")
    try:
        gt = importlib.import_module("gpuos.torch")
        building = importlib.import_module("gpuos.torch.building")
        if gt.is_off() or building.is_built():
            return
        print("Compiling the bridge to PyTorch, once.", flush=True)
        begin, estimate = time.monotonic(), building.estimate()
        while True:
            try:
                gt.wait_ready(timeout=REFRESH_S)
                return
            except gpuos.Timeout:
                took = time.monotonic() - begin
                line.show(f"{took:5.1f} s of about {estimate:.0f}")
    except (ImportError, OSError, gpuos.Error) as error:
        line.clear()
        print(f"PyTorch is left out: {str(error).splitlines()[0]}")
    finally:
        line.clear()


def print_table(demo: Demo, seconds: float) -> None:
    """Print the tasks that were run and checked."""
    stats = demo.rt.stats()
    flow = demo.flow
    rows = [
        ("backend", f"{stats['backend']}, {stats['device']}"),
        ("workers", f"{stats['workers']}, residency {stats['residency']}"),
        ("tasks run", f"{flow.tasks:,} of {ELEMENTS} elements"),
        ("rate", f"{flow.tasks / seconds:,.0f} tasks/s, checking included"),
        ("operators injected", f"{stats['injections']:,}"),
        *(
            (text, f"in {ms:,.1f} ms; the queue's pause: {pause:.0f} us")
            for text, ms, pause in demo.changes
        ),
        ("alias switched and back", f"{demo.switches:,} times, no pause"),
        ("elements checked", f"{flow.checked:,}"),
        ("tasks wrong", f"{flow.wrong:,}"),
        ("tasks lost", f"{flow.lost:,}"),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")


def main(arguments: argparse.Namespace) -> int:
    """Run the demo; return 1 if any element was wrong or any task was lost."""
    seconds = number_of_seconds("--seconds", arguments.seconds)
    print(
        "A loop by others and by gpuos, then operators replaced while it runs"
    )
    get_bridge()
    with gpuos.Runtime(arguments.backend, arguments.device) as rt:
        share = seconds * SHARE_OF_SIDES / 2
        beside_numpy, is_right = sides.numpy_sides(rt, share)
        beside_torch, is_same = sides.torch_sides(rt.backend == "cuda", share)
        print("\n".join(sides.lines_of(beside_numpy + beside_torch)))
        if not (is_right and is_same):
            peer = "PyTorch" if is_right else "NumPy"
            print(f"WRONG: the loop comes to other numbers than {peer}'s")
            return 1
        print("Operators replaced while tasks flow, every element checked:\n")
        demo = Demo(rt, seconds * (1 - SHARE_OF_SIDES))
        start = time.monotonic()
        demo.run()
        rt.synchronize(timeout=60.0)
        print_table(demo, time.monotonic() - start)
        failed = demo.flow.wrong + demo.flow.lost
        if failed:
            print(f"WRONG: {failed:,} tasks gave other results than NumPy")
            return 1
    print("right: every element is what NumPy gives, nothing was lost")
    has_torch = importlib.util.find_spec("torch") is not None
    print("\nNext:", *next_lines(has_torch and not beside_torch), sep="\n")
    return 0
