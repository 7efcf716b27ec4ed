"""Results of measurements in a file, so that an experiment can go on after an interruption.

The file is a journal of JSON lines. Its first lines say what it is of: the experiment, the code
of this package and the data, by their fingerprints. Each further line is one measurement: the
function, its arguments and what it gave. A result is on the disk before the next one is begun, so
whatever ends the process, no finished measurement is lost. A file of another experiment, other
code or other data is refused. Of a damaged one the whole results are kept, and a copy is put
aside.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import semisvm
from papers.plans import Call
from semisvm.labelling.journal import Journal, Line
from semisvm.tables import DataError

FILES = ("X.npz", "X.npy", "y.npy", "splits.npz")
"""What a data set is read from."""
ABOUT, RESULT = "experiment", "result"
OTHERS = {
    "experiment": "{was!r}, not of {now!r}",
    "version": "semisvm {was}, and this is {now}",
    "code": "other code of semisvm: a file of the package has changed since",
    "data": "other data: a file of the data sets has changed since",
}
"""What a file may be of, by what it was written with."""
ANEW = "Name another file, or delete this one to begin anew."
CODE = (Path(semisvm.__file__).parent, Path(__file__).parent)


def source_fingerprint() -> str:
    """Return the SHA-256 of the code of semisvm and of the experiments."""
    found = hashlib.sha256()
    for folder in CODE:
        for path in sorted(folder.rglob("*.py")):
            found.update(f"{path.relative_to(folder).as_posix()};".encode())
            found.update(path.read_bytes())
    return found.hexdigest()


def data_fingerprint(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of the files of every data set that the folder has."""
    return {name: _of_set(folder / name) for name in names if (folder / name).is_dir()}


def _of_set(place: Path) -> str:
    found = hashlib.sha256()
    for path in (place / name for name in FILES if (place / name).exists()):
        with path.open("rb") as stream:
            found.update(f"{path.name};".encode() + hashlib.file_digest(stream, "sha256").digest())
    return found.hexdigest()


def key_of(measure: Callable[..., Any], call: Call) -> str:
    """Name a measurement: the function and its arguments, as JSON."""
    return json.dumps([f"{measure.__module__}.{measure.__qualname__}", *call])


class KeptResults(Journal):
    """Results in a file, locked by this process.

    Parameters
    ----------
    path : Path
        Created if it is not there.
    about : dict of JSON data
        What the results depend on.

    Attributes
    ----------
    results : dict
        What the file had: results and processor seconds, by the keys of `key_of`.

    Raises
    ------
    DataError
        If the file is of something else, or open in another process.
    """

    format, of, entry = "semisvm-papers", "'python -m papers'", "result"

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        super().__init__(path)
        try:
            self.results = self._taken_over(about)
        except BaseException:
            self.close()
            raise

    def _taken_over(self, about: dict[str, Any]) -> dict[str, tuple[Any, float]]:
        before = [line for line in self.lines if line["kind"] == ABOUT]
        if not before and any(line["kind"] == RESULT for line in self.lines):
            raise DataError(
                f"the line that tells what its results are of is lost. {ANEW}", self._name
            )
        if not before:
            self.append({"kind": ABOUT, **about})
        else:
            self._check_about(before[0], about)
        found = {}
        for line in self.lines:
            if line["kind"] == RESULT:
                found[line["key"]] = line["value"], line["seconds"]
        return found

    def _check_about(self, before: Line, about: dict[str, Any]) -> None:
        """Refuse results of something else."""
        for name, value in about.items():
            if before.get(name) != value:
                told = OTHERS[name].format(was=before.get(name), now=value)
                raise DataError(f"its results are of {told}. {ANEW}", self._name)

    def keep(self, key: str, value: Any, seconds: float) -> None:
        """Bring a result to the disk."""
        self.append({"kind": RESULT, "key": key, "value": value, "seconds": round(seconds, 3)})
        self.results[key] = value, seconds
