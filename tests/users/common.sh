# Sourced by the scripts of the five users: WHEEL FOLDER.
wheel="$(realpath "$1")" folder="$(realpath "$2")"
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
python="$folder/venv/bin/python"
# Nothing of who runs this, neither a cache nor a setting.
export HOME="$folder/home"
mkdir -p "$HOME"
unset PYTHONPATH GPUOS_CACHE_DIR GPUOS_CONTROL
cd "$folder"

skip() {
  echo "$*" >&2
  exit 77
}

# has TOOL...: else the script is skipped.
has() {
  local tool
  for tool in "$@"; do
    command -v "$tool" >/dev/null || skip "there is no $tool"
  done
}

# install [PACKAGE...]: a new environment with these and the wheel. Only what
# comes from elsewhere may be missing.
install() {
  "${GPUOS_PYTHON:-python3}" -m venv venv
  "$python" -m pip install -q --retries 1 numpy "$@" >pip.log 2>&1 ||
    skip "pip cannot install numpy $*: $(grep . pip.log | head -1)"
  "$python" -m pip install -q --no-index "$wheel"
}
