#!/usr/bin/env bash
# Who learns by PyTorch: the loop of the README, with its one new line.
#
#   GPUOS_TEST_SITE   site-packages with PyTorch, which is not installed again
set -euo pipefail
source "$(dirname "$0")/common.sh"
has "${CXX:-c++}"
install
# Behind the environment's own packages, so that gpuos is the wheel's.
echo "${GPUOS_TEST_SITE:-}" >"$("$python" -c \
  'import sysconfig; print(sysconfig.get_path("purelib"))')/site.pth"
"$python" -c 'import torch' 2>/dev/null || skip "there is no PyTorch"
"$python" -m gpuos build-torch
"$python" -W error - <<'PYTHON'
import sys

import torch

import gpuos.torch

assert gpuos.__file__.startswith(sys.prefix), gpuos.__file__


def oscillate():
    x, v = torch.ones(256), torch.zeros(256)
    for _ in range(1000):
        v = v - 0.01 * x
        x = x + 0.01 * v
    return x


with torch.no_grad():
    expected = oscillate()
    with gpuos.torch.scheduler():
        x = oscillate()
torch.testing.assert_close(x, expected)
taken = gpuos.torch.stats()["intercepted"]
assert taken == 4002, taken
print("right: as eager PyTorch's")
PYTHON
