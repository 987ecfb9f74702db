"""The corpora of libFuzzer's targets: one archive each, in tests/fuzz/corpora.

    scripts/fuzz corpus unpack cells [FOLDER]   build/corpora/cells by default
    scripts/fuzz corpus pack cells [FOLDER]

`unpack` writes the files of a target's archive. `pack` makes the archive of all
files of a folder. Equal files give equal archives. Git keeps the archives alone.
"""

import argparse
import shutil
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPORA = ROOT / "tests" / "fuzz" / "corpora"
UNPACKED = ROOT / "build" / "corpora"


def targets() -> list[str]:
    """The names of all targets: each has an archive."""
    return sorted(path.stem for path in CORPORA.glob("*.zip"))


def unpack(target: str, folder: Path) -> None:
    """Write the files of a target; others of the folder are removed."""
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(CORPORA / f"{target}.zip") as archive:
        archive.extractall(folder)


def pack(target: str, folder: Path, archives: Path = CORPORA) -> None:
    """Make the archive of a folder's files, by name and without their times.

    They are stored as they are: each zlib compresses to other bytes, and git
    compresses by itself.
    """
    files = sorted(path for path in folder.iterdir() if path.is_file())
    if not files:
        sys.exit(f"corpus pack: expected files in {folder}, found none")
    with zipfile.ZipFile(archives / f"{target}.zip", "w") as archive:
        for path in files:
            archive.writestr(zipfile.ZipInfo(path.name), path.read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripts/fuzz corpus",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=["unpack", "pack"])
    parser.add_argument("target", choices=targets())
    parser.add_argument("folder", nargs="?", type=Path)
    options = parser.parse_args()
    folder = options.folder or UNPACKED / options.target
    {"unpack": unpack, "pack": pack}[options.what](options.target, folder)
    sys.stdout.write(f"{folder}\n")


if __name__ == "__main__":
    main()
