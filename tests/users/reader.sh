#!/usr/bin/env bash
# Who reads the README: its lines, and its Python from the first block to the last.
#
#   GPUOS_TEST_SITE    site-packages with PyTorch, which is not installed again
#   GPUOS_TEST_USERS   all: a clone is installed, which compiles it, and no wheel
set -euo pipefail
source "$(dirname "$0")/common.sh"
has "${CXX:-c++}"
install nvidia-cuda-nvrtc nvidia-nvjitlink
if [ "${GPUOS_TEST_USERS:-}" = all ]; then
  git clone -q "$root" gpuos
  "$python" -m pip install -q --force-reinstall --no-deps ./gpuos
fi
# After the environment's own packages, so that gpuos is the one that was installed.
echo "${GPUOS_TEST_SITE:-}" >"$("$python" -c \
  'import sysconfig; print(sysconfig.get_path("purelib"))')/site.pth"
"$python" -c 'import torch' 2>/dev/null || skip "there is no PyTorch"
"$python" -m gpuos demo >demo.log || (tail -30 demo.log >&2 && false)
"$python" - "$root/README.md" <<'PYTHON'
import pathlib
import re
import subprocess
import sys

text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
ran = 0
for k, (kind, code) in enumerate(blocks):
    if kind != "python":
        continue
    if "gpuos.torch" in code:  # the demo has compiled the bridge
        code += "\nassert gpuos.torch.stats()['intercepted'] > 0\n"
    pathlib.Path("block.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-W", "error", "block.py"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    follows, output = [*blocks, ("", "")][k + 1]
    if follows == "text":
        assert done.stdout == output, done.stdout
    ran += 1
assert ran == 4, ran
print("right: as the README says")
PYTHON
