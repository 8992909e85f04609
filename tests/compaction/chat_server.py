"""A chat endpoint on loopback that answers as it is told: well, badly, slowly, or never."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """Does what the next of the server's answers does; the last one is repeated."""

    server: "Server"

    def do_POST(self) -> None:
        """Note the request and answer it."""
        server = self.server
        body = self.rfile.read(int(self.headers["content-length"]))
        with server.lock:
            at = min(len(server.requests), len(server.answers) - 1)
            server.requests.append((self.path, dict(self.headers), json.loads(body)))
        with suppress(BrokenPipeError, ConnectionResetError):  # the client has gone, as it should
            server.answers[at](self)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the library's name)
        """Keep quiet."""


class Server(ThreadingHTTPServer):
    """What it was asked, and what it is to answer."""

    daemon_threads = True
    answers: list[Callable[[Handler], None]]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.lock = threading.Lock()
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        """Give the base URL."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


def reply(
    text: Any = "They talked.", *, finish: str = "stop", status: int = 200, **headers: str
) -> Callable[[Handler], None]:
    """Answer with a chat completion."""
    body = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}]}
    return raw(json.dumps(body).encode(), status=status, **headers)


def raw(body: bytes, *, status: int = 200, **headers: str) -> Callable[[Handler], None]:
    """Answer with these bytes."""

    def answer(handler: Handler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def error(status: int, message: str = "no", **headers: str) -> Callable[[Handler], None]:
    """Answer with an error as such servers word it."""
    return raw(json.dumps({"error": {"message": message}}).encode(), status=status, **headers)


def truncated(handler: Handler) -> None:
    """Promise more bytes than come."""
    handler.send_response(200)
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def slowly(handler: Handler) -> None:
    """Send a byte now and then: no read ever times out."""
    handler.send_response(200)
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    while not handler.server.closing.wait(0.02):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def never(handler: Handler) -> None:
    """Say nothing."""
    handler.server.closing.wait(30)


@contextmanager
def serving(*answers: Callable[[Handler], None]) -> Iterator[Server]:
    """Run a server with these answers, one after the other."""
    server = Server()
    server.answers = list(answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
