"""`python -m gpuos run`: an expression over .npy files."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import gpuos
from gpuos.cli.options import add_backend
from gpuos.cli.progress import ProgressLine, bar

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from typing import Any

    import numpy.typing as npt

DTYPES = ("float32", "float64", "int32", "int64")
MIB = 1 << 20
QUIET_S = 0.5


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of all."""
    parser = commands.add_parser(
        "run",
        help="evaluate an expression over .npy files of any size",
        description="Evaluate an elementwise expression over .npy files. "
        "They are memory-mapped and streamed in chunks, so they may be "
        "larger than any memory.",
        epilog='example: python -m gpuos run --expr "o = alpha * a + b" '
        "a.npy b.npy -o out.npy --param alpha=2.0",
    )
    parser.add_argument(
        "inputs",
        nargs="+",
        type=Path,
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
        type=Path,
        metavar="OUT.npy",
        help="result; replaced only when it is complete",
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
        default=64.0,
        metavar="N",
        help="size of a chunk of one array (default: %(default)s MiB)",
    )
    add_backend(parser)
    parser.set_defaults(function=main)


def bad_input(text: str) -> gpuos.InvalidArgument:
    """Return the error that ends the command with exit code 2."""
    return gpuos.InvalidArgument(text)


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


def open_input(path: Path) -> npt.NDArray[Any]:
    """Memory-map one file and check what it holds."""
    array = _load(path)
    if array.dtype.name not in DTYPES or not array.dtype.isnative:
        message = f"{path}: expected {', '.join(DTYPES)}, got {array.dtype}"
        raise bad_input(message)
    if not array.flags.c_contiguous:
        message = f"{path}: expected C order, got Fortran order"
        raise bad_input(message)
    return array


def _load(path: Path) -> npt.NDArray[Any]:
    """Memory-map one file; an empty array cannot be, and is read."""
    import numpy as np  # noqa: PLC0415 (--help needs none)

    try:
        array: npt.NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    except FileNotFoundError:
        message = f"{path}: there is no such file"
        raise bad_input(message) from None
    except (OSError, ValueError) as error:
        try:
            array = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            message = f"{path}: expected a .npy file, got: {error}"
            raise bad_input(message) from None
    if not isinstance(array, np.ndarray):
        message = f"{path}: expected a .npy file, got an archive"
        raise bad_input(message)
    return array


def open_inputs(paths: Sequence[Path]) -> list[npt.NDArray[Any]]:
    """Memory-map all files; they must agree."""
    arrays = [open_input(path) for path in paths]
    first = arrays[0]
    for path, array in zip(paths, arrays, strict=True):
        if array.shape != first.shape:
            message = (
                f"{path}: expected shape {first.shape} as in {paths[0]}, "
                f"got {array.shape}"
            )
            raise bad_input(message)
        if array.dtype != first.dtype:
            message = (
                f"{path}: expected {first.dtype} as in {paths[0]}, "
                f"got {array.dtype}"
            )
            raise bad_input(message)
    return arrays


def compute(
    arguments: argparse.Namespace,
    inputs: Sequence[npt.NDArray[Any]],
    partial: Path,
) -> Iterator[int]:
    """Write the result to `partial`; yield how many elements are done."""
    import numpy as np  # noqa: PLC0415

    from gpuos.cli.chunks import run_in_chunks  # noqa: PLC0415

    first = inputs[0]
    params = parse_params(arguments.param)
    with gpuos.Runtime(arguments.backend, arguments.device) as rt:
        op = rt.define(
            "run_expression",
            arguments.expr,
            params=dict.fromkeys(params, first.dtype.name),
            dtype=first.dtype.name,
        )
        # No elements: only checks the number of files and the parameters.
        nothing = rt.empty(0, first.dtype)
        rt.submit(op, *(nothing for _ in inputs), out=nothing, **params)
        if first.size == 0:
            with partial.open("wb") as file:
                np.save(file, np.empty(first.shape, first.dtype))
            return
        out = np.lib.format.open_memmap(
            partial, mode="w+", dtype=first.dtype, shape=first.shape
        )
        elements = int(arguments.chunk_mib * MIB) // first.dtype.itemsize
        flat = [array.reshape(-1) for array in inputs]
        yield from run_in_chunks(
            rt, op, flat, out.reshape(-1), params, elements
        )
        out.flush()


def main(arguments: argparse.Namespace) -> int:
    """Evaluate, then move the result to its name."""
    if not arguments.chunk_mib > 0:
        message = (
            f"--chunk-mib: expected more than 0, got {arguments.chunk_mib}"
        )
        raise bad_input(message)
    inputs = open_inputs(arguments.inputs)
    output: Path = arguments.output
    if not output.parent.is_dir():
        message = f"{output}: there is no folder {output.parent}"
        raise bad_input(message)
    partial = output.with_name(f".{output.name}.{os.getpid()}.partial")
    line = ProgressLine(after_s=QUIET_S)
    start = time.monotonic()
    try:
        for done in compute(arguments, inputs, partial):
            line.show(bar(done / inputs[0].size))
        partial.replace(output)
    finally:
        line.clear()
        partial.unlink(missing_ok=True)
    seconds = time.monotonic() - start
    gib = inputs[0].nbytes * (len(inputs) + 1) / (1 << 30)
    print(
        f"{output}: {inputs[0].shape} {inputs[0].dtype}, "
        f"{seconds:.2f} s, {gib / seconds:.2f} GiB/s read and written"
    )
    return 0
