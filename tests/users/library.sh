#!/usr/bin/env bash
# Who writes C++: builds and installs the library as the README says, and then
# the README's own program with it.
set -euo pipefail
source "$(dirname "$0")/common.sh"
has "${CXX:-c++}" cmake
cmake -S "$root" -B build -DGPUOS_BUILD_TESTS=OFF -DGPUOS_BUILD_EXAMPLES=OFF >log
cmake --build build -j "$(nproc)" >>log || (tail -30 log >&2 && false)
cmake --install build --prefix "$HOME/gpuos" --component development >>log
mkdir program
sed -n '/^```cpp$/,/^```$/p' "$root/README.md" | sed '/^```/d' >program/main.cpp
sed -n '/^```cmake$/,/^```$/p' "$root/README.md" | sed '/^```/d' \
  >program/CMakeLists.txt
cmake -S program -B program/build -DCMAKE_PREFIX_PATH="$HOME/gpuos" >>log
cmake --build program/build >>log
[ "$(program/build/program)" = "-10 -20 -30" ]
echo "right: as the README says"
