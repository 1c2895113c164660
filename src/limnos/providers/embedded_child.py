"""The child process that runs the embedded model: `python -I -m limnos.providers.embedded_child`.

It reads one JSON object a line from standard input and writes one a line to standard output, which is the
pair of frames in `embedded_runtime`. It has no network: it leaves the network namespace where the system
lets it, and llama.cpp's own server listens on a Unix socket in a private folder with a random key. Only
the fields named here reach llama.cpp.
"""

import ctypes
import hashlib
import json
import os
import queue
import secrets
import socket
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from limnos import lazy

Frame: TypeAlias = dict[str, Any]

_BATCH = 256  # tokens between two looks at a cancellation: 3 s of the default model on two cores
_PROMPT_CACHE_MIB = 256
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000


def leave_network() -> bool:
    """Move to an empty network namespace; False where the system refuses."""
    if sys.platform != "linux":
        return False
    unshare = ctypes.CDLL(None).unshare
    return unshare(_CLONE_NEWNET) == 0 or unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0


class Out:
    """Standard output as a list of frames. What libraries print goes to standard error."""

    def __init__(self) -> None:
        self._file = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def send(self, **frame: Any) -> None:
        """Write one frame. The process ends when nobody reads any more."""
        try:
            self._file.write(json.dumps(frame) + "\n")
            self._file.flush()
        except BrokenPipeError:
            os._exit(0)


class Inbox:
    """Frames from standard input, read by a thread so that a cancellation is seen during a reply."""

    def __init__(self) -> None:
        self.frames: queue.SimpleQueue[Frame] = queue.SimpleQueue()
        self.cancelled: set[int] = set()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin.buffer:
            frame = json.loads(line)
            if frame["op"] == "cancel":
                self.cancelled.add(frame["id"])
            else:
                self.frames.put(frame)
        os._exit(0)  # the parent is gone or done with us


class Engine:
    """A loaded model with one slot, whose cache is kept between requests."""

    def __init__(self, order: Frame) -> None:
        self._folder = Path(order["folder"])
        self._states = Path(order["states"])
        self._key = secrets.token_urlsafe(24)
        self._socket = str(self._folder / "llama.sock")
        self._context: int = order["context"]
        library: Any = lazy.xllamacpp
        self._server = library.Server(self._parameters(library.CommonParams(), order))
        self._tokens = lru_cache(maxsize=512)(self._tokenize)

    def _parameters(self, params: Any, order: Frame) -> Any:
        params.model.path = order["model"]
        params.hostnames = [self._socket]
        params.api_keys = [self._key]
        params.n_ctx = order["context"]
        params.n_parallel = 1
        params.n_batch = params.n_ubatch = _BATCH
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = order["threads"]
        params.cache_ram_mib = _PROMPT_CACHE_MIB
        params.slot_save_path = f"{self._states}/"
        params.endpoint_slots = True
        params.ctx_shift = params.fit_params = params.ui = params.use_jinja = False
        params.offline = True
        params.verbosity = 0
        return params

    def generate(self, frame: Frame, inbox: Inbox, out: Out) -> None:
        """Answer one request with `progress` and `text` frames and one `end` or `error` frame."""
        number = frame["id"]
        tokens = self._encode(frame["prompt"])
        room = self._context - frame["max_tokens"]
        if len(tokens) > room:
            out.send(type="overflow", id=number, tokens=len(tokens), room=room)
            return
        body = {
            "prompt": tokens,
            "max_tokens": frame["max_tokens"],
            "temperature": frame["temperature"],
            "seed": frame["seed"],
            "grammar": frame["grammar"],
            "cache_prompt": True,
            "id_slot": 0,
            "stream": True,
            "return_progress": True,
            "stream_options": {"include_usage": True},
        }
        relay = Relay(number, inbox, out)
        self._server.handle_completions(body, relay.take)
        relay.close()

    def warm(self, frame: Frame, inbox: Inbox, out: Out) -> None:
        """Have the prefix in the cache: from the state kept on disk, or computed and then kept there."""
        tokens = self._encode(frame["prompt"])
        kept = self._restore(frame["state"])
        body = {
            "prompt": tokens,
            "max_tokens": 0,
            "cache_prompt": True,
            "id_slot": 0,
            "stream": True,
            "return_progress": True,
        }
        relay = Relay(frame["id"], inbox, out)
        self._server.handle_completions(body, relay.take)
        if not kept and not relay.stopped and not relay.error:
            self._save(frame["state"])
        relay.close()

    def _encode(self, prompt: list[list[Any]]) -> list[int]:
        tokens: list[int] = []
        for text, trusted in prompt:
            tokens += self._tokens(text, trusted)
        return tokens

    def _tokenize(self, text: str, trusted: bool) -> tuple[int, ...]:
        # role marks in what people, files and tools say stay plain text
        body = {"content": text, "add_special": False, "parse_special": trusted}
        return tuple(self._post("/tokenize", body)["tokens"])

    def _restore(self, name: str) -> bool:
        state, digest = self._states / name, self._states / f"{name}.sha256"
        try:
            whole = hashlib.sha256(state.read_bytes()).hexdigest() == digest.read_text()
        except OSError:
            return False
        return whole and "n_restored" in self._post("/slots/0?action=restore", {"filename": name})

    def _save(self, name: str) -> None:
        state, digest = self._states / name, self._states / f"{name}.sha256"
        digest.unlink(missing_ok=True)
        if "n_saved" in self._post("/slots/0?action=save", {"filename": name}):
            digest.write_text(hashlib.sha256(state.read_bytes()).hexdigest())

    def _post(self, path: str, body: Frame) -> Frame:
        """One request to llama.cpp's server in this process; a refusal is its error object."""
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: llama\r\nAuthorization: Bearer {self._key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
        )
        with socket.socket(socket.AF_UNIX) as wire:
            wire.settimeout(60)
            wire.connect(self._socket)
            wire.sendall(head.encode() + data)
            with wire.makefile("rb") as answer:
                return json.loads(answer.read().partition(b"\r\n\r\n")[2])


