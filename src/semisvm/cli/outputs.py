"""Files that a command writes, known by their type and checked before any work is done.

Whatever a command writes to is an `Output`, and a `Path` is what it reads: `checked` finds
both from the signature, so that a new command is covered by its types. `row_writer` writes rows,
one by one, in the format of the suffix.
"""

import csv
import functools
import inspect
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TextIO, get_args

import typer

from semisvm.cli.messages import UserError, print_stderr
from semisvm.tables.formats import FORMATS, NPZ, SUFFIXES, Format, load
from semisvm.text import series, visible, visible_json

if TYPE_CHECKING:
    from semisvm.tables.errors import DataError
    from semisvm.tables.table import MatrixData, Table

STANDARD = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}

Rows = list[dict[str, Any]]
WRITTEN = tuple(one for one in FORMATS.values() if one.is_written)
"""The formats of rows that a program reads."""
EDITED = tuple(one for one in WRITTEN if one.is_text)
"""The formats of rows that a person reads, or fills in."""
KEPT = "kept_"
"""Before the name of a column that is copied, if the output has one of that name."""
DELIMITERS = {"csv": ",", "tsv": "\t"}

EscapeFormulas = Annotated[
    bool | None,
    typer.Option(
        "--escape-formulas/--keep-formulas",
        help="Put a ' before CSV and TSV cells that a spreadsheet would run, or keep them.",
    ),
]


@dataclass(frozen=True)
class Output:
    """A file to be written, or standard output.

    Attributes
    ----------
    path : Path
        "-" and "/dev/stdout" are standard output.
    binary : bool
        Whether it is unfit for a terminal.
    rows : bool
        Whether it is a folder of rows, which appears whole.
    answers : bool
        Whether it is the file of answers of a labelling session, which nothing else replaces.
    stream : text stream, optional
        What standard output is.
    """

    path: Path
    binary: bool = False
    rows: bool = False
    answers: bool = False
    stream: TextIO | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return "standard output" if self.is_standard else str(self.path)

    @property
    def is_standard(self) -> bool:
        """Whether this is standard output."""
        return not self.rows and str(self.path) in STANDARD

    @property
    def target(self) -> Path | BinaryIO:
        """What functions of the package write to."""
        return (self.stream or sys.stdout).buffer if self.is_standard else self.path

    @contextmanager
    def text(self) -> Iterator[TextIO]:
        """Open it for text; standard output gets it piece by piece.

        A terminal is shown control characters, anything else gets the text as it is, in
        UTF-8.
        """
        from semisvm.tables.writing import encoded, write_text

        if not self.is_standard:
            with write_text(self.path) as text:
                yield text
            return
        stream = self.stream or sys.stdout
        if stream.isatty():
            yield _Shown(stream)  # type: ignore[misc]
        else:
            stream.flush()
            with encoded(stream.buffer) as text:
                yield text
        stream.flush()

    def state(self) -> Any:
        """Return what changes when it is written; nothing for standard output."""
        try:
            found = None if self.is_standard else self.path.stat()
        except OSError:
            return None
        return found and (found.st_dev, found.st_ino, found.st_mtime_ns)

    def check(self) -> None:
        """Refuse a place that cannot be written to."""
        from semisvm.tables.writing import check_place

        if self.rows:
            from semisvm.tables.folders import check_folder_place

            check_folder_place(self.path)
        elif not self.is_standard:
            check_place(self.path)
            self._check_answers()
        elif self.binary and sys.stdout.isatty():
            raise UserError(
                "this output is not text for a terminal: name a file, or send it to a program."
            )

    def _check_answers(self) -> None:
        """Refuse to replace the answers of a labelling session, or its journal."""
        from semisvm.labelling.journal import is_journal, journal_of

        if is_journal(self.path):
            raise UserError(f"{self} is a journal of answers or results: name another file.")
        if not self.answers and is_journal(journal_of(self.path)):
            raise UserError(
                f"{self} has the answers of 'semisvm label', which would be lost: name another "
                "file to write."
            )


