#!/usr/bin/env bash
# Runs every fuzz target guided by coverage, and fails where one finds something.
#
#     fuzz/nightly.sh [MINUTES [TARGET...]]
#
# MINUTES (default 20) is the time of all targets together; each has an equal share of it. The
# corpus begins with the seeds of examples/seeds.rs, and grows in fuzz/corpus. Inputs that fail are
# in fuzz/artifacts/TARGET. The last lines are a table in the form of that of fuzz/README.md.
#
# It needs a nightly toolchain and cargo-fuzz: see fuzz/README.md. FUZZ_FRESH=1 leaves the corpus of
# earlier runs out, FUZZ_SECONDS is the time of each target in place of its share, FUZZ_BUILT=1 uses
# the programs and the corpus as they are, and FUZZ_COLLECT=1 writes the shortest inputs that have the
# coverage of the corpus to fuzz/inputs, whose inputs every run of the tests takes again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

minutes=${1:-20}
shift || true
if [ $# -gt 0 ]; then
    targets=("$@")
else
    mapfile -t targets < <(sed -n 's/^path = "fuzz_targets\/\(.*\)\.rs"$/\1/p' Cargo.toml)
fi
seconds=${FUZZ_SECONDS:-$((minutes * 60 / ${#targets[@]}))}
[ "$seconds" -ge 1 ] || seconds=1

# Memory of a process in MiB, and seconds for one input.
rss=500
timeout=10

# The greatest length of an input.
length() {
    case $1 in
    packets) echo 64 ;;
    round_trip | analyzer | etmv3_analyzer) echo 8 ;;
    cycles) echo 10 ;;
    logs | units) echo 2048 ;;
    memory | captures | perf | levels | index) echo 4096 ;;
    link | joined | harts | session | chunks | gdb) echo 512 ;;
    *) echo 256 ;;
    esac
}

# soon TARGET INPUT: whether the input alone takes less processor time than an input may.
soon() {
    (ulimit -t "$timeout" && exec "$programs/$1" -timeout=600 -rss_limit_mb=$rss "$2") >/dev/null 2>&1
}

if [ -z "${FUZZ_BUILT:-}" ]; then
    for target in "${targets[@]}"; do
        cargo +nightly fuzz build --sanitizer none "$target"
    done
fi
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
programs=$(cargo +nightly metadata --format-version 1 --no-deps |
    sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')/$host/release
[ -z "${FUZZ_FRESH:-}" ] || rm -rf corpus
[ -n "${FUZZ_BUILT:-}" ] || cargo run --quiet --example seeds

# Targets that write files write them into memory.
if [ -d /dev/shm ]; then
    TMPDIR=$(mktemp -d /dev/shm/fuzz.XXXXXX)
else
    TMPDIR=$(mktemp -d)
fi
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

# Sets `spent` to the processor time of all programs so far, in seconds.
spend() {
    times >"$TMPDIR/times"
    spent=$(awk 'NR == 2 { gsub("s", ""); split($1, u, "m"); split($2, s, "m")
                           print int(60 * (u[1] + s[1]) + u[2] + s[2]) }' "$TMPDIR/times")
}

failed=()
table=()
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target" "artifacts/$target"
    log=$TMPDIR/$target.log
    dictionary=()
    [ ! -s "dictionaries/$target.dict" ] || dictionary=("-dict=dictionaries/$target.dict")
    : >"$log"
    spend
    before=$spent
    found=0
    left=$seconds
    # An input that was too slow by the clock only ends neither the target nor its time.
    while [ "$left" -ge 1 ]; do
        start=$SECONDS
        found=0
        "$programs/$target" "corpus/$target" -artifact_prefix="artifacts/$target/" \
            -max_len="$(length "$target")" -max_total_time="$left" -timeout=$timeout \
            "${dictionary[@]}" -rss_limit_mb=$rss -malloc_limit_mb=$rss -use_value_profile=0 -print_final_stats=1 \
            -verbosity=1 >>"$log" 2>&1 || found=$?
        left=$((left - (SECONDS - start)))
        slow=$(sed -n 's/.*Test unit written to \(.*\/timeout-.*\)/\1/p' "$log" | tail -n 1)
        if [ "$found" -eq 0 ] || [ ! -f "$slow" ] || ! soon "$target" "$slow"; then
            break
        fi
        echo "$slow takes less than $timeout s of processor time: the machine was busy"
        rm "$slow"
        found=0
    done
    field() { sed -n "s/.*\b$1: *\([0-9]*\).*/\1/p" "$log" | tail -n 1; }
    # The first line with coverage is that of the seeds.
    seeds=$(sed -n 's/.*INITED cov: \([0-9]*\).*/\1/p' "$log" | head -n 1)
    # The edges that the program has, reached or not.
    all=$(sed -n 's/.*Loaded [0-9]* modules *(\([0-9]*\) inline.*/\1/p' "$log" | head -n 1)
    units=$(awk '/stat::number_of_executed_units/ { n += $2 } END { print n + 0 }' "$log")
    # The random numbers that the runs began with: with the same corpus, -seed=N repeats a run.
    random=$(sed -n 's/^INFO: Seed: //p' "$log" | paste -sd ' ')
    spend
    row="| \`$target\` | $seconds | $((spent - before)) | $units | ${seeds:-} |"
    row="$row $(field cov) | ${all:-} | $(field ft) | $(field 'stat::peak_rss_mb') | $random |"
    table+=("$row")
    echo "$row"
    if [ "$found" -ne 0 ]; then
        failed+=("$target")
        grep -n -E 'panicked|ERROR|SUMMARY|Test unit written' -A 2 "$log" | head -n 20 || true
    fi
done

if [ -n "${FUZZ_COLLECT:-}" ]; then
    for target in "${targets[@]}"; do
        mkdir "$TMPDIR/least"
        "$programs/$target" -merge=1 -max_len="$(length "$target")" -rss_limit_mb=$rss \
            "$TMPDIR/least" "corpus/$target" >>"$TMPDIR/$target.log" 2>&1
        cargo run --quiet --example seeds -- collect "$target" "$TMPDIR/least"
        rm -r "$TMPDIR/least"
    done
fi

echo
echo "| target | seconds | of processor | inputs | edges of the seeds | edges | of all | features | peak MB | -seed |"
echo "|---|---|---|---|---|---|---|---|---|---|"
printf '%s\n' "${table[@]}"
if [ ${#failed[@]} -gt 0 ]; then
    echo "found something: ${failed[*]}; the inputs are in fuzz/artifacts"
    exit 1
fi
