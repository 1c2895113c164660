"""A model on loopback that asks for a tool a given number of times and then answers; its own process.

usage: python benchmarks/loopback_model.py; prints its port. The number of steps is in the model's name:
`steps-30`. A request with N tool results gets call N + 1, or the answer when N has reached it.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """One chat completion, streamed when asked for."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        done = sum(message["role"] == "tool" for message in request["messages"])
        steps = int(request["model"].rsplit("-", 1)[1])
        message: dict[str, Any] = {"role": "assistant", "content": "done" if done >= steps else None}
        if done < steps:
            function = {"name": "step", "arguments": json.dumps({"n": done})}
            message["tool_calls"] = [
                {"index": 0, "id": f"call_{done}", "type": "function", "function": function}
            ]
        finish = "stop" if done >= steps else "tool_calls"
        self._send(self._stream(message, finish) if request.get("stream") else self._whole(message, finish))

    def _whole(self, message: dict[str, Any], finish: str) -> tuple[str, bytes]:
        choice = {"index": 0, "message": message, "finish_reason": finish}
        body = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [choice],
            "usage": _USAGE,
        }
        return "application/json", json.dumps(body).encode()

    def _stream(self, message: dict[str, Any], finish: str) -> tuple[str, bytes]:
        head = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m"}
        chunks = [
            head | {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            head | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            head | {"choices": [], "usage": _USAGE},
        ]
        text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        return "text/event-stream", text.encode()

    def _send(self, answer: tuple[str, bytes]) -> None:
        kind, body = answer
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Silent: only the port is printed."""


_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        """No delay between the head and the body of an answer."""
        super().server_bind()


_Handler.wbufsize = -1  # one write an answer; else Nagle and delayed ACKs cost 40 ms


if __name__ == "__main__":
    server = _Server(("127.0.0.1", 0), _Handler)
    print(server.server_port, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)