class _Shown:
    """Lines for a terminal, with control characters written out."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        lines = text.split("\n")
        return self._stream.write("\n".join(map(visible, lines)))

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)


def output_parser(**kind: Any) -> Callable[[Any], Output]:
    """Return what reads an option that names a file to be written, of such a kind."""

    def parse(value: Any) -> Output:
        return value if isinstance(value, Output) else Output(Path(value), **kind)

    return parse


text_output, binary_output = output_parser(), output_parser(binary=True)
answers_output, rows_output = output_parser(answers=True), output_parser(rows=True)


def file_option(*names: str, help: str, parser: Callable[[Any], Output] = text_output) -> Any:
    """Return the option that names a file to be written."""
    return typer.Option(*names, help=help, parser=parser, metavar="FILE", show_default=False)


def attempt(write: Callable[[], object]) -> "DataError | None":
    """Write a file whose failure must not lose the rest; return why it cannot be written."""
    from semisvm.tables.errors import DataError

    try:
        write()
    except DataError as error:
        return error
    return None


def checked(command: Callable[..., Any]) -> Callable[..., Any]:
    """Check all outputs of a command before it runs.

    None may be the same file as an input or another output, and each must have a place
    where it can be written. If one is standard output, whatever else the command prints
    goes to the error stream.
    """
    reads, writes = parameters_of(command, Path), parameters_of(command, Output)

    @functools.wraps(command)
    def run(**given: Any) -> Any:
        inputs = [path for name in reads for path in _paths(given.get(name))]
        outputs = {name: given[name] for name in writes if given.get(name) is not None}
        check_apart(inputs + _companions(inputs, given.get("format")), list(outputs.values()))
        for output in outputs.values():
            output.check()
        before = {name: output.state() for name, output in outputs.items()}
        try:
            with _kept_apart(outputs, given) as streams:
                return command(**{**given, **streams})
        except KeyboardInterrupt as stop:
            for name, output in outputs.items():
                if output.state() != before[name]:
                    stop.add_note(f"{output} was written")
            raise

    return run


def parameters_of(command: Callable[..., Any], kind: type) -> list[str]:
    """Return the names of the parameters that are of a type, optional, or lists of it."""
    parameters = inspect.signature(command).parameters.values()
    return [parameter.name for parameter in parameters if _holds(parameter.annotation, kind)]


def _holds(hint: Any, kind: type) -> bool:
    return hint is kind or any(_holds(part, kind) for part in get_args(hint))


def _paths(value: Any) -> list[Path]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _companions(inputs: list[Path], kind: str | None) -> list[Path]:
    """Return the labels that lie beside matrices, which are read without being named."""
    matrices = [path for path in inputs if kind == NPZ or SUFFIXES.get(path.suffix) == NPZ]
    if not matrices:
        return []
    from semisvm.tables.array_files import COMPANION

    beside = [path.parent / COMPANION for path in matrices]
    return [path for path in beside if path.exists()]


def check_apart(inputs: list[Path], outputs: list[Output]) -> None:
    """Refuse an output that is the same file as an input or another output."""
    for path in inputs:
        if _is_standard_output(path):
            raise UserError(f"{path} is read by this command, but its output is sent there.")
    for k, output in enumerate(outputs):
        for path in inputs:
            if not output.is_standard and _same(output.path, path):
                read = "" if str(path) == str(output) else f" as {path}"
                raise UserError(
                    f"{output} is read by this command{read}, and would be overwritten: name "
                    "another file to write."
                )
        for other in outputs[:k]:
            if (output.is_standard and other.is_standard) or _same(output.path, other.path):
                raise UserError(
                    f"{other} and {output} are the same file: name a different one for each output."
                )


def _is_standard_output(path: Path) -> bool:
    """Return whether the shell sends our output to a file that is read, as ``>>`` does."""
    try:
        ours = os.fstat(sys.stdout.fileno())
        return stat.S_ISREG(ours.st_mode) and os.path.samestat(ours, path.stat())
    except (OSError, ValueError):
        return False


def _same(a: Path, b: Path) -> bool:
    """Return whether two paths name one file, through links or other spellings."""
    if a.exists() and b.exists():
        return os.path.samefile(a, b)
    real = os.path.realpath(a), os.path.realpath(b)
    # of two new files it is not known whether the disk distinguishes upper and lower case
    new = not a.exists() and not b.exists()
    return real[0] == real[1] or (new and real[0].casefold() == real[1].casefold())


@contextmanager
def _kept_apart(
    outputs: Mapping[str, Output], given: Mapping[str, Any]
) -> Iterator[dict[str, Output]]:
    """Keep standard output for the output that is to go there."""
    kept = {n: replace(o, stream=sys.stdout) for n, o in outputs.items() if o.is_standard}
    if not kept:
        yield {}
        return
    if given.get("as_json"):
        raise UserError("--json is printed to standard output: name a file for the other output.")
    with redirect_stdout(sys.stderr):
        yield kept


def with_kept(piece: "Table | MatrixData", keep: list[str], columns: dict[str, list[Any]]) -> Rows:
    """Return the rows of columns to write, after columns of a table that are copied."""
    from semisvm.tables.table import Table

    if isinstance(piece, Table):
        names = _names_of_kept(keep, set(columns))
        columns = {names[name]: piece.text(name) for name in keep} | columns
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _names_of_kept(keep: list[str], written: set[str]) -> dict[str, str]:
    """Return the names under which columns are copied: their own, unless these are taken."""
    names = {name: name for name in keep}
    for name in keep:
        while names[name] in written or (names[name] != name and names[name] in names):
            names[name] = KEPT + names[name]
    return names


def note_new_names(keep: list[str], rows: Rows) -> None:
    """Report which columns could not keep their names."""
    # columns that are kept come first
    for name, written in zip(keep, next(iter(rows), {}), strict=False):
        if written != name:
            print_stderr(
                f"note: the column {name!r} of the data is written as {written!r}, since "
                f"{name!r} is a column of the predictions."
            )


def check_suffix(output: Output | None, what: str, formats: tuple[Format, ...] = EDITED) -> Format:
    """Return the format that the suffix gives, or refuse it; standard output gets CSV."""
    found = {one.suffixes[0]: one for one in formats}
    suffix = ".csv"
    if output is not None and not output.is_standard:
        suffix = output.path.suffix.lower()
    if suffix not in found:
        raise UserError(f"{what} are written to {series(found, 'or')}, not {suffix or output}.")
    return found[suffix]


def check_new(output: Output | None, what: str, any_suffix: bool = False) -> None:
    """Refuse a format that is not known, and a file that exists: it may have labels filled in."""
    if not any_suffix:
        check_suffix(output, what)
    if output is not None and not output.is_standard and output.path.exists():
        raise UserError(
            f"{output} exists already, perhaps with labels filled in: name another file, or "
            "delete it."
        )


@contextmanager
def row_writer(
    output: Output | None,
    what: str,
    escape: bool | None = None,
    formats: tuple[Format, ...] = EDITED,
) -> Iterator[Callable[[Rows], None]]:
    """Open an output for rows; a file takes its name when all are written.

    Parameters
    ----------
    output : Output or None
        None is standard output.
    what : str
        What the rows are, for messages.
    escape : bool, optional
        Whether to write formulas as text; by default they are written as they are, with a
        warning.
    formats : tuple of Format
        Which of them are allowed.
    """
    found = check_suffix(output, what, formats)
    to = Output(Path("-")) if output is None else output
    if found.writer is not None:
        with load(found.writer)(to.path) as write:
            yield write
        return
    with to.text() as stream:
        if found.name not in DELIMITERS:
            yield lambda rows: stream.writelines(
                visible_json(json.dumps(row, ensure_ascii=False)) + "\n" for row in rows
            )
            return
        cells = _Cells(stream, DELIMITERS[found.name], escape)
        yield cells.write
    if escape is None and cells.n_formulas:
        print_stderr(
            f"warning: {cells.n_formulas:,} cells of {to} look like formulas, the first of them "
            f"{cells.first!r}, and a spreadsheet may run them. Write them as text with "
            "--escape-formulas, or keep them, without this warning, with --keep-formulas."
        )


def _flat(cell: Any) -> Any:
    """Return a list as JSON, which is read back where a table has cells only."""
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, list) else cell


class _Cells:
    """A table of cells being written, which looks for formulas."""

    def __init__(self, stream: TextIO, delimiter: str, escape: bool | None) -> None:
        from semisvm.tables.text_tables import escaped, is_formula

        self._table = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        self._is_formula = is_formula
        self._cell = {True: escaped, False: lambda cell: cell, None: self._counted}[escape]
        self._has_header = False
        self.n_formulas = 0
        self.first = ""

    def write(self, rows: Rows) -> None:
        """Write rows, all of them with the same columns."""
        if not self._has_header:
            self._table.writerow(map(self._cell, rows[0]))
            self._has_header = True
        self._table.writerows([self._cell(_flat(cell)) for cell in row.values()] for row in rows)

    def _counted(self, cell: Any) -> Any:
        if self._is_formula(cell):
            self.n_formulas += 1
            self.first = self.first or cell[:40]
        return cell