class Relay:
    """Passes on what llama.cpp says about one request."""

    def __init__(self, number: int, inbox: Inbox, out: Out) -> None:
        self._number = number
        self._inbox = inbox
        self._out = out
        self._usage: Frame = {}
        self._reason: str = ""
        self.error = ""
        self.stopped = False

    def take(self, chunk: Frame) -> bool:
        """Called by llama.cpp for each piece; True stops it."""
        if self._number in self._inbox.cancelled:
            self.stopped = True
            return True
        if "error" in chunk or "choices" not in chunk:
            error: Frame = chunk.get("error", chunk)
            self.error = str(error.get("message", error))[:500]
            return True
        if progress := chunk.get("prompt_progress"):
            self._out.send(
                type="progress", id=self._number, done=progress["processed"], total=progress["total"]
            )
        choice: Frame = chunk["choices"][0] if chunk["choices"] else {}
        if choice.get("text"):
            self._out.send(type="text", id=self._number, text=choice["text"])
        self._reason = choice.get("finish_reason") or self._reason
        self._usage = chunk.get("usage") or self._usage
        return False

    def close(self) -> None:
        """Write the last frame."""
        if self.error:
            self._out.send(type="error", id=self._number, detail=self.error)
            return
        cached = self._usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
        self._out.send(
            type="end",
            id=self._number,
            reason="cancelled" if self.stopped else self._reason,
            prompt_tokens=self._usage.get("prompt_tokens", 0),
            completion_tokens=self._usage.get("completion_tokens", 0),
            cached_tokens=cached,
        )


def main() -> None:
    """Load the model named by the first frame, then serve requests until standard input ends."""
    isolated = leave_network()
    out = Out()
    order = json.loads(sys.stdin.buffer.readline())
    try:
        engine = Engine(order)
    except (RuntimeError, ValueError, MemoryError) as error:
        out.send(type="refused", detail=str(error))
        os._exit(1)
    inbox = Inbox()
    out.send(type="ready", isolated=isolated)
    while True:
        frame = inbox.frames.get()
        work = engine.warm if frame["op"] == "warm" else engine.generate
        work(frame, inbox, out)


if __name__ == "__main__":
    main()
