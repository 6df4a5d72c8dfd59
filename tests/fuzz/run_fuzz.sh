#!/bin/sh
# One fuzz target for KITH_FUZZ_SECONDS seconds, from a fresh corpus: run_fuzz.sh TARGET
set -eu
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
"$1" -max_total_time="${KITH_FUZZ_SECONDS:-2}" -max_len=8192 -rss_limit_mb=1024 -malloc_limit_mb=64 -timeout=20 \
    -verbosity=0 -print_final_stats=1 -artifact_prefix="$1-" "$corpus"
