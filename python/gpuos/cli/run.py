"""`python -m gpuos run`: an expression over .npy files."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

import gpuos
from gpuos.cli.options import (
    KeepsLines,
    add_backend,
    bad_input,
    number_of_bytes,
)
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
        formatter_class=KeepsLines,
        epilog='example:\n  python -m gpuos run --expr "o = alpha * a + b" \\\n'
        "    a.npy b.npy -o out.npy --param alpha=2.0",
    )
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="[NAME=]IN.npy",
        help="float32, float64, int32 or int64, all of one dtype and shape; "
        "a.npy is the expression's a, else NAME= says it, or they come in the "
        "order in which the expression first names them",
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


def split_name(text: str) -> tuple[str | None, str]:
    """Return ("a", "x.npy") for "a=x.npy" and (None, "x.npy") for "x.npy"."""
    name, separator, path = text.partition("=")
    if separator and name.isidentifier() and not Path(text).exists():
        return name, path
    return None, text


def in_order(
    names: Sequence[str], files: Sequence[tuple[str | None, NpyReader]]
) -> list[NpyReader]:
    """Return the files in the order of the inputs that they are for."""
    wanted = " ".join(names)
    if len(files) != len(names):
        message = (
            f"--expr: expected a file for each of its {len(names)} inputs "
            f"({wanted}), got {len(files)}; a number is given by --param"
        )
        raise bad_input(message)
    found: dict[str, NpyReader] = {}
    for name, file in files:
        if name is None:
            continue
        if name not in names or name in found:
            what = "one file for it" if name in found else f"one of {wanted}"
            message = f"{name}={file.path}: expected {what}, got another"
            raise bad_input(message)
        found[name] = file
    rest = [name for name in names if name not in found]
    unnamed = [file for name, file in files if name is None]
    stems = [Path(file.path).stem for file in unnamed]
    if set(stems) == set(rest):
        found |= zip(stems, unnamed, strict=True)
        return [found[name] for name in names]
    by_place = dict(zip(rest, stems, strict=True))
    for name, stem, file in zip(rest, stems, unnamed, strict=True):
        if by_place.get(stem, stem) != stem:
            message = (
                f"{file.path}: expected NAME={file.path}, since its name says "
                f"{stem} and its place {name}, got none"
            )
            raise bad_input(message)
        found[name] = file
    return [found[name] for name in names]


def compute(
    arguments: argparse.Namespace,
    files: Sequence[tuple[str | None, NpyReader]],
    target: Target,
) -> Iterator[int]:
    """Write the result to `target`; yield how many elements are done."""
    from gpuos.cli import npy  # noqa: PLC0415 (--help needs none)
    from gpuos.cli.chunks import Work, run_in_chunks  # noqa: PLC0415

    dtype = files[0][1].dtype
    chunk = number_of_bytes("--chunk-mib", arguments.chunk_mib, LEAST_MIB)
    params = parse_params(arguments.param)
    with gpuos.Runtime(arguments.backend, arguments.device) as rt:
        op = rt.define(
            "run_expression",
            arguments.expr,
            params=dict.fromkeys(params, dtype.name),
            dtype=dtype.name,
        )
        if op._reduces:
            message = (
                "--expr: expected an operation of each element, got a "
                "reduction, which needs the whole file where chunks are "
                "computed; in Python, Runtime.define() takes this expression, "
                "and np.sum(x) and others an array of np.load(path)"
            )
            raise bad_input(message)
        inputs = in_order(op.inputs or (), files)
        # An array without elements only checks the parameters.
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
        named = map(split_name, arguments.inputs)
        inputs = [
            (name, files.enter_context(npy.opened(path)))
            for name, path in named
        ]
        check_alike([file for _, file in inputs])
        target = npy.Target.of(arguments.output)
        first = inputs[0][1]
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
