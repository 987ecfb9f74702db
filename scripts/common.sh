# The other scripts source this file. It has paths, and functions that install.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ROOT="$PWD"
VENV="${GPUOS_VENV:-$ROOT/.venv}"
JOBS="${GPUOS_JOBS:-$(nproc)}"
STARTED=$SECONDS

say() { printf '\n==> [%4ds] %s\n' "$((SECONDS - STARTED))" "$*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# changed PATH...: succeeds if a path changed since the full check, at the
# commit in .ci/checked. In a clone without that commit all paths have changed.
changed() {
  local since
  since="$(cat "$ROOT/.ci/checked")"
  ! git diff --quiet "$since" -- "$@" 2>/dev/null ||
    [ -n "$(git ls-files --others --exclude-standard -- "$@")" ]
}

# ensure_packages REASON PACKAGE...: installs Debian or Ubuntu packages.
ensure_packages() {
  local reason="$1" sudo=""
  shift
  command -v apt-get >/dev/null || fail "$reason: install $* by hand"
  if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || fail "$reason: run 'sudo apt-get install $*'"
    sudo="sudo -n"
  fi
  say "installing $* ($reason)"
  $sudo apt-get update -qq || true  # the lists may already exist
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@"
}

ensure_compiler() {
  command -v "${CXX:-c++}" >/dev/null || ensure_packages "no C++ compiler" g++
}

ensure_gtest() {
  if [ -n "${GPUOS_GTEST_SOURCE:-}" ]; then
    [ -f "$GPUOS_GTEST_SOURCE/CMakeLists.txt" ] ||
      fail "GPUOS_GTEST_SOURCE: no CMakeLists.txt in $GPUOS_GTEST_SOURCE"
  elif [ ! -f /usr/include/gtest/gtest.h ]; then
    ensure_packages "no GoogleTest" libgtest-dev googletest
  fi
}

# The test that counts instructions is skipped without valgrind.
ensure_valgrind() {
  command -v valgrind >/dev/null ||
    (ensure_packages "no valgrind" valgrind) ||
    say "instructions are not counted"
}

# ensure_venv EXTRA...: makes the virtual environment with the build tools and
# these extras of pyproject.toml.
ensure_venv() {
  local python="${GPUOS_PYTHON:-python3}"
  if [ ! -x "$VENV/bin/python" ]; then
    command -v "$python" >/dev/null || ensure_packages "no Python" python3
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
      fail "Python: expected 3.10 or newer, got $("$python" --version 2>&1)"
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
      ensure_packages "no venv module" python3-venv
    say "making $VENV"
    "$python" -m venv "$VENV"
  fi
  export VIRTUAL_ENV="$VENV" PATH="$VENV/bin:$PATH"
  export PIP_DISABLE_PIP_VERSION_CHECK=1
  say "installing build tools and: $*"
  "$VENV/bin/python" scripts/requirements.py build "$@" |
    "$VENV/bin/python" -m pip install -q -r /dev/stdin
}

# ensure_toolkit FOLDER: installs NVRTC and nvJitLink 12 in FOLDER/lib, outside
# of the virtual environment.
ensure_toolkit() {
  local folder="$1" wanted
  wanted="$("$VENV/bin/python" scripts/requirements.py cuda12)"
  if [ "$(cat "$folder/wanted" 2>/dev/null)" != "$wanted ${PIP_CONSTRAINT:-}" ]; then
    rm -rf "$folder"
    "$VENV/bin/python" -m pip install -q --no-deps --target "$folder" \
      -r /dev/stdin <<<"$wanted" >&2
    mkdir "$folder/lib"
    (cd "$folder/lib" && ln -s ../nvidia/*/lib/*.so* .)
    echo "$wanted ${PIP_CONSTRAINT:-}" >"$folder/wanted"
  fi
}

# unpack_toolkit FROM TO: copies CUDA's libraries from the folder FROM and
# unpacks those with the suffix .xz.
unpack_toolkit() {
  rm -rf "$2" && mkdir -p "$2" && cp "$1"/*.so* "$2" &&
    find "$2" -name '*.xz' -exec python3 -c 'import lzma, pathlib, sys
for name in sys.argv[1:]:
    packed = pathlib.Path(name)
    packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
    packed.unlink()' {} +
}

# All builds of the scripts share these arguments of cmake.
cmake_arguments() {
  printf '%s\n' -G Ninja -DGPUOS_WERROR=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
  if [ -n "${GPUOS_GTEST_SOURCE:-}" ]; then
    printf '%s\n' "-DGPUOS_GTEST_SOURCE=$GPUOS_GTEST_SOURCE"
  fi
}
