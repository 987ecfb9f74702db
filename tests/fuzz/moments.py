"""Computes in signal handlers and finalizers while something else is under way.

A child does one thing again and again. Meanwhile a timer's handler and the
finalizers of garbage compute too, at any bytecode. A child that does not end, or
whose numbers are wrong, is a finding.
"""

import contextlib
import gc
import importlib
import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gpuos

DEADLINE_S = 60.0  # more than the seconds of a child
PERIOD_S = 0.001
HAS_TORCH = importlib.util.find_spec("torch") is not None


class Foreign:
    """Work of a handler or a finalizer: the same as the program, in parts."""

    def __init__(self) -> None:
        self.acts: list[Callable[[], Any]] = []
        self.calls = 0
        self.wrong = ""
        self.is_within = False

    def __call__(self, *_: object) -> None:
        if self.is_within or not self.acts:
            return
        self.is_within = True
        act = self.acts[self.calls % len(self.acts)]
        self.calls += 1
        try:
            act()
        except Exception as error:  # noqa: BLE001 (the child says it)
            self.wrong = f"{act.__name__}: {error!r}"
        finally:
            self.is_within = False


foreign = Foreign()


class Garbage:
    """A cycle, which only a collection ends, and whose end computes."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        foreign()


def handle(*_: object) -> None:
    foreign()
    signal.setitimer(signal.ITIMER_REAL, PERIOD_S)


# ---- the actions of programs, handlers and finalizers


def compute() -> None:
    rt = gpuos.default_runtime("host")
    expect(float((rt.ones(5) * 2 + 1).sum()), 15.0)


def compute_in_torch() -> None:
    import torch  # noqa: PLC0415 (only some children have it)

    import gpuos.torch  # noqa: PLC0415

    with torch.no_grad(), gpuos.torch.scheduler():
        expect(float((torch.ones(5) * 2 + 1).sum()), 15.0)


def call_fused() -> None:
    expect(float(gpuos.fuse(lambda x: x * 2 + 1)(np.ones(5)).sum()), 15.0)


def await_ticket() -> None:
    rt = gpuos.default_runtime("host")
    out = rt.zeros(5)
    done: list[int] = []
    ticket = rt.submit("add", rt.ones(5) * 2, rt.ones(5), out=out)
    ticket.add_done_callback(lambda _: done.append(1))
    ticket.wait(30)
    expect(float(out.sum()), 15.0)


def make_and_close() -> None:
    with gpuos.Runtime("host", workers=1) as rt:
        expect(float((rt.ones(5) * 3).sum()), 15.0)


def define() -> None:
    with gpuos.Runtime("host", workers=1) as rt:
        rt.define("moments_twice", "o = 2 * a")
        out = rt.zeros(5)
        rt.submit("moments_twice", rt.ones(5), out=out).wait(30)
        rt.replace("moments_twice", "o = 3 * a")
        rt.submit("moments_twice", rt.ones(5), out=out).wait(30)
        expect(float(out.sum()), 15.0)


cells: list[gpuos.Session] = []


def run_cell() -> None:
    """Run a cell; handlers ask the same session (`ask_session`)."""
    if not cells:
        cells.append(gpuos.default_runtime("host").session())
        cells[0].run("int n = 15;")
    cells[0].run("n = n + 1; n = n - 1;")
    expect(cells[0]["n"], 15)


def ask_session() -> None:
    for session in cells[:1]:
        if "n" in session.names():
            expect(session["n"], 15)
        with contextlib.suppress(gpuos.InvalidArgument):  # amid a cell
            session.bind(other=1)


def fork() -> None:
    compute()
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_REAL, PERIOD_S)
        try:
            compute()
        finally:
            os._exit(0 if not foreign.wrong else 1)
    end = time.monotonic() + 30
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, signal.SIGABRT)
            foreign.wrong = "the child of a fork does not end"
            return
        time.sleep(0.002)


SUBJECTS: dict[str, Callable[[], None]] = {
    "compute": compute,
    "fuse": call_fused,
    "tickets": await_ticket,
    "close": make_and_close,
    "define": define,
    "cells": run_cell,
    "fork": fork,
}
OF_TORCH = ("torch", "fork", "define")  # with handlers that use it
if HAS_TORCH:
    SUBJECTS["torch"] = compute_in_torch


def expect(came: float, wanted: float) -> None:
    if came != wanted:
        foreign.wrong = f"expected {wanted}, came {came}"


# ---- the child


def child(subject: str, seconds: float, *, with_torch: bool) -> int:
    """Do one thing for a time; the first use is under way at once."""
    # Python itself gives a handler half a module while that is imported.
    names = ("awaiting", "array_methods", "fused_others", "numpy_functions")
    for name in (*names, "tracing"):
        importlib.import_module(f"gpuos.{name}")
    if with_torch and HAS_TORCH:
        importlib.import_module("gpuos.torch")
    foreign.acts = [compute, call_fused, await_ticket, ask_session]
    if with_torch and HAS_TORCH:
        foreign.acts.insert(0, compute_in_torch)
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, PERIOD_S)
    gc.set_threshold(200, 2, 2)
    end = time.monotonic() + seconds
    rounds = 0
    while rounds == 0 or time.monotonic() < end:
        Garbage()
        SUBJECTS[subject]()
        rounds += 1
        if foreign.wrong:
            sys.stdout.write(f"{foreign.wrong}\n")
            return 1
    # A handler that is due starts the timer again, and the end restores SIG_DFL.
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0)
    sys.stdout.write(f"{rounds} rounds, {foreign.calls} calls\n")
    return 0


# ---- the parent


def finding(subject: str, seconds: float, *, with_torch: bool) -> str:
    """Return the finding of one child, or ""."""
    command = [sys.executable, "-X", "faulthandler", "-W", "ignore", __file__]
    command += [subject, str(seconds), str(int(with_torch))]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    late = threading.Timer(
        seconds + DEADLINE_S, process.send_signal, [signal.SIGABRT]
    )
    late.start()
    said, _ = process.communicate()
    late.cancel()
    if process.returncode == 0:
        return ""
    return f"{subject}: ended with {process.returncode}\n{said[-6000:]}"


def first_finding(seconds: float, *, with_torch: bool = HAS_TORCH) -> str:
    """Return the first finding. Each child has its part of the time."""
    children = [(name, False) for name in SUBJECTS if name != "torch"]
    if with_torch:
        children = [(name, True) for name in OF_TORCH]
    for name, is_with in children:
        found = finding(name, seconds / len(children), with_torch=is_with)
        if found:
            return found
    return ""


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))
    sys.exit(
        child(sys.argv[1], float(sys.argv[2]), with_torch=sys.argv[3] == "1")
    )
