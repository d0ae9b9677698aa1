"""Every public vector comes to what it says. VECTORS is the folder; without it, that of the repository."""

import json
import os
import sys
import threading
import typing
import unittest
from pathlib import Path
from typing import Any

import tradepost_recovery
from tradepost_recovery import InvalidInput, RecoveryEngine, advise

VECTORS = Path(os.environ.get("VECTORS", Path(__file__).resolve().parents[4] / "vectors"))


def read(name: str) -> Any:
    return json.loads((VECTORS / name).read_text())


class Vectors(unittest.TestCase):
    """Has a test for each vector."""


def _test_of(vector: dict[str, Any]) -> Any:
    def test(self: unittest.TestCase) -> None:
        self.assertEqual(advise(vector["input"]), vector["expect"])

    return test


for _name in ["a2a.json", "aap.json", "adcp.json"]:
    for _vector in read(_name)["vectors"]:
        setattr(Vectors, f"test_{_vector['id']}", _test_of(_vector))


class Package(unittest.TestCase):
    def test_an_input_that_is_not_understood_lists_every_problem(self) -> None:
        with self.assertRaises(InvalidInput) as raised:
            advise(typing.cast(Any, {"binding": "soap", "stauts": 1}))
        pointers = [problem["pointer"] for problem in raised.exception.problems]
        self.assertEqual(pointers, ["/binding", "/stauts"])
        with self.assertRaises(InvalidInput):
            advise(typing.cast(Any, None))

    def test_an_answer_of_eight_megabytes_and_one_beyond_are_read(self) -> None:
        def kind(length: int) -> Any:
            failure = advise({"binding": "text", "body": "x" * length})["failure"]
            return failure and failure["kind"]

        self.assertEqual(kind(8 << 20), "refused")
        self.assertEqual(kind((8 << 20) + 1), "garbled")
        with self.assertRaises(ValueError):
            kind(65 << 20)
        # The engine is as it was.
        self.assertEqual(kind(1), "refused")

    def test_threads_share_an_engine(self) -> None:
        engine = RecoveryEngine()
        wrong: list[Any] = []

        def ask(status: int) -> None:
            for _ in range(50):
                failure = engine.advise({"binding": "http_json", "status": status})["failure"]
                if failure is None or failure.get("code") != str(status):
                    wrong.append(failure)

        threads = [threading.Thread(target=ask, args=(status,)) for status in (400, 404, 429, 503)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_the_types_have_every_word_of_the_schema(self) -> None:
        defs = read("vector.schema.json")["$defs"]
        kinds = defs["advice"]["oneOf"]
        words = {kind["properties"]["action"]["const"]: kind["properties"] for kind in kinds}
        for alias, expected in [
            (tradepost_recovery.Binding, defs["input"]["properties"]["binding"]["enum"]),
            (tradepost_recovery.TransportError, defs["input"]["properties"]["transport_error"]["enum"]),
            (tradepost_recovery.Change, words["fix"]["change"]["enum"]),
            (tradepost_recovery.AskReason, words["ask"]["reason"]["enum"]),
            (tradepost_recovery.StopReason, words["stop"]["reason"]["enum"]),
        ]:
            self.assertEqual(list(typing.get_args(alias)), expected)
        for kind, schema in [
            (tradepost_recovery.Input, defs["input"]),
            (tradepost_recovery.Attempt, defs["attempt"]),
            (tradepost_recovery.Tried, defs["attempt"]["properties"]["tried"]),
            (tradepost_recovery.Budget, defs["budget"]),
            (tradepost_recovery.Failure, defs["failure"]),
            (tradepost_recovery.Wait, defs["wait"]),
        ]:
            self.assertEqual(set(typing.get_type_hints(kind)), set(schema["properties"]))
        members = {name for properties in words.values() for name in properties}
        self.assertEqual(set(typing.get_type_hints(tradepost_recovery.Advice)), members)

    def test_the_package_is_typed(self) -> None:
        self.assertTrue((Path(tradepost_recovery.__file__).parent / "py.typed").is_file())


if __name__ == "__main__":
    outcome = unittest.main(exit=False, verbosity=0).result
    sys.stderr.flush()
    failed = len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
