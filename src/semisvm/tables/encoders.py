"""Encoders of texts that are named: models of other libraries, and a cache of their vectors.

A name is "model2vec:NAME", "sentence-transformers:NAME" or "fastembed:NAME", where NAME is a
published model or, but for fastembed, a folder. The library is imported when texts are encoded.
"""

import os
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from semisvm.tables.errors import DataError, in_short

Encoder = Callable[[list[str]], Any]
"""From n texts to an array of shape (n, k)."""
Vectors = NDArray[np.float32]
Callback = Callable[[int, int], object]
T = TypeVar("T")

PROBES = (
    "The quick brown fox jumps over the lazy dog.",
    "Please send me the invoice for March by Friday.",
    "this film was not good at all, do not watch it",
    "Der Zug nach Wien hat zwanzig Minuten Verspätung.",
    "¿Dónde está la biblioteca más cercana?",
    "Сегодня хорошая погода.",
    "今天天气很好。",
    "a b c d e f g h i j k l m n o p q r s t u v w x y z 0 1 2 3 4 5 6 7 8 9",
)
"""Texts whose vectors are the fingerprint of an encoder."""
SAME = 1e-3
"""Relative error up to which fingerprints are equal: other processors round differently."""

CACHE = "SEMISVM_CACHE_DIR"
"""Environment variable with the folder of the cache; if it is empty, nothing is cached."""
TABLES = (
    "fingerprint (one INTEGER PRIMARY KEY, numbers BLOB)",
    "vectors (text BLOB PRIMARY KEY, checksum INTEGER, numbers BLOB)",
)
WAIT = 5.0
"""Seconds to wait for another process that writes to the cache."""
PATIENCE = 1.0
"""Seconds of encoding after which a line on the terminal shows the progress."""


def _model2vec(library: Any, name: str) -> Encoder:
    return library.StaticModel.from_pretrained(name, force_download=False).encode


def _sentence_transformers(library: Any, name: str) -> Encoder:
    model = library.SentenceTransformer(name, trust_remote_code=False)
    return lambda texts: model.encode(texts, show_progress_bar=False, convert_to_numpy=True)


def _fastembed(library: Any, name: str) -> Encoder:
    model = library.TextEmbedding(model_name=name)
    return lambda texts: np.stack(list(model.embed(texts)))


LIBRARIES: dict[str, tuple[str, str, Callable[[Any, str], Encoder]]] = {
    "model2vec": ("model2vec", "semisvm[embeddings]", _model2vec),
    "sentence-transformers": (
        "sentence_transformers",
        "sentence-transformers",
        _sentence_transformers,
    ),
    "fastembed": ("fastembed", "fastembed", _fastembed),
}
"""Kind of an encoder -> module, what to install, and how to load a model."""


def is_named(encoder: Any) -> bool:
    """Return whether an encoder is named by its library."""
    return isinstance(encoder, str) and encoder.partition(":")[0] in LIBRARIES


def check_encoder(encoder: Any) -> None:
    """Refuse what is neither a name of a library's encoder nor a function."""
    if isinstance(encoder, str):
        kind, _, name = encoder.partition(":")
        if kind not in LIBRARIES or not name:
            kinds = ", ".join(f"'{known}:NAME'" for known in LIBRARIES)
            raise ValueError(f"encoder must be one of {kinds}, or a function, got {encoder!r}.")
    elif not callable(encoder):
        raise TypeError(
            "encoder must be the name of an encoder or a function of a list of texts, got "
            f"{type(encoder).__name__}."
        )


def open_encoder(encoder: str | Encoder) -> Encoder:
    """Load an encoder that is named; a function is returned as it is."""
    check_encoder(encoder)
    return NamedEncoder(encoder) if isinstance(encoder, str) else encoder


