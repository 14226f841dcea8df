#!/bin/sh
# Units by plain processes that are killed, stopped, executed twice, without room on the disk, with a
# damaged trace and with another program: the result is that of the whole trace, or a worker fails.
#
# Usage: tests/units/chaos.sh [TRACEWRIGHT], from the root of the repository. A full disk needs the
# right to mount a tmpfs, and death between two system calls strace; without these, the step is skipped
# and named. chaos.py does the same with engines.
set -eu
command=$(realpath "${1:-target/debug/tracewright}")
capture=tests/captures/etmv4/capture
shares=8
work=$(mktemp -d)
trap 'umount "$work/full" 2>/dev/null || true; rm -rf "$work"' EXIT

fail() { echo "FAILED: $1" >&2; exit 1; }

copy() {
    cp -r "$capture" "$work/$1"
    i=0
    while [ $i -lt 40 ]; do
        cat "$capture/ETB_0.bin"
        i=$((i + 1))
    done > "$work/$1/ETB_0.bin"
    "$command" index -q "$work/$1" --segment 1024
}

# The part of share $1 of capture $2, in folder $3.
worker() {
    exec "$command" profile "$work/$2" -q --units "$1/$shares" --unit-size 4096 -o "$3/$1.part"
}

# A random number below $1.
random() { echo $(($(od -An -N2 -tu2 /dev/urandom) % $1)); }

equal() {
    "$command" profile "$work/trace" -q --limit 100000 $1 > "$work/result"
    cmp -s "$work/whole" "$work/result" || fail "$2: another result"
    echo "ok: $2"
}

copy trace
"$command" profile "$work/trace" -q --limit 100000 > "$work/whole"
test -s "$work/whole" || fail "the capture has no profile"

# Three workers at a time, killed at random moments, until each share has its part.
mkdir "$work/parts"
killed=0
k=1
while [ $k -le $shares ]; do
    for attempt in 1 2 3; do
        (worker $k trace "$work/parts") 2>/dev/null & one=$!
        (worker $k trace "$work/parts") 2>/dev/null & two=$!
        (worker $k trace "$work/parts") 2>/dev/null & three=$!
        sleep "0.0$(random 90)"
        for worker in $one $two $three; do
            kill -9 $worker 2>/dev/null && killed=$((killed + 1))
        done
        wait $one $two $three 2>/dev/null || true
    done
    (worker $k trace "$work/parts") 2>/dev/null || fail "share $k"
    k=$((k + 1))
done
"$command" merge -q "$work"/parts/*.part -o "$work/sum.part"
equal "--parts $work/sum.part" "$killed workers were killed"

# A worker is killed where its part is written, and has no name yet; with a plan, as without.
"$command" units "$work/trace" -q --unit-size 4096 -o "$work/plan"
mkdir "$work/unnamed"
if command -v strace >/dev/null; then
    share="--plan $work/plan --units 1/$shares -o $work/unnamed/1.part"
    strace -f -o "$work/calls" -e trace=link,linkat -e inject=link,linkat:signal=KILL \
        "$command" profile -q $share 2>/dev/null && fail "a worker that was killed has ended"
    test ! -e "$work/unnamed/1.part" || fail "a part without its name has one"
    test -n "$(find "$work/unnamed" -name '.1.part.*')" || fail "nothing was written"
    "$command" profile -q $share || fail "the worker after one that was killed"
    cmp -s "$work/unnamed/1.part" "$work/parts/1.part" || fail "another part after a kill"
    echo "ok: a worker was killed between writing its part and naming it"
else
    echo "skipped: strace is not installed"
fi

# A worker is stopped, its share is computed by another one, and it continues.
mkdir "$work/stopped"
(worker 1 trace "$work/stopped") 2>/dev/null & slow=$!
kill -STOP $slow 2>/dev/null || true
(worker 1 trace "$work/stopped") 2>/dev/null || fail "the worker beside a stopped one"
kill -CONT $slow 2>/dev/null || true
wait $slow || fail "the worker that was stopped"
cmp -s "$work/stopped/1.part" "$work/parts/1.part" || fail "another part after a stop"
echo "ok: a worker was stopped and continued"

# No room on the disk: an error, and no part.
mkdir "$work/full"
if mount -t tmpfs -o size=8k none "$work/full" 2>/dev/null; then
    dd if=/dev/zero of="$work/full/filled" bs=1k count=16 2>/dev/null || true
    if (worker 1 trace "$work/full") 2>"$work/message"; then fail "a part without room"; fi
    test ! -e "$work/full/1.part" || fail "a part of a full disk"
    test -s "$work/message" || fail "no message about a full disk"
    rm "$work/full/filled"
    "$command" profile "$work/trace" -q --units 1/$shares --unit-size 4096 -o "$work/full/1.part" \
        2>/dev/null || echo "note: the part needs more than 8 KiB"
    umount "$work/full"
    echo "ok: a full disk"
else
    echo "skipped: a tmpfs cannot be mounted"
fi

# One byte of the trace is another one: with the index of the trace, no part of that unit.
copy damaged
printf '\377' | dd of="$work/damaged/ETB_0.bin" bs=1 seek=20000 conv=notrunc 2>/dev/null
mkdir "$work/damage"
k=1
while [ $k -le $shares ]; do
    (worker $k damaged "$work/damage") 2>/dev/null || true
    k=$((k + 1))
done
if "$command" merge -q "$work"/damage/*.part "$work/parts/1.part" -o "$work/wrong.part" 2>/dev/null
then fail "parts of a damaged trace were added"; fi
echo "ok: a damaged trace"

# A worker has another program: its part has no sum with the others.
copy other
for file in "$work"/other/cpu_0*.bin; do
    tr '\000-\377' '\001-\377\000' < "$file" > "$work/changed" && mv "$work/changed" "$file"
done
mkdir "$work/program"
if (worker 2 other "$work/program") 2>/dev/null; then
    cp "$work/parts/1.part" "$work/program/1.part"
    if "$command" merge --partial "$work"/program/*.part -o "$work/wrong.part" 2>"$work/message"
    then fail "parts of two programs were added"; fi
fi
echo "ok: a worker with another program"
