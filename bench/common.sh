# What the measuring scripts share: processes on cores of their own, and what they cost. To be sourced
# within `bench`, after the settings ROUNDS, SECONDS_EACH, CONNECTIONS and PIN.

. ./processes.sh

# The two workspaces have a lock file each; what is compared must not differ.
version() { awk -v name="\"$2\"" '$1 == "name" { hit = $3 == name } hit && $1 == "version" { print $3 }' "$1"; }
for crate in axum hyper hyper-util serde_json tokio tower; do
    ours=$(version Cargo.lock $crate) theirs=$(version ../Cargo.lock $crate)
    if [ "$ours" != "$theirs" ]; then
        echo "$crate is $ours here and $theirs there; run: cargo update $crate --precise VERSION" >&2
        exit 1
    fi
done

cargo build --release --quiet --locked
built=${CARGO_TARGET_DIR:-target}/release
need_server
load() { (on_core 1 "$built/load" "$@"); }

# CPU time so far in clock ticks, user and system; resident memory in kB, now and at most.
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
resident() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }
peak() { awk '/^VmHWM/ { print $2 }' "/proc/$1/status"; }
hertz=$(getconf CLK_TCK)

# A column's median over the rounds: requests per second, CPU per request, percentiles; errors add up.
summary() {
    awk -v hertz="$hertz" '
        { rate[NR] = $1 / $2; cpu[NR] = $6 / hertz * 1e6 / $1; p50[NR] = $3; p99[NR] = $4; errors += $5 }
        function median(list,    i, j, swap) {
            for (i = 2; i <= NR; i++)
                for (j = i; j > 1 && list[j] < list[j - 1]; j--) {
                    swap = list[j]; list[j] = list[j - 1]; list[j - 1] = swap
                }
            return list[int((NR + 1) / 2)]
        }
        END { printf "%.0f %.1f %.0f %.0f %d", median(rate), median(cpu), median(p50), median(p99), errors }
    ' "$1"
}

# The log of the server that is measured would fill the disk.
tail_log() { :>"$work/tradepost.log"; }

# One round: name, request, address, pid, and how an answer begins. Adds to the results: requests,
# ticks and what load says.
round() {
    local before after result
    before=$(ticks "$4")
    result=$(load "$3" "$CONNECTIONS" "$SECONDS_EACH" 1000000000 "$work/$2.json=$5")
    after=$(ticks "$4")
    echo "$result $((after - before))" >>"$work/$2.$1"
    tail_log
}

# Resident memory over MEMORY requests: pid, address, bodies with their answers.
memory() {
    local pid=$1 address=$2 i result step=$((MEMORY / 10))
    shift 2
    echo
    echo "| requests so far | errors | resident MB |"
    echo "|---:|---:|---:|"
    show() { echo "| $1 | $2 | $(awk "BEGIN { printf \"%.1f\", $(resident "$pid") / 1024 }") |"; }
    show 0 0
    for ((i = 1; i <= 10; i++)); do
        result=$(load "$address" "$CONNECTIONS" 600 "$step" "$@")
        tail_log
        show $((step * i)) "$(cut -d' ' -f5 <<<"$result")"
    done
    echo
    awk "BEGIN { printf \"highest since the start: %.1f MB\\n\", $(peak "$pid") / 1024 }"
}
