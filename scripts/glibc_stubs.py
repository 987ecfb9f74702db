#!/usr/bin/env python3
"""Write a folder of stub libraries, so that linked code needs no newer system.

    scripts/glibc_stubs.py FOLDER

A linker takes the newest version of each symbol of the machine's libraries. The
program then needs these libraries. The folder has libraries without code. They
name each symbol once, with the newest version that manylinux_2_28 also has. glibc
and libstdc++ keep these versions forever. `glibc_2_28.c` has the symbols that glibc
2.28 lacks. Newer symbols of libstdc++ are linked from its archive. The rest is
shared, so that an exception crosses libraries. The script prints the linker's
arguments, with spaces between them.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

LIBRARIES = ("libc.so.6", "libm.so.6", "libstdc++.so.6")
NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}
# glibc 2.34 moved their symbols to libc.so.6. Older ones must load them.
MOVED = ("libpthread.so.0", "libdl.so.2")
SYMBOL = re.compile(r"([^@\s]+)@@?((GLIBC|GLIBCXX|CXXABI)_([\d.]+))$")
C = os.environ.get("CC", "cc")


def run(*command: str | Path) -> str:
    """Return the output of a command. Its errors go to the terminal."""
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def symbols(library: Path) -> dict[str, tuple]:
    """Return the version and kind of each symbol that old systems have."""
    best: dict[str, tuple] = {}
    for line in run("readelf", "--dyn-syms", "--wide", library).splitlines():
        words = line.split()
        found = SYMBOL.match(words[-1]) if len(words) == 8 else None
        if not found or words[6] in ("UND", "ABS"):
            continue
        number = tuple(map(int, found[4].split(".")))
        if number > NEWEST[found[3]]:
            continue
        what = {"OBJECT": "object", "TLS": "tls_object"}.get(
            words[3], "function"
        )
        entry = (number, found[2], what)
        best[found[1]] = max(entry, best.get(found[1], entry))
    return best


def write_stub(folder: Path, name: str, known: dict[str, tuple]) -> None:
    """Link a library of that name with empty symbols."""
    lines = []
    for i, (symbol, (_, version, what)) in enumerate(sorted(known.items())):
        lines += [
            '.section .tdata,"awT"' if what == "tls_object" else ".text",
            f".globl stub_{i}",
            f".type stub_{i},%{what}",
            f".symver stub_{i},{symbol}@@{version},remove",
            f"stub_{i}: .byte 0",
        ]
    source = folder / f"{name}.s"
    source.write_text("\n".join(lines) + "\n")
    versions = sorted({version for _, version, _ in known.values()})
    script = folder / f"{name}.map"
    script.write_text("".join(f"{version} {{}};\n" for version in versions))
    run(
        *(C, "-shared", "-nostdlib", f"-Wl,-soname,{name}"),
        *([f"-Wl,--version-script={script}"] if versions else []),
        *(source, "-o", folder / name),
    )


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in LIBRARIES:
        library = Path(run(C, f"-print-file-name={name}").strip())
        write_stub(folder, name, symbols(library))
    for name in MOVED:
        write_stub(folder, name, {})
    missing = folder / "glibc_missing"
    source = Path(__file__).with_name("glibc_2_28.c")
    flags = ("-O2", "-fPIC", "-fvisibility=hidden", "-ffunction-sections")
    run(C, *flags, "-c", source, "-o", missing.with_suffix(".o"))
    run("ar", "crs", missing.with_suffix(".a"), missing.with_suffix(".o"))
    # libc.so is a script that also names the loader and libc_nonshared.a.
    script = Path(run(C, "-print-file-name=libc.so").strip()).read_text()
    ours = f"{folder / 'libc.so.6'} {missing}.a"
    (folder / "libc.so").write_text(re.sub(r"\S*libc\.so\.6", ours, script))
    (folder / "libm.so").symlink_to("libm.so.6")
    archive = run(C, "-print-file-name=libstdc++.a").strip()
    (folder / "libstdc++.so").write_text(
        f"INPUT({folder / 'libstdc++.so.6'} {archive})\n"
    )
    moved = ",".join(str(folder / name) for name in MOVED)
    print(
        f"-L{folder}",
        f"-Wl,--push-state,--no-as-needed,{moved},--pop-state",
    )


if __name__ == "__main__":
    main()
