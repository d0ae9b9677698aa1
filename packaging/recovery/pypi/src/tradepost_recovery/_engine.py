"""The engine in WebAssembly: a JSON document in, a JSON document out. It has no imports."""

import json
import threading
from functools import cache
from importlib.resources import files
from typing import Any, cast

import wasmtime

from ._types import Input, Output, Problem


class InvalidInput(ValueError):
    """Input that the engine does not understand; ``problems`` has every problem of it."""

    def __init__(self, problems: list[Problem]) -> None:
        said = (f"{problem['pointer'] or 'the input'}: {problem['message']}" for problem in problems)
        super().__init__("; ".join(said))
        self.problems = problems


class RecoveryEngine:
    """The recovery engine. Threads may share one; their calls take turns."""

    def __init__(self) -> None:
        engine = wasmtime.Engine()
        module = wasmtime.Module(engine, files(__package__).joinpath("recovery.wasm").read_bytes())
        self._store = wasmtime.Store(engine)
        self._exports = wasmtime.Instance(self._store, module, []).exports(self._store)
        self._memory = cast(wasmtime.Memory, self._exports["memory"])
        self._lock = threading.Lock()

    def advise(self, input: Input) -> Output:
        """Returns the failure in an answer and the advice on it; both are None where it is no failure.

        Raises InvalidInput when the input is not understood.
        """
        output = json.loads(self._answer(json.dumps(input).encode()))
        if "problems" in output:
            raise InvalidInput(output["problems"])
        return cast(Output, output)

    def _answer(self, request: bytes) -> bytes:
        with self._lock:
            address = self._call("tradepost_reserve", len(request))
            if address == 0:
                raise ValueError(f"the input has {len(request)} bytes, which is too long")
            self._memory.write(self._store, request, address)
            length = self._call("tradepost_advise")
            start = self._call("tradepost_answer")
            return bytes(self._memory.read(self._store, start, start + length))

    def _call(self, name: str, *arguments: int) -> int:
        function: Any = self._exports[name]
        # Addresses are unsigned; wasmtime returns signed numbers.
        return int(function(self._store, *arguments)) & 0xFFFF_FFFF


@cache
def _shared() -> RecoveryEngine:
    return RecoveryEngine()


def advise(input: Input) -> Output:
    """Returns the failure in an answer and the advice on it; both are None where it is no failure.

    Raises InvalidInput when the input is not understood.
    """
    return _shared().advise(input)
