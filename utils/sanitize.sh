#!/bin/sh
# The runtime's tests under sanitizers, in build folders of their own: address (with leaks and undefined behaviour) and
# thread. LibTorch is not instrumented.
#
# usage: sanitize.sh JOBS [address|thread ...]      (both)
set -eu
cd "$(dirname "$0")/.."
jobs=$1
shift
# LibTorch's vectors are not annotated: the same vector seen from both sides would be reported.
export ASAN_OPTIONS=detect_container_overflow=0
export UBSAN_OPTIONS=print_stacktrace=1
# What LibTorch synchronises with its own atomics is invisible.
export TSAN_OPTIONS=ignore_noninstrumented_modules=1:history_size=4
export HETHUB_TEST_PATIENCE=2
[ $# -gt 0 ] || set -- address thread
for name in "$@"; do
  folder=build-sanitize-$name
  cmake -S runtime -B "$folder" -G Ninja -DHETHUB_SANITIZE="$name" -DHETHUB_CUDA=OFF >/dev/null
  ninja -C "$folder" -j "$jobs" hh-run hethub_runtime_tests
  # The example is built by plain CMake, without a sanitizer.
  ctest --test-dir "$folder" --output-on-failure -E Example
done
