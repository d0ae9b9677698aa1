"""Crowds: connections on which nothing is asked, and requests that never end."""

import resource
import socket
import struct
import threading
import time

from harness import envelope, eventually

CROWD = "127.0.0.2"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
INFORMATION = envelope({"type": "dealer.information.request"}).encode()


def idle(bench):
    """4500 connections of one address stay and ask nothing: everybody else is answered."""
    wanted = 4_500 + 200
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        bench.skip("4500 connections", f"a process may have {hard} open files")
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        operator = free.getsockname()
    server = bench.start(f'operator_listen = "127.0.0.1:{operator[1]}"')
    crowd = []
    try:
        for _ in range(4_500):
            connection = socket.create_connection(server.address, 30, (CROWD, 0))
            connection.sendall(HEALTH)
            crowd.append(connection)
        bench.check("somebody else is answered at once", server.alive())
        bench.check("and so is the operator", asked(operator, HEALTH).startswith(b"HTTP/1.1 200"))
        bench.check("a lead is taken", server.lead("one").error is None)
        kept = sum(is_open(connection) for connection in crowd)
        bench.check("one address has its share of them", kept <= 256, kept)
    finally:
        for connection in crowd:
            connection.close()
    bench.check("it ends well", server.stop() == 0)


def asked(address, request):
    """What comes back first."""
    with socket.create_connection(address, 5) as connection:
        connection.sendall(request)
        return connection.recv(65_536)


def is_open(connection):
    """Whether nobody has ended it; what was answered before is read away."""
    connection.setblocking(False)
    try:
        while connection.recv(65_536):
            pass
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def frame(kind, flags, stream, payload=b""):
    """A frame of HTTP/2 (RFC 9113 §4.1)."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def text(value):
    """A string of HPACK without Huffman's code (RFC 7541 §5.2)."""
    return bytes([len(value)]) + value


# POST, http, and by the static table's names :path, :authority and content-type (RFC 7541, appendix A).
HEADERS = b"\x83\x86\x04" + text(b"/a2a") + b"\x01" + text(b"x") + b"\x0f\x10" + text(b"application/json")


def unfinished(bench):
    """2500 requests on 25 connections send most of a body and never its end: memory stays bounded."""
    server = bench.start()
    before = memory(server)
    crowd = []
    try:
        for _ in range(25):
            connection = socket.create_connection(server.address, 30, (CROWD, 0))
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
            crowd.append(connection)
        for stream in range(1, 200, 2):
            for connection in crowd:
                sent(connection, frame(1, 4, stream, HEADERS))
        for _ in range(4):  # 64 KiB each, as far as the server's windows and patience let them.
            for stream in range(1, 200, 2):
                for connection in crowd:
                    sent(connection, frame(0, 0, stream, b" " * 16_384))
        grown = memory(server) - before
        bench.check("memory stays below its share and what connections need", grown < 200_000, f"{grown} KiB")
        bench.check("somebody else is answered at once", server.alive())
        bench.check("and his request is read", server.ask().error is None)
        bench.check("a lead is taken", server.lead("one").error is None)
    finally:
        for connection in crowd:
            connection.close()
    back = eventually(lambda: memory(server) - before < max(grown // 2, 40_000), 60)
    bench.check("memory is given back", back, f"{memory(server) - before} of {grown} KiB")
    bench.check("it ends well", server.stop() == 0)


def sent(connection, data):
    """Sends what the server takes: whom it has shut out is out."""
    connection.settimeout(0.5)
    try:
        connection.sendall(data)
    except OSError:
        pass


def memory(server):
    """The server's resident memory in KiB."""
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def trickled(bench):
    """A body comes byte by byte for as long as it may: it is ended, and nobody waits for it."""
    server = bench.start('read_timeout = "1s"')
    head = b"POST /a2a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    slow = [socket.create_connection(server.address, 30, (CROWD, 0)) for _ in range(50)]
    try:
        for connection in slow:
            connection.sendall(head % len(INFORMATION) + INFORMATION[:10])
        answered, ended, until = True, [], time.monotonic() + 60
        while len(ended) < len(slow) and time.monotonic() < until:
            answered = answered and server.alive()
            for connection in slow:
                sent(connection, b" ")
            ended = [connection for connection in slow if not is_open(connection)]
            time.sleep(0.2)
        bench.check("others are answered all the while", answered)
        bench.check("all of them are ended", len(ended) == len(slow), len(ended))
    finally:
        for connection in slow:
            connection.close()
    bench.check("it ends well", server.stop() == 0)


def forms(bench):
    """200 slow forms of one address at the console: everybody else is answered within a second."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        console = free.getsockname()
    server = bench.start(f'\n[server.console]\nlisten = "127.0.0.1:{console[1]}"')
    head = (
        b"POST /console/sign-in HTTP/1.1\r\nHost: x\r\nCookie: tradepost-form=x\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n"
    )
    is_over = threading.Event()

    def send_slowly():
        while not is_over.is_set():
            try:
                with socket.create_connection(console, 30, (CROWD, 0)) as connection:
                    connection.settimeout(1)
                    connection.sendall(head)
                    for _ in range(1_000):
                        connection.sendall(b"a")
                        if is_over.wait(0.3):
                            return
            except OSError:
                is_over.wait(0.3)

    crowd = [threading.Thread(target=send_slowly) for _ in range(200)]
    for member in crowd:
        member.start()
    try:
        is_over.wait(3)
        asked_for = {
            "a page": b"GET /console/sign-in HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            "a form": head.replace(b"1000", b"7").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
            + b"name=me",
        }
        for what, request in asked_for.items():
            waits = sorted(waited(console, request) for _ in range(15))
            median = waits[len(waits) // 2]
            bench.check(f"{what} is answered within a second at the median", median < 1, f"{median:.1f} s")
        bench.check("buyers notice nothing", server.alive())
    finally:
        is_over.set()
        for member in crowd:
            member.join()
    bench.check("it ends well", server.stop() == 0)


def waited(address, request):
    """How many seconds an answer takes; nobody waits for longer than five."""
    began = time.monotonic()
    answer = b""
    try:
        with socket.create_connection(address, 5) as connection:
            connection.settimeout(5)
            connection.sendall(request)
            while piece := connection.recv(65_536):
                answer += piece
    except socket.timeout:
        return time.monotonic() - began
    if not answer.startswith(b"HTTP/1.1 200") and not answer.startswith(b"HTTP/1.1 401"):
        raise RuntimeError(answer[:200])
    return time.monotonic() - began
