"""``semisvm label``: label rows in the browser while a model learns."""

import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from semisvm.cli import options as shared
from semisvm.cli import reporting
from semisvm.cli.embeddings import TrainingVectors
from semisvm.cli.inputs import FileFormat, Key, Marks
from semisvm.cli.interrupts import finish_when_stopped, when_stopped
from semisvm.cli.messages import UserError, print_stderr
from semisvm.cli.options import Columns, OtherColumns, Words
from semisvm.cli.outputs import Output, answers_output, binary_output, check_apart, file_option
from semisvm.cli.printing import fit_command, print_line
from semisvm.text import counted, visible

if TYPE_CHECKING:
    from semisvm.labelling import LabelingSession
    from semisvm.labelling.records import Status

LOOPBACK = "127.0.0.1"
MISSING = (
    "the page needs the packages starlette and uvicorn, and {name} is missing. Install them with: "
    "pip install 'semisvm[label]'"
)


def label(
    context: typer.Context,
    data: shared.Data,
    *,
    label: Annotated[
        str | None,
        typer.Option(
            "--label", help="Label column, there or not yet; labels that are there count."
        ),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            "--classes",
            metavar="A,B",
            help="Classes, in the order of their keys; more can be added.",
        ),
    ] = None,
    text: shared.Text = None,
    weak: shared.Weak = None,
    answers: Annotated[
        Output | None,
        file_option(
            "--answers",
            help="CSV file of the answers, for 'semisvm fit --answers'. The session goes on from "
            "it. Default: NAME.answers.csv beside the data.",
            parser=answers_output,
        ),
    ] = None,
    output: Annotated[
        Output | None,
        file_option(
            "-o",
            "--output",
            help="Model file that the page saves; also written in the end.",
            parser=binary_output,
        ),
    ] = None,
    report: reporting.ReportFile = None,
    key: Key = None,
    columns: OtherColumns,
    words: Words,
    vectors: TrainingVectors,
    take: Annotated[
        list[Path] | None,
        typer.Option(
            "--import",
            metavar="FILE",
            help="Answers to take over: of Label Studio, Prodigy, doccano or Argilla, or a table.",
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
    people: Annotated[
        str | None,
        typer.Option(
            "--people",
            metavar="A,B",
            help="People, each with a link of their own; or how many. A:settle may settle "
            "disagreements too, A:finish everything. If nobody may, the first without a role may.",
        ),
    ] = None,
    overlap: Annotated[
        float | None,
        typer.Option(
            "--overlap",
            min=0.0,
            max=1.0,
            help="Share of the rows that go to two people, to see how far they agree. Default: as "
            "the last time, or 0.",
        ),
    ] = None,
    revoke: Annotated[
        list[str] | None,
        typer.Option(
            "--revoke", metavar="NAME", help="End the link of a person, whose answers stay."
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            help="Address to listen on. One that other machines can reach takes a certificate or a "
            "proxy.",
        ),
    ] = LOOPBACK,
    port: Annotated[
        int,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="Port; 0 takes a free one, for several people that of the last time.",
        ),
    ] = 0,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", help="Certificate of the host, in PEM.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", help="Key of the certificate, in PEM.")
    ] = None,
    behind_proxy: Annotated[
        str | None,
        typer.Option(
            "--behind-proxy",
            metavar="ADDRESS",
            help="Address of a proxy in front, which encrypts: https://label.example.org",
        ),
    ] = None,
    seed: shared.Seed = 0,
    marks: Marks,
    form: FileFormat,
) -> None:
    """Label rows in the browser, alone or together, while a model learns from the answers.

    The page asks for the rows that matter most, and shows how accurate the model is. An answer that
    is shown as saved is on the disk: the same command goes on where you left. Ctrl-C ends it. A
    session that was downloaded from the page is taken up in place of the data.
    """
    serve = _server()
    tls, public = _certificate(tls_cert, tls_key), _public(behind_proxy)
    from semisvm.labelling import LabelingSession
    from semisvm.labelling.exchange import is_packed, unpack
    from semisvm.labelling.journal import journal_of
    from semisvm.labelling.people import read_people

    opened: dict[str, Any] = {}
    more: dict[str, Any] = {}
    reading = {**marks.arguments(), **form.arguments()}
    if is_packed(data):
        if answers is not None:
            raise UserError("a packed session has a file of answers: --answers cannot name one.")
        data, opened = unpack(data)
        print_stderr(f"note: the session was taken apart: its data are in {data} now.")
        label, key = label or opened.get("label"), key or opened.get("key")
        text, weak = text or opened.get("text"), weak or opened.get("weak")
        is_usual = reading == {**Marks().arguments(), **FileFormat().arguments()}
        kept = opened.get("reading", {}) if is_usual else {}
        reading = {name: kept.get(name, value) for name, value in reading.items()}
        # what 'semisvm fit' is to be told, which this command was not
        more = {name: value for name, value in reading.items() if value and name != "quotes"}
        more |= {"data": data, "label": label, "key": key, "text": text, "weak": weak}
        more |= {} if reading["quotes"] else {"no_quotes": True}
    place = _place(data, answers)
    written = [Output(place), Output(journal_of(place)), output, report]
    check_apart([data], [file for file in written if file is not None])

    with as_user_errors():
        if people is not None:
            read_people(people)  # what is wrong with it is said before anything is written
        session = LabelingSession.open(
            data,
            label=label,
            classes=[name for name in (classes or "").split(",") if name.strip()],
            key=key,
            features=Columns(text=text, others=columns).features(words),
            answers=place,
            random_state=seed,
            overlap=overlap,
            weak=weak or (),
            reading=reading,
            vectors=partial(vectors.add, shown=True) if vectors.given else None,
        )
    finish_when_stopped()
    when_stopped(message=f"stopped; all answers are in {journal_of(place)}")
    progress = Progress(sys.stderr)
    with as_user_errors(), session:
        for note in session.status().notes:
            print_stderr(f"note: {note}")
        for name in revoke or []:
            session.people.revoke(name)
        # after that: a new link for the only one who may do everything keeps this right
        wanted = [] if people is None else read_people(people, session.people)
        for file in take or []:
            _import(session, file)
        again = session.port if wanted or len(session.people) else None
        serve(
            session,
            host,
            port or again or 0,
            people=wanted,
            tls=tls,
            public=public,
            options={"text": text, "weak": weak, "reading": reading},
            title=data.name,
            model=None if output is None else output.path,
            report=None if report is None else report.path,
            open_browser=not no_browser,
            echo=print_stderr,
            watch=progress.show,
        )
        progress.end()
        _finish(session, output, report)
        status = session.status()
    more |= {"answers": [place], "output": f"{data.stem}.semisvm"}
    _print_outcome(status, place, output, fit_command(context, **more))


