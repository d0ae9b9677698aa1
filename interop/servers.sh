# To be sourced by the scripts that start servers.

# Waits until a server has written where it listens, and prints the address; prints nothing when the server has ended or
# the time is over: url=$(listening_on PROCESS OUTPUT [TENTHS_OF_A_SECOND])
listening_on() {
  local process=$1 output=$2 tenths=${3:-100}
  for _ in $(seq "$tenths"); do
    grep -q '^listening on ' "$output" && break
    kill -0 "$process" 2>/dev/null || break
    sleep 0.1
  done
  sed -n 's/^listening on \([^ ]*\).*/\1/p' "$output" | head -n 1
}

# Prints a port of this machine that nothing listens on.
free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
