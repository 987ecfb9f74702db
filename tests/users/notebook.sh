#!/usr/bin/env bash
# Who writes CUDA C++ in a notebook: cells that see each other, with NVRTC from
# pip. A cell of host code runs without a GPU, too.
set -euo pipefail
source "$(dirname "$0")/common.sh"
has "${CXX:-c++}"
install ipython "nvidia-cuda-nvrtc>=13,<14" "nvidia-nvjitlink>=13,<14"
cat >cells.ipy <<'PYTHON'
%load_ext gpuos
import gpuos

session = gpuos.Runtime("host").session()
get_ipython().run_cell_magic("cuda", "session", """
__host__ __device__ float square(float x) { return x * x; }
__global__ void squares(float* x) { x[threadIdx.x] = square(x[threadIdx.x]); }
""")
assert len(session.link("squares")) > 0  # machine code, from NVRTC
get_ipython().run_cell_magic("cuda", "session", """
#include <cstdio>
std::printf("right: %g\\n", square(3));
""")
PYTHON
"$folder/venv/bin/ipython" --no-banner --colors=NoColor cells.ipy | tee shown
grep -qx "right: 9" shown