def _import(session: "LabelingSession", file: Path) -> None:
    found = session.import_answers(file)
    print_stderr(
        f"{file}: answers taken: {found.n_taken}; here already: {found.n_same}; not taken, since "
        f"the same person has answered otherwise here: {found.n_differ}"
    )


def _server() -> Any:
    try:
        from semisvm.labelling.server import serve
    except ImportError as error:
        raise UserError(MISSING.format(name=error.name)) from error
    return serve


@contextmanager
def as_user_errors() -> Iterator[None]:
    """Turn what the session refuses into an error of the command."""
    from semisvm.labelling import LabelingError

    try:
        yield
    except LabelingError as error:
        raise UserError(str(error)) from error


def _certificate(cert: Path | None, key: Path | None) -> tuple[Path, Path] | None:
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        raise UserError("--tls-cert and --tls-key belong together: give both.")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(cert, key, "")
    except OSError as error:
        raise UserError(
            f"the certificate {cert} with the key {key} cannot be used: {error}."
        ) from error
    return cert, key


def _public(address: str | None) -> str | None:
    if address is None:
        return None
    parts = urlsplit(address)
    if parts.scheme != "https" or not parts.netloc or parts.path.strip("/"):
        raise UserError(
            f"--behind-proxy takes an address such as https://label.example.org, not {address}."
        )
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _place(data: Path, answers: Output | None) -> Path:
    if answers is None:
        return data.with_suffix(".answers.csv")
    if answers.is_standard or answers.path.suffix != ".csv":
        raise UserError(f"the file of answers must be a .csv file, not {answers}.")
    return answers.path


class Progress:
    """Shows how far a session is: one line that changes, or one per model for other streams.

    Parameters
    ----------
    stream : text stream
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._line = stream.isatty()
        self._last: Any = None

    def show(self, status: "Status") -> None:
        """Show a new status."""
        text = visible(in_short(status))
        if self._line:
            self._stream.write(f"\r\x1b[2K{text}")
            self._stream.flush()
        elif (status.model_number, status.fit_error) != self._last:
            self._last = status.model_number, status.fit_error
            print_stderr(text)

    def end(self) -> None:
        """Leave the line."""
        if self._line:
            self._stream.write("\n")


def in_short(status: "Status") -> str:
    """Print in a line how far a session is."""
    parts = [f"{status.n_answered:,} of {status.n_rows:,} rows labelled"]
    if status.n_skipped:
        parts.append(f"{status.n_skipped:,} skipped")
    if status.n_disputed:
        parts.append(f"{status.n_disputed:,} disputed")
    if status.accuracy is not None:
        found = status.accuracy
        parts.append(f"accuracy {found.value:.0%} ({found.low:.0%} to {found.high:.0%})")
    if status.fit_error is not None:
        parts.append(status.fit_error)
    elif status.fitting:
        parts.append("learning")
    return "; ".join(parts)


def _finish(session: "LabelingSession", output: Output | None, report: Output | None) -> None:
    """Write the model and the report, if there can be one."""
    from semisvm.labelling import LabelingError

    for place, write in ((output, session.save), (report, session.report)):
        if place is None:
            continue
        try:
            write(place.target, created=reporting.today())
        except LabelingError as error:
            print_stderr(f"note: {place} was not written. {error}")


def _print_outcome(status: "Status", place: Path, output: Output | None, command: str) -> None:
    n = status.n_answered - status.n_given
    if status.n_disputed:
        print_line(f"{counted(n, 'row')} answered; the labels are in {place}.")
        rows = counted(status.n_disputed, "row")
        print_line(f"No label, until it is settled, where people differ: {rows}.")
    else:
        print_line(f"{counted(n, 'answer')} {'is' if n == 1 else 'are'} in {place}.")
    if output is not None and status.model_number:
        print_line(f"Model {output}")
    elif status.model_number:
        print_line("Train a model on them:")
        print_line(command)
