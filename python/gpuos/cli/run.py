"""`python -m gpuos run`: an expression over .npy files."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import gpuos
from gpuos.cli.options import add_backend, bad_input, number_of_bytes
from gpuos.cli.progress import ProgressLine, bar

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gpuos.cli.npy import NpyReader, Target

QUIET_S = 0.5
LEAST_MIB = 0.001


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of all."""
    parser = commands.add_parser(
        "run",
        help="evaluate an expression over .npy files of any size",
        description="Evaluate an elementwise expression over .npy files. "
        "They are read and written in chunks, so they may be larger than "
        "any memory.",
        epilog='example: python -m gpuos run --expr "o = alpha * a + b" '
        "a.npy b.npy -o out.npy --param alpha=2.0",
    )
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="IN.npy",
        help="float32, float64, int32 or int64, all of one dtype and shape; "
        "in the order in which the expression first names them",
    )
    parser.add_argument(
        "--expr",
        required=True,
        metavar="EXPR",
        help='such as "o = a * b + c"',
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT.npy",
        help="result, a plain file or a link to one; replaced only when it "
        "is complete",
    )
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a number that the expression names; may be given many times",
    )
    parser.add_argument(
        "--chunk-mib",
        type=float,
        default=16.0,
        metavar="N",
        help="size of a chunk of one array (default: %(default)s MiB)",
    )
    add_backend(parser)
    parser.set_defaults(function=main)


def parse_params(texts: Sequence[str]) -> dict[str, float]:
    """Return {"alpha": 2.0} for ["alpha=2.0"]; whole numbers stay int."""
    params: dict[str, float] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not name.isidentifier() or not separator:
            message = f"--param: expected NAME=VALUE, got {text!r}"
            raise bad_input(message)
        try:
            params[name] = int(value)
        except ValueError:
            try:
                params[name] = float(value)
            except ValueError:
                message = f"--param {name}: expected a number, got {value!r}"
                raise bad_input(message) from None
    return params


def check_alike(inputs: Sequence[NpyReader]) -> None:
    """Refuse inputs that differ in shape or dtype."""
    first = inputs[0]
    for file in inputs:
        if file.shape != first.shape:
            message = (
                f"{file.path}: expected shape {first.shape} as in "
                f"{first.path}, got {file.shape}"
            )
            raise bad_input(message)
        if file.dtype != first.dtype:
            message = (
                f"{file.path}: expected {first.dtype} as in {first.path}, "
                f"got {file.dtype}"
            )
            raise bad_input(message)


def compute(
    arguments: argparse.Namespace, inputs: Sequence[NpyReader], target: Target
) -> Iterator[int]:
    """Write the result to `target`; yield how many elements are done."""
    from gpuos.cli import npy  # noqa: PLC0415 (--help needs none)
    from gpuos.cli.chunks import Work, run_in_chunks  # noqa: PLC0415

    dtype = inputs[0].dtype
    chunk = number_of_bytes("--chunk-mib", arguments.chunk_mib, LEAST_MIB)
    params = parse_params(arguments.param)
    with gpuos.Runtime(arguments.backend, arguments.device) as rt:
        op = rt.define(
            "run_expression",
            arguments.expr,
            params=dict.fromkeys(params, dtype.name),
            dtype=dtype.name,
        )
        # No elements: only checks the number of files and the parameters.
        nothing = rt.empty(0, dtype)
        rt.submit(op, *(nothing for _ in inputs), out=nothing, **params)
        work = Work(rt, op, inputs, params)
        with npy.replacing(target, dtype, inputs[0].shape) as result:
            yield from run_in_chunks(work, result, chunk // dtype.itemsize)


def main(arguments: argparse.Namespace) -> int:
    """Evaluate, then move the result to its name."""
    from gpuos.cli import npy  # noqa: PLC0415

    line = ProgressLine(after_s=QUIET_S)
    start = time.monotonic()
    with contextlib.ExitStack() as files:
        inputs = [
            files.enter_context(npy.opened(path)) for path in arguments.inputs
        ]
        check_alike(inputs)
        target = npy.Target.of(arguments.output)
        first = inputs[0]
        try:
            for done in compute(arguments, inputs, target):
                line.show(bar(done / max(1, first.size)))
        finally:
            line.clear()
    seconds = time.monotonic() - start
    gib = first.nbytes * (len(inputs) + 1) / (1 << 30)
    print(
        f"{arguments.output}: {first.shape} {first.dtype}, "
        f"{seconds:.2f} s, {gib / seconds:.2f} GiB/s read and written"
    )
    return 0
