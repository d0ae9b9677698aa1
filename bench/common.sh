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
ticks() { awk '{ sub(/.*\) /, ""); print $12, $13 }' "/proc/$1/stat"; }
resident() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }
peak() { awk '/^VmHWM/ { print $2 }' "/proc/$1/status"; }
hertz=$(getconf CLK_TCK)

# Instructions for each of so many requests, from the file of `perf stat -x ,`; nothing when it has no number. They are
# added up because a processor with two kinds of cores has a line for each kind.
counted() {
    awk -F , -v requests="$2" '$1 ~ /^[0-9]+$/ { sum += $1 } END { if (sum) printf "%.0f\n", sum / requests }' "$1"
}
# Many virtual machines have no counter, and perf says so only in its output.
has_counter=0
if perf stat -x , -o "$work/perf" -e instructions:u true 2>/dev/null && [ -n "$(counted "$work/perf" 1)" ]; then
    has_counter=1
fi

# A column's median over the rounds: requests per second, CPU per request and the user's part of it, percentiles; errors
# add up.
summary() {
    awk -v hertz="$hertz" '
        {
            rate[NR] = $1 / $2; p50[NR] = $3; p99[NR] = $4; errors += $5
            user[NR] = $6 / hertz * 1e6 / $1; cpu[NR] = ($6 + $7) / hertz * 1e6 / $1
        }
        function median(list,    i, j, swap) {
            for (i = 2; i <= NR; i++)
                for (j = i; j > 1 && list[j] < list[j - 1]; j--) {
                    swap = list[j]; list[j] = list[j - 1]; list[j - 1] = swap
                }
            return list[int((NR + 1) / 2)]
        }
        END {
            printf "%.0f %.1f %.1f ", median(rate), median(cpu), median(user)
            printf "%.0f %.0f %d", median(p50), median(p99), errors
        }
    ' "$1"
}

# The log of the server that is measured would fill the disk.
tail_log() { :>"$work/tradepost.log"; }

# One round: name, request, address, pid, and how an answer begins. Adds to the results: what load says,
# and ticks of user and system.
round() {
    local user system user_after system_after result
    read -r user system <<<"$(ticks "$4")"
    result=$(load "$3" "$CONNECTIONS" "$SECONDS_EACH" 1000000000 "$work/$2.json=$5")
    read -r user_after system_after <<<"$(ticks "$4")"
    echo "$result $((user_after - user)) $((system_after - system))" >>"$work/$2.$1"
    tail_log
}

# Counts the server's instructions, with the arguments of `round`: a round of its own, because perf takes time from the
# server.
count() {
    local result
    if [ "$has_counter" = 0 ]; then return; fi
    result=$(on_core 1 perf stat -x , -o "$work/perf" -e instructions:u -p "$4" -- \
        "$built/load" "$3" "$CONNECTIONS" "$SECONDS_EACH" 1000000000 "$work/$2.json=$5")
    counted "$work/perf" "${result%% *}" >"$work/$2.$1.instructions"
    tail_log
}

# What a table says of each server: the names of the columns, the line below them, and the figures of one server (its
# results, and those of the server that it is compared with).
columns="req/s | CPU µs/request | of it user | instructions/request | p50 µs | p99 µs | errors"
columns+=" | req/s ratio | CPU ratio"
aligned="---:|---:|---:|---:|---:|---:|---:|---:|---:"
figures() {
    local rate cpu user p50 p99 errors base_rate base_cpu instructions=
    read -r rate cpu user p50 p99 errors <<<"$(summary "$1")"
    read -r base_rate base_cpu _ <<<"$(summary "$2")"
    if [ -e "$1.instructions" ]; then instructions=$(cat "$1.instructions"); fi
    echo "$rate | $cpu | $user | ${instructions:--} | $p50 | $p99 | $errors |" \
        "$(awk "BEGIN { printf \"%.2f | %.2f\", $rate / $base_rate, $cpu / $base_cpu }")"
}

# Below a table: why it has no instructions, and the size of each measured program (NAME=FILE). Code is told from data
# and debug information where binutils are there.
below() {
    local program file text sizes=
    echo
    if [ "$has_counter" = 0 ]; then
        echo "instructions: \`perf\` cannot count them on this machine; README.md says how \`valgrind\` does"
        echo
    fi
    for program in "$@"; do
        file=${program#*=}
        text=$(size -A "$file" 2>/dev/null | awk '$1 == ".text" { printf "%.1f MB", $2 / 1e6 }') || true
        sizes+="${sizes:+; }${program%%=*} $(awk "BEGIN { printf \"%.1f\", $(wc -c <"$file") / 1e6 }") MB as a file,"
        sizes+=" ${text:--} of it .text"
    done
    echo "code: $sizes"
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
