"""A stand-in for a server with a chat model, on loopback: it speaks the OpenAI protocol. Standard library only."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ScriptedServer:
    """Answers with the words of the question in capitals, after as many failures as it is told."""

    failures: list[int] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    content: str | None = None
    url: str = ""

    def answer(self, question: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body for a question, which holds `path` and `key` besides."""
        self.asked.append(question)
        if self.failures:
            return self.failures.pop(0), {"error": {"message": "not now"}}
        message = {"role": "assistant", "content": self.reply(question)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return 200, {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}

    def reply(self, question: dict[str, Any]) -> str:
        return question["messages"][-1]["content"].upper() if self.content is None else self.content


@contextmanager
def running(scripted: ScriptedServer) -> Iterator[ScriptedServer]:
    """The server, listening at its `url` meanwhile."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, reply = scripted.answer({**question, "path": self.path, "key": self.headers["Authorization"]})
            body = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("retry-after-ms", "1")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    scripted.url = f"http://127.0.0.1:{http.server_port}/v1"
    try:
        yield scripted
    finally:
        http.shutdown()
        http.server_close()
