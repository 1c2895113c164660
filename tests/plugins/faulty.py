"""A plugin by hand with one fault, named on the command line; without one it keeps to the protocol."""

import json
import os
import sys
import threading
import time

FAULT = sys.argv[1]
LOCK = threading.Lock()
STOPPED: set[str] = set()
DESCRIPTORS: list[int] = []
ARENA = 0


def write(text: str) -> None:
    with LOCK:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def send(**frame: object) -> None:
    write(json.dumps({"jsonrpc": "2.0", **frame}))


def refuse(number: object, code: int, message: str) -> None:
    send(id=number, error={"code": code, "message": message})


def initialize(number: object, params: dict) -> None:
    global ARENA  # noqa: PLW0603
    if params["protocol"] != 1 and FAULT != "any version":
        refuse(number, -32000, "this plugin speaks protocol 1")
        return
    ARENA = params["arena"]["descriptor"]
    send(id=number, result={"protocol": 2 if FAULT == "protocol" else params["protocol"], "arena": "rw"})


def start(number: object, params: dict) -> None:
    send(id=number, result={})
    for _ in range({"ready twice": 2}.get(FAULT, 1)):
        send(method="ready", params={"facilities": [] if FAULT == "no facility" else ["echo"]})


def call(number: int, params: dict) -> None:
    name = params["tool"]
    if name not in ("echo", "wait"):
        no_such_tool(number)
        return
    given = arguments(params)
    if name == "wait" and given["seconds"] > 1:
        wait(params["call"])
    if FAULT == "descriptors":
        DESCRIPTORS.append(os.open("/dev/null", os.O_RDONLY))
    if FAULT == "no answer" and number in (50, 51):
        return
    text = given.get("text", "")[:70_000] + ("\0" if FAULT == "nul" else "")
    answer = {"text": len(text) if FAULT == "number" else text, "stopped": params["call"] in STOPPED}
    for _ in range(2 if FAULT == "two answers" else 1):
        send(id=number, result=answer)
    if FAULT == "print":
        write("I did it")


def no_such_tool(number: int) -> None:
    if FAULT == "no error":
        send(id=number, result={"text": "fine"})
    elif FAULT == "wrong error":
        send(id=number, result={"error": {"reason": "oops", "detail": "no tool"}})
    else:
        refuse(number, -32601, "there is no such tool")


def wait(name: str) -> None:
    if FAULT == "busy loop":
        time.sleep(30)
    while name not in STOPPED or FAULT == "no cancel":
        time.sleep(0.02)


def arguments(params: dict) -> dict:
    at = params.get("arguments_at")
    if at is None or FAULT == "no arena":
        return params.get("arguments", {"text": "", "seconds": 1})
    return json.loads(os.pread(ARENA, at["size"], at["offset"]))


def stage(number: object, params: dict) -> None:
    action = {"outcome": "maybe", "rewrite": "rewrite"}.get(FAULT, "pass")
    send(id=number, result={"action": action, "payload": {"text": ""}})


def answered(frame: dict) -> None:
    number, method, params = frame["id"], frame["method"], frame.get("params", {})
    if isinstance(number, str) and FAULT == "ids":
        number = 1
    if method == "initialize":
        initialize(number, params)
    elif method == "start":
        start(number, params)
    elif method == "ping" or (method == "stop" and FAULT != "no stop"):
        send(id=number, result={})
    elif method == "tool.call" and FAULT == "busy loop":
        call(number, params)
    elif method == "tool.call":
        threading.Thread(target=call, args=(number, params), daemon=True).start()
    elif method == "stage.run":
        stage(number, params)
    elif FAULT == "any method":
        send(id=number, result={})
    elif method != "stop":
        refuse(number, -32601, "there is no such method")


def lines():
    """Each read counts as whole lines under the fault `pieces`."""
    if FAULT == "pieces":
        while data := os.read(0, 1_000_000):
            yield data
    elif FAULT == "short lines":
        while line := sys.stdin.buffer.readline(100_000):
            yield line
    else:
        yield from sys.stdin.buffer


for raw in lines():
    try:
        received = json.loads(raw)
        known = received.get("jsonrpc") == "2.0"
    except (ValueError, AttributeError):
        known = False
        if FAULT == "garbage":
            raise
    if not known:
        refuse(None, -32700, "this is no frame")
    elif "id" in received and "method" in received:
        answered(received)
    elif received.get("method") == "tool.cancel":
        STOPPED.add(received["params"]["call"])
if FAULT == "no end":
    time.sleep(30)
os._exit(0)
