# Processes of a benchmark, and what they cost. To be sourced within `bench`, after the setting PIN.

work=$(mktemp -d)
pids=()
finish() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap finish EXIT

# Our program, which is built unless the setting SERVER names one: a path seen from `bench`, or a name on the PATH, which
# becomes a path.
need_server() {
    local path
    if [ -z "${SERVER:-}" ]; then
        (cd .. && cargo build --release --features jemalloc --quiet --package tradepost --bin tradepost)
        SERVER=../target/release/tradepost
    fi
    if ! path=$(command -v "$SERVER"); then
        echo "SERVER is $SERVER: neither a program at this path, seen from the folder bench, nor one on the PATH" >&2
        exit 1
    fi
    SERVER=$path
}

# Names the machine above a table, because figures of two machines cannot be compared. Whether it is a virtual one is told on
# x86 alone, where a flag of the processor says it.
machine() {
    local model virtual=
    model=$(awk '/^model name/ { sub(/[^:]*: */, ""); print; exit }' /proc/cpuinfo)
    if grep -qw '^flags.* hypervisor' /proc/cpuinfo; then
        virtual=', virtual machine'
    elif grep -q '^flags' /proc/cpuinfo; then
        virtual=', not virtual'
    fi
    echo "machine: ${model:-$(uname -m)}, $(nproc) cores, kernel $(uname -r)$virtual"
    echo
}

# Server and load each get a core, when there are two: otherwise the scheduler decides the result.
on_core() { local core=$1; shift; if [ "$PIN" = 1 ]; then exec taskset -c "$core" "$@"; else exec "$@"; fi; }
if ! command -v taskset >/dev/null || [ "$(nproc)" -lt 2 ]; then PIN=0; fi

# Starts a server and waits for the line that says where it listens.
start() {
    local name=$1; shift
    : >"$work/$name.out"
    (on_core 0 "$@") >>"$work/$name.out" 2>>"$work/$name.log" &
    pids+=($!)
    printf -v "$name" %s $!
    local try
    for ((try = 0; try < 1200; try++)); do
        if grep -q '^listening on ' "$work/$name.out"; then
            printf -v "${name}_address" %s "$(sed -n 's#^listening on http://##p' "$work/$name.out")"
            return
        fi
        kill -0 $! 2>/dev/null || break
        sleep 0.1
    done
    echo "$name did not start" >&2
    cat "$work/$name.log" >&2
    exit 1
}
