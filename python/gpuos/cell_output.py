"""Show the output of a session's host code in the notebook of its cell."""

from __future__ import annotations

import codecs
import os
import select
import sys
import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import TextIO

BYTES = 1 << 16

# The process has one file descriptor 1, so one cell uses it at a time.
in_use = threading.Lock()


class CellResult(NamedTuple):
    """Describes the effects of one cell.

    Attributes
    ----------
    cell : str
        'cell 3', or the given name.
    defined : list of str
        The definitions, such as 'kernel foo', in the order of the cell.
    launches : int
        The number of kernels that it launched.
    log : str
        The compiler's log.
    """

    cell: str
    defined: list[str]
    launches: int
    log: str


class CellOutput:
    """Makes file descriptor 1 a pipe, and copies its text to a stream."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        stream.flush()
        self.source, write_end = os.pipe()
        self.stopped, self.stop = os.pipe()
        self.kept = os.dup(1)
        os.dup2(write_end, 1)
        os.close(write_end)
        self.thread = threading.Thread(target=self.copy, daemon=True)
        self.thread.start()

    def copy(self) -> None:
        """Copy until `end`. Reading releases the GIL."""
        while True:
            ready, _, _ = select.select([self.source, self.stopped], [], [])
            # A child may keep the pipe open, so do not wait for its end.
            if self.source not in ready:
                break
            data = os.read(self.source, BYTES)
            if not data:
                break
            self.stream.write(self.decoder.decode(data))
        self.stream.write(self.decoder.decode(b"", final=True))

    def end(self) -> None:
        """Restore file descriptor 1 after all written text is copied."""
        os.dup2(self.kept, 1)
        os.write(self.stop, b"x")
        self.thread.join()
        for descriptor in (self.kept, self.source, self.stopped, self.stop):
            os.close(descriptor)
        self.stream.flush()


def is_notebook(stream: object) -> bool:
    """Return whether text written to a stream goes to a notebook."""
    return type(stream).__module__.split(".")[0] == "ipykernel"


def begin() -> CellOutput | None:
    """Return the output of a cell in a notebook, or None elsewhere.

    The output also includes what other threads write to file descriptor 1.
    """
    stream = sys.stdout
    if not is_notebook(stream) or not in_use.acquire(blocking=False):
        return None
    try:
        return CellOutput(stream)
    except BaseException:
        in_use.release()
        raise


def end(output: CellOutput) -> None:
    """End the output that `begin` returned."""
    try:
        output.end()
    finally:
        in_use.release()
