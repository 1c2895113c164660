"""A real llama.cpp server: `python -m tests.e2e.llama_server MODEL_FILE KEY`; prints its address."""

import sys

import xllamacpp


def main(file: str, key: str) -> None:
    """Serve until the parent closes our standard input."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = file
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = 8192
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1  # two would spin against the tests beside them
    parameters.use_jinja = True
    parameters.api_keys = [key]
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
