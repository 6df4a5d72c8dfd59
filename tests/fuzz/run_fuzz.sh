#!/bin/sh
# One fuzz target from a fresh corpus: run_fuzz.sh TARGET. For KITH_FUZZ_SECONDS seconds, with another seed each time;
# without that, as a test, for thirty, with the same.
set -eu
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
seed=1
[ -z "${KITH_FUZZ_SECONDS:-}" ] || seed=0 # by the clock
most=64
# libhdf5 asks for what a file tells it to, and goes on where malloc refuses.
case $1 in *hdf5 | *ann_benchmarks) most=100000000 ;; esac
ASAN_OPTIONS=allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS} \
    "$1" -max_total_time="${KITH_FUZZ_SECONDS:-30}" -seed=$seed -max_len=8192 \
    -rss_limit_mb=1024 -malloc_limit_mb=$most -timeout=20 -verbosity=0 -print_final_stats=1 -artifact_prefix="$1-" "$corpus"
