"""What happens to the log."""

import re
import socket
import subprocess
import threading


MISSING = "lines of the log could not be written and are missing"


def closed(bench):
    """Nobody reads the log any more: it ends nothing."""
    server = bench.start(stderr=subprocess.PIPE)
    server.process.stderr.close()
    for _ in range(3):
        refused = server.request("POST", "/a2a", "{")
        bench.check("a refused request is answered", refused.error == -32700, refused)
    bench.check("a lead is taken", server.lead("one").error is None)
    bench.check("it ends well", server.stop() == 0)


def burst(server, count, request):
    """Sends requests on one connection without waiting for answers; gives what comes back."""
    with socket.create_connection(server.address, timeout=30) as connection:
        sent = request * (count - 1) + request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
        sending = threading.Thread(target=connection.sendall, args=(sent,))
        sending.start()
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
        sending.join()
    return answer


def stalled(bench):
    """The log's reader stalls: nobody waits for it, and it hears how much it has missed."""
    server = bench.start('log_filter = "debug"', stderr=subprocess.PIPE)
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    answered = sum(burst(server, 1_000, request).count(b'"live"') for _ in range(20))
    bench.check("20000 requests are answered", answered == 20_000, answered)
    bench.check("it is alive", server.alive())
    bench.check("a lead is taken", server.lead("one").error is None)
    text = []
    reading = threading.Thread(target=lambda: text.append(server.process.stderr.read()))
    reading.start()
    bench.check("it ends well", server.stop() == 0)
    reading.join()
    missing = re.findall(MISSING + r" lines=(\d+)", text[0])
    bench.check("the log says how many lines are missing", sum(map(int, missing)) > 10_000, missing)


def flooded(bench):
    """A caller is refused 20000 times: each is counted, and few are written."""
    server = bench.start(requests=100)
    body = b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m",' \
        b'"role":"ROLE_USER","parts":[{"data":{"type":"dealer.information.request"}}]}}}'
    head = b"POST /a2a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    head %= len(body)
    answers = b""
    for _ in range(20):
        last = head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + body
        with socket.create_connection(server.address, timeout=60) as connection:
            sent = (head + body) * 999 + last
            sending = threading.Thread(target=connection.sendall, args=(sent,))
            sending.start()
            while chunk := connection.recv(65_536):
                answers += chunk
            sending.join()
    refused = answers.count(b'"code":"RATE_LIMITED"')
    bench.check("requests beyond the limit are refused", refused >= 19_800, refused)
    bench.check("it is alive", server.alive())
    bench.check("it ends well", server.stop() == 0)
    lines = server.log().splitlines()
    counted = sum(int(n) for line in lines if "RATE_LIMITED" in line
                  for n in re.findall(r"requests=(\d+)", line))
    bench.check(f"{refused} refusals are counted", counted == refused, counted)
    bench.check("and not written one by one", len(lines) < 100, len(lines))
