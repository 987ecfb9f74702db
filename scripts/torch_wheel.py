#!/usr/bin/env python3
"""Make the wheel gpuos-runtime-torch from compiled bridges.

    scripts/torch_wheel.py FOLDER OUT

The script packs each `bridge-*.so` in FOLDER and prints the wheel's path in
OUT. `gpuos.torch.building.compile_into()` makes a bridge for one PyTorch and
one Python. The wheel has the version of the installed gpuos and depends on it.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import gpuos

PROJECT = """
[build-system]
requires = ["scikit-build-core>=0.11,<2"]
build-backend = "scikit_build_core.build"

[project]
name = "gpuos-runtime-torch"
version = "{version}"
description = "Bridges of gpuos to versions of PyTorch, compiled"
license = "MIT"
requires-python = ">=3.10"
dependencies = ["gpuos-runtime=={version}"]

[tool.scikit-build]
wheel.cmake = false
wheel.platlib = true
wheel.packages = ["gpuos_torch"]
"""
PACKAGE = '''"""Bridges of gpuos to PyTorch: gpuos.torch looks here for one that fits."""
'''


def main() -> None:
    bridges, out = map(Path, sys.argv[1:])
    found = sorted(bridges.glob("bridge-*.so"))
    if not found:
        sys.exit(f"error: expected bridge-*.so in {bridges}, found none")
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch)
        (project / "gpuos_torch").mkdir()
        (project / "gpuos_torch/__init__.py").write_text(PACKAGE)
        (project / "pyproject.toml").write_text(
            PROJECT.format(version=gpuos.__version__)
        )
        for bridge in found:
            shutil.copy(bridge, project / "gpuos_torch")
        made = project / "made"
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps"),
                *("--no-build-isolation", "--no-index", "-w", made, project),
            ],
            check=True,
        )
        [wheel] = made.iterdir()
        out.mkdir(parents=True, exist_ok=True)
        print(shutil.copy(wheel, out))


if __name__ == "__main__":
    main()