class NamedEncoder:
    """An encoder of another library, with a cache of its vectors on the disk.

    Parameters
    ----------
    name : str
        Such as "model2vec:minishlab/potion-base-8M".

    Attributes
    ----------
    fingerprint : float32 array of shape (8, k)
        Vectors of `PROBES`.

    Raises
    ------
    DataError
        If the library is missing, or the model cannot be loaded.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        kind, _, place = name.partition(":")
        module, package, load = LIBRARIES[kind]
        try:
            library = import_module(module)
        except ImportError as error:
            raise DataError(
                f"the encoder {name!r} needs the package {error.name or module}, which is missing "
                f"or damaged. Install it with: pip install '{package}'"
            ) from error
        try:
            self._function = load(library, place)
            self.fingerprint = self._compute(list(PROBES))
        except Exception as error:
            what = f"{type(error).__name__}: {in_short(error)}"
            raise DataError(f"the encoder {name!r} cannot be loaded ({what}).") from error
        identity = f"{name}\0{_version(module)}\0{_stamp(Path(place))}"
        self._cache = VectorCache.of(identity, self.fingerprint)

    def _compute(self, texts: list[str]) -> Vectors:
        found = np.asarray(self._function(texts), dtype=np.float32)
        if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
            raise ValueError(f"{len(texts)} texts became an array of shape {found.shape}")
        return found

    def __call__(self, texts: list[str]) -> Vectors:
        """Encode texts, those that are not in the cache; equal ones once."""
        keys = [_digest(text) for text in texts]
        found = self._cache.read(set(keys))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            computed = self._compute(list(missing.values()))
            new = dict(zip(missing, computed, strict=True))
            self._cache.write(new)
            found |= new
        return np.stack([found[key] for key in keys])

    def check(self, fitted: NDArray[Any]) -> None:
        """Refuse to encode if the vectors of the fit had another fingerprint."""
        if not _is_same(self.fingerprint, fitted):
            raise DataError(
                f"the encoder {self.name!r} computes other vectors than the one that the model was "
                "fitted with: use that one, or fit again."
            )


def _is_same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a.shape == b.shape and bool(np.linalg.norm(a - b) <= SAME * np.linalg.norm(b))


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _version(module: str) -> str:
    try:
        return version(module.replace("_", "-"))
    except PackageNotFoundError:
        return ""


def _stamp(place: Path) -> str:
    """Describe the files of a folder: those of another model, or a newer one, differ."""
    with suppress(OSError):
        files = sorted(path for path in place.rglob("*") if path.is_file())
        facts = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
        return repr(facts) if facts else ""
    return ""


def cache_folder() -> Path | None:
    """Return the folder of the cache, which may not exist yet; None for no cache."""
    given = os.environ.get(CACHE)
    if given is not None:
        return Path(given) if given else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "semisvm"
    named = "LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME"
    return Path(os.environ.get(named) or home / ".cache") / "semisvm"


class VectorCache:
    """Vectors of texts in a database file: digests of the texts, checksums and numbers.

    A file that is damaged, or has vectors of another model, is replaced. A file that cannot be read
    or written is not used: vectors are then computed.

    Parameters
    ----------
    path : Path or None
        None for no cache.
    fingerprint : array of shape (p, k)
        Of the encoder.
    """

    def __init__(self, path: Path | None, fingerprint: Vectors) -> None:
        self.path = path
        self._fingerprint = fingerprint
        if path is not None and not self._is_ours():
            self._remove()

    @classmethod
    def of(cls, identity: str, fingerprint: Vectors) -> "VectorCache":
        """Return the cache of an encoder in the user's folder."""
        folder = cache_folder()
        name = blake2b(identity.encode(), digest_size=16).hexdigest()
        return cls(None if folder is None else folder / "vectors" / f"{name}.sqlite", fingerprint)

    def _is_ours(self) -> bool:
        def compare(database: sqlite3.Connection) -> bool:
            kept = database.execute("SELECT numbers FROM fingerprint").fetchone()
            found = np.frombuffer(kept[0], dtype="<f4")
            return _is_same(found.reshape(self._fingerprint.shape), self._fingerprint)

        return self._use(compare) is not False

    def read(self, keys: Iterable[bytes]) -> dict[bytes, Vectors]:
        """Return the vectors that are known."""
        size = 4 * self._fingerprint.shape[1]

        def find(database: sqlite3.Connection) -> dict[bytes, Vectors]:
            found: dict[bytes, Vectors] = {}
            for key in keys:
                query = "SELECT checksum, numbers FROM vectors WHERE text = ?"
                for checksum, numbers in database.execute(query, (key,)):
                    if len(numbers) == size and zlib.crc32(numbers) == checksum:
                        found[key] = np.frombuffer(numbers, dtype="<f4").astype(np.float32)
            return found

        return self._use(find) or {}

    def write(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Keep vectors: all of them or, if that fails, none."""
        rows = [(key, row.astype("<f4").tobytes()) for key, row in vectors.items()]
        fingerprint = self._fingerprint.astype("<f4").tobytes()

        def keep(database: sqlite3.Connection) -> None:
            for table in TABLES:
                database.execute(f"CREATE TABLE IF NOT EXISTS {table}")
            database.execute("INSERT OR IGNORE INTO fingerprint VALUES (0, ?)", (fingerprint,))
            database.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
                [(key, zlib.crc32(numbers), numbers) for key, numbers in rows],
            )

        if self.path is not None:
            with suppress(OSError):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.path.touch()
        self._use(keep)

    def _use(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """Return what an action finds in the file; None if there is none, or it is of no use."""
        try:
            if self.path is None or not self.path.exists():
                return None
            with closing(sqlite3.connect(self.path, timeout=WAIT)) as database, database:
                return action(database)
        except (sqlite3.OperationalError, OSError):
            return None  # locked, not writable, or the disk is full
        except (sqlite3.DatabaseError, TypeError, ValueError):
            self._remove()  # damaged
            return None

    def _remove(self) -> None:
        with suppress(OSError):
            if self.path is not None:
                self.path.unlink(missing_ok=True)


PROGRESS: ContextVar[bool] = ContextVar("PROGRESS", default=True)
"""Whether a line on the terminal shows how many texts are encoded."""


@contextmanager
def on_terminal() -> Iterator[Callback | None]:
    """Yield a function that shows progress in one line, which is erased in the end."""
    if not PROGRESS.get() or not sys.stderr.isatty():
        yield None
        return
    start, drawn = perf_counter(), False

    def show(done: int, total: int) -> None:
        nonlocal drawn
        if perf_counter() - start > PATIENCE:
            drawn = True
            print(f"\rencoding: {done:,} of {total:,} texts", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
