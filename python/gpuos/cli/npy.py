"""Plain .npy files, read and written from the first element to the last.

They are read and written with calls that can fail, not mapped: a full disk or
a file that shrinks meanwhile is an error then, and no signal.
"""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import stat
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import gpuos
from gpuos.cli.options import bad_input

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    import numpy.typing as npt

DTYPES = ("float32", "float64", "int32", "int64")
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    # The text may be UTF-8, which only the names of fields need.
    (3, 0): np.lib.format.read_array_header_2_0,
}


class NpyReader:
    """Reads the elements of a .npy file in their order.

    Parameters
    ----------
    path : str
        The name of the file in errors.
    file : binary file, unbuffered
        A regular file. Its header is read here.

    Raises
    ------
    gpuos.InvalidArgument
        It is no complete .npy file, or expressions do not support it.
    """

    def __init__(self, path: str, file: BinaryIO) -> None:
        self.path = path
        self._file = file
        self.dtype, self.shape = read_header(file, path)
        self.size = math.prod(self.shape)
        self.nbytes = self.size * self.dtype.itemsize
        rest = max(0, os.fstat(file.fileno()).st_size - file.tell())
        if rest < self.nbytes:
            message = (
                f"{path}: expected {self.nbytes} bytes for {self.shape} "
                f"{self.dtype}, got {rest}"
            )
            raise bad_input(message)

    def read_into(self, memory: npt.NDArray[Any]) -> None:
        """Fill `memory`, shape (n,), with the next n elements.

        Raises
        ------
        gpuos.Error
            The file has become shorter since it was opened.
        """
        rest = memory.view(np.uint8).data
        while len(rest) > 0:
            count = self._file.readinto(rest)  # type: ignore[attr-defined]
            if not count:
                message = (
                    f"{self.path}: expected {len(rest)} bytes more, got the "
                    "end of the file: it was cut while it was read"
                )
                raise gpuos.Error(message)
            rest = rest[count:]


@contextlib.contextmanager
def opened(path: str) -> Iterator[NpyReader]:
    """Open one input; see `NpyReader`."""
    if not path:
        message = "expected the name of an input, got ''"
        raise bad_input(message)
    try:
        # Without the flag a FIFO without a writer would block.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        message = f"{path}: there is no such file"
        raise bad_input(message) from None
    except OSError as error:
        message = f"{path}: expected a .npy file, got: {error.strerror}"
        raise bad_input(message) from None
    if kind := KINDS.get(stat.S_IFMT(os.fstat(number).st_mode)):
        os.close(number)
        message = f"{path}: expected a .npy file, got {kind}"
        raise bad_input(message)
    with os.fdopen(number, "rb", 0) as file:
        yield NpyReader(path, file)


def read_header(
    file: BinaryIO, path: str
) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return dtype and shape; the next byte of `file` is an element's."""
    try:
        with warnings.catch_warnings():
            # NumPy warns of a header that Python 2 wrote.
            warnings.simplefilter("ignore")
            version = np.lib.format.read_magic(file)
            if version not in HEADERS:
                message = f"version {version}"
                raise ValueError(message)
            shape, is_fortran, dtype = HEADERS[version](file)
            # NumPy's check of what a shape can be; no element is made.
            np.broadcast_to(np.zeros((), np.uint64), shape)
    except Exception as error:  # noqa: BLE001 (damage raises anything)
        reason = " ".join(str(error).split()) or type(error).__name__
        message = f"{path}: expected a .npy file, got: {reason}"
        raise bad_input(message) from None
    if dtype.name not in DTYPES or not dtype.isnative:
        message = f"{path}: expected {', '.join(DTYPES)}, got {dtype}"
        raise bad_input(message)
    # With one axis, or of no elements, it is both.
    if is_fortran and 0 not in shape and sum(n > 1 for n in shape) > 1:
        message = f"{path}: expected C order, got Fortran order"
        raise bad_input(message)
    return dtype, shape


class Target(NamedTuple):
    """Writes the file of an output."""

    path: Path
    old: os.stat_result | None

    @classmethod
    def of(cls, name: str) -> Target:
        """Return the file that `name` means, through symbolic links.

        Raises
        ------
        gpuos.InvalidArgument
            A file of this name could not be replaced, or must not be.
        """
        if not Path(name).name or name.endswith("/"):
            message = f"--output: expected the name of a file, got {name!r}"
            raise bad_input(message)
        path = Path(os.path.realpath(name))
        try:
            old = os.stat(name)  # noqa: PTH116 (as it was written)
        except FileNotFoundError:
            if not path.parent.is_dir():
                message = f"{name}: there is no folder {path.parent}"
                raise bad_input(message) from None
            return cls(path, None)
        except OSError as error:
            message = f"{name}: expected a file, got: {error.strerror}"
            raise bad_input(message) from None
        if kind := KINDS.get(stat.S_IFMT(old.st_mode)):
            message = f"{name}: expected a file or a new name, got {kind}"
            raise bad_input(message)
        if not os.access(path, os.W_OK):
            message = f"{name}: expected a file, got one that is read-only"
            raise bad_input(message)
        return cls(path, old)


@contextlib.contextmanager
def replacing(
    target: Target, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> Iterator[BinaryIO]:
    """Yield a temporary file for the elements.

    It gets the target's name and mode when the block ends without an
    exception. Otherwise it is removed.
    """
    partial = target.path.with_name(
        f".gpuos-run-{secrets.token_hex(8)}.partial"
    )
    header = {
        "descr": np.lib.format.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": shape,
    }
    try:
        with partial.open("xb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            yield file
            file.flush()
            if target.old is not None:
                take_over(target.old, file.fileno())
            os.fsync(file.fileno())
        partial.replace(target.path)
    finally:
        partial.unlink(missing_ok=True)


def take_over(old: os.stat_result, number: int) -> None:
    """Give an open file the owner, if that is allowed, and mode of `old`."""
    with contextlib.suppress(PermissionError):
        os.fchown(number, old.st_uid, old.st_gid)
    os.fchmod(number, stat.S_IMODE(old.st_mode))
