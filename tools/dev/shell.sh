# What the scripts of this folder share. Sourced, never run.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
deps=$root/.deps

# say TEXT: one line about what happens next.
say() { printf '== %s\n' "$*"; }

# fail TEXT: the reason on stderr, then the end.
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# step TEXT COMMAND...: says TEXT, runs COMMAND, and names both when it fails.
step() {
  local text=$1
  shift
  say "$text"
  "$@" || fail "this step failed: $text (command: $*)"
}

# has_sha256 FILE SUM: true where FILE exists with that sum.
has_sha256() { [ -f "$1" ] && printf '%s  %s\n' "$2" "$1" | sha256sum --check --status; }

# fetch_wheel NAME VERSION: downloads the wheel of a Python package into .deps/wheels, without its dependencies.
fetch_wheel() {
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$deps/wheels" "$1==$2"
}
