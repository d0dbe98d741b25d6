"""The package, and a module that is generated, hold under `mypy --strict`, where mypy is installed."""

import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

from counter import METHODS, described
from test_generate import APART, NAMES

from tidings_client import generate

HERE = pathlib.Path(__file__).parents[1]

USE = '''
from collections.abc import Iterator

from generated import Counter, Event, EventSold, Kind, Listener
from tidings_client import Call, Link, Streaming


class Ear:
    def heard(self, event: Event) -> None: ...

    def from_(self) -> Kind:
        return Kind.Tea


def use(link: Link) -> Iterator[int]:
    counter: Counter = link.get(Counter, "counter")
    counter.add(7)
    answer: Call[int] = counter.get()
    counter.join(Listener.start(Ear())).result().add(answer.result())
    counter.total(Streaming([1, 2, 3]))
    yield from counter.count(5).result()
'''


@unittest.skipIf(importlib.util.find_spec("mypy") is None, "mypy is not installed")
class Types(unittest.TestCase):
    def check(self, *arguments):
        command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder)
        return done.returncode, done.stdout + done.stderr

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "tidings_client").symlink_to(HERE / "tidings_client")
        for name, methods in (("generated", METHODS), ("names", NAMES), ("apart", APART)):
            (self.folder / f"{name}.py").write_text(generate.generate(described(methods)))

    def test_the_package_and_a_generated_module_and_its_use_are_strictly_typed(self):
        (self.folder / "use.py").write_text(USE)
        modules = [part for name in ("generated", "names", "apart", "use") for part in ("-m", name)]
        code, said = self.check("-p", "tidings_client", *modules)
        self.assertEqual(code, 0, said)

    def test_a_wrong_use_is_found(self):
        (self.folder / "use.py").write_text(USE.replace("counter.add(7)", 'counter.add("7")'))
        code, said = self.check("-m", "use")
        self.assertEqual(code, 1)
        self.assertIn('has incompatible type "str"; expected "int"', said)


if __name__ == "__main__":
    unittest.main()
