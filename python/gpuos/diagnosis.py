"""What gpuos finds on this machine."""

from __future__ import annotations

from gpuos import _core


class Diagnosis(list[_core.Finding]):
    """Findings, one for each thing looked for; `str()` is a table."""

    def __str__(self) -> str:
        rows = [
            (
                finding.what,
                ("found " + finding.version) if finding.found else "missing",
                finding.where if finding.found else finding.hint,
            )
            for finding in self
        ]
        if not rows:
            return ""
        first = max(len(row[0]) for row in rows)
        second = max(len(row[1]) for row in rows)
        return "\n".join(
            f"{what:<{first}}  {state:<{second}}  {where}".rstrip()
            for what, state, where in rows
        )

    def places(self) -> str:
        """Return where each missing part was looked for, a line for each."""
        return "\n".join(
            f"{finding.what} was looked for in {', '.join(finding.searched)}"
            for finding in self
            if not finding.found and finding.searched
        )


def diagnose() -> Diagnosis:
    """Look for devices, driver, NVRTC, nvJitLink, headers and a C++ compiler.

    Returns
    -------
    Diagnosis
        A list of Finding with `what`, `found`, `version`, `where`, `hint`
        (what to install) and `searched` (the places that were looked at). A
        missing part is a finding, never an error.

    Examples
    --------
    >>> print(gpuos.diagnose())
    """
    return Diagnosis(_core._diagnose())
