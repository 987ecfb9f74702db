#!/usr/bin/env bash
# Who runs a service that others wrote: what is here, what does it do, can a
# formula be replaced while it runs, and is everything gone afterwards?
set -euo pipefail
source "$(dirname "$0")/common.sh"
install
gpuos() { "$folder/venv/bin/gpuos" "$@"; }
gpuos info --json >shown
"$python" -m json.tool shown >/dev/null
gpuos demo --seconds 0.5 >shown
grep -q "^right: " shown

mkdir -m 0700 run
cat >service.py <<'PYTHON'
import time

import gpuos

rt = gpuos.Runtime("host")
op = rt.define("price", "o = 2 * x")
x, out = rt.ones(4), rt.empty(4)
while True:
    rt.submit(op, x, out=out)
    with open("price", "w") as file:
        file.write(str(out.numpy()[0]))
    time.sleep(0.01)
PYTHON
GPUOS_CONTROL="$folder/run/control" "$python" -W error service.py &
service=$!
trap 'kill "$service" 2>/dev/null || true' EXIT
# until_true WORDS...: within half a minute.
until_true() {
  local turn
  for turn in $(seq 300); do
    "$@" && return
    sleep 0.1
  done
  echo "expected '$*' in turn $turn" >&2
  return 1
}
until_true grep -qsx 2.0 price
gpuos ctl run/control list >shown
grep -q price shown
gpuos ctl run/control replace price -e "o = 3 * x"
until_true grep -qsx 3.0 price
gpuos ctl run/control rollback price
until_true grep -qsx 2.0 price
gpuos ctl run/control stats >shown
grep -q tasks_submitted shown
kill "$service"
wait "$service" || true
trap - EXIT

gpuos cache clear >/dev/null
"$python" -m pip uninstall -q -y gpuos-runtime
if "$python" -c 'import gpuos' 2>/dev/null; then
  echo "gpuos is still there" >&2
  exit 1
fi
left="$(find "$HOME" -type f -path '*gpuos*')"
[ -z "$left" ] || { echo "left behind: $left" >&2 && false; }
echo "right: replaced, put back and gone"
