"""Find the parts of this machine that gpuos uses."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from gpuos import _core


def wrapped(text: str, indent: int = 2) -> str:
    """Break text after 80 columns, except inside of a path."""
    return textwrap.fill(
        text,
        80,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


class Finding(NamedTuple):
    """Describes one thing that gpuos looked for on this machine.

    Attributes
    ----------
    what : str
        The name of the thing, such as "driver" or "nvrtc".
    found : bool
        Whether it is usable.
    version : str
        The version. The text is empty if it is unknown.
    where : str
        The path. The text may be empty.
    hint : str
        What to install if it is missing.
    searched : list of str
        The places that were searched, best first.
    """

    what: str
    found: bool
    version: str
    where: str
    hint: str
    searched: list[str]


class Diagnosis(list[Finding]):
    """A list with one finding for each part. `str()` makes a table."""

    def __str__(self) -> str:
        first = max((len(finding.what) for finding in self), default=0) + 2
        rows = [
            (
                finding.what,
                f"found {finding.version}  {finding.where}"
                if finding.found
                else f"missing  {finding.hint}",
            )
            for finding in self
        ]
        return "\n".join(
            wrapped(f"{what:<{first}}{said}", first) for what, said in rows
        )

    def places(self) -> str:
        """Return the searched places of each missing part."""
        return "\n".join(
            wrapped(
                f"{finding.what} was looked for in "
                f"{', '.join(finding.searched)}"
            )
            for finding in self
            if not finding.found and finding.searched
        )


def diagnose() -> Diagnosis:
    """Look for devices, driver, NVRTC, nvJitLink, headers and a C++ compiler.

    Returns
    -------
    Diagnosis
        A list of Finding with `what`, `found`, `version`, `where`, `hint`
        (what to install) and `searched` (the searched places). A missing part
        is a finding, never an error.

    Examples
    --------
    >>> print(gpuos.diagnose())
    """
    return Diagnosis(Finding(*found) for found in _core._diagnose())
