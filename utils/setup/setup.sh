#!/bin/sh
# Makes everything that HetHub needs: Debian packages, .venv, the compiler (build/) and the runtime (build-runtime/).
# usage: setup.sh [JOBS]. May be run again at any time: each step does only what is missing.
set -eu
cd "$(dirname "$0")/../.."
jobs=${1:-$(nproc)}
start=$(date +%s)

say() {
  printf '[%5d s] %s\n' "$(($(date +%s) - start))" "$*"
}

# --- Debian packages -------------------------------------------------------------------------------------------------
packages=$(grep -v '^#' utils/setup/debian-packages.txt)
missing=
for package in $packages; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing="$missing $package"
done
if [ -n "$missing" ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "setup: these Debian packages are missing and installing them needs root. Run:" >&2
    echo "  sudo apt-get update && sudo apt-get install --no-install-recommends$missing" >&2
    exit 1
  fi
  say "installing Debian packages:$missing"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  if ! apt-get install -y -qq --no-install-recommends $missing >apt.log 2>&1; then
    cat apt.log >&2
    rm -f apt.log
    exit 1
  fi
  rm -f apt.log
fi

# --- Python environment ----------------------------------------------------------------------------------------------
# The stamp holds a hash of what was asked for, so that an edited requirement is seen and an old clone costs nothing.
stamp=.venv/setup.sha256
wanted=$(cat requirements.txt pyproject.toml | sha256sum)
if [ ! -x .venv/bin/python ] || [ "$(cat $stamp 2>/dev/null)" != "$wanted" ]; then
  [ -x .venv/bin/python ] || { say "making .venv"; python3 -m venv .venv; }
  say "installing Python packages (torch and what it needs: about 5 GB)"
  .venv/bin/python -m pip install -q --disable-pip-version-check -r requirements.txt
  .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps -e .
  echo "$wanted" >$stamp
fi

# --- Compiler and runtime --------------------------------------------------------------------------------------------
# NINJA_STATUS: steps done of all, seconds passed.
export NINJA_STATUS='[%f/%t %es] '
build() { # folder, arguments of ninja
  folder=$1
  shift
  if [ -t 1 ]; then
    ninja -C "$folder" -j "$jobs" "$@"
  else
    # In a log, every fiftieth step is enough; errors are shown whole.
    ninja -C "$folder" -j "$jobs" "$@" | awk '!/^\[[0-9]+\/[0-9]+ / || NR % 50 == 0; { fflush() }'
    ninja -C "$folder" -j "$jobs" "$@" >/dev/null
  fi
}

[ -f build/build.ninja ] || { say "configuring the compiler"; cmake --preset default --log-level=WARNING; }
say "building the compiler"
build build
[ -f build-runtime/build.ninja ] || {
  say "configuring the runtime"
  cmake -S runtime -B build-runtime -G Ninja -DCMAKE_BUILD_TYPE=Release --log-level=WARNING
}
say "building the runtime"
build build-runtime
installed=build-runtime/installed
if [ ! -f $installed ] || [ -n "$(find build-runtime/bin build-runtime/lib runtime/include -newer $installed | head -1)" ]; then
  cmake --install build-runtime >build-runtime/install.log
  touch $installed
fi
say "ready: .venv/bin/hethub, build/bin/hh-*"
