# What the scripts of this folder share. Sourced, never run.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
deps=$root/.deps
onnx_version=1.20.1

# say TEXT: one line on what happens next, after the script's name.
say() { printf '== %s: %s\n' "${0##*/}" "$*"; }

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
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --dest "$deps/wheels" "$1==$2"
}

# configure FOLDER OPTION...: a build folder of this source tree, relative to the root.
configure() {
  local folder=$1
  shift
  step "configuring $folder" cmake -S "$root" -B "$root/$folder" -G Ninja "$@"
}

# compile FOLDER TARGET...: these targets of a configured build folder.
compile() {
  local folder=$1
  shift
  step "building $* in $folder" cmake --build "$root/$folder" --parallel "$(nproc)" --target "$@"
}

# run_tests FOLDER OPTION...: all tests of a build folder; ctest's counts are the last lines.
run_tests() {
  local folder=$1
  shift
  step "running the tests of $folder" \
    ctest --test-dir "$root/$folder" --output-on-failure --no-tests=error --parallel "$(nproc)" "$@"
}

# find_python: sets `python` to one with numpy and onnx: the machine's own, or that of a virtual environment.
find_python() {
  local venv=$deps/venv
  python=python3
  if python3 -c 'import numpy, onnx.reference' 2>/dev/null; then
    return
  fi
  python=$venv/bin/python
  if ! "$python" -c 'import numpy, onnx' 2>/dev/null; then
    step "making a Python environment with numpy and onnx in .deps/venv" python3 -m venv --clear "$venv"
    step "installing numpy and onnx there" "$python" -m pip install --quiet --disable-pip-version-check \
      --find-links "$deps/wheels" numpy "onnx==$onnx_version"
  fi
}
