"""A session in memory that follows the interface of the real one, and fails on demand."""

from base64 import b64decode
from threading import Event, Lock
from types import SimpleNamespace

from semisvm.labelling.people import People
from semisvm.labelling.records import ChangedError, LabelingError
from waiting import PATIENCE


class Facts(SimpleNamespace):
    """Attributes, also as JSON."""

    def as_json(self):
        return {name: jsonable(value) for name, value in vars(self).items()}


def jsonable(value):
    if isinstance(value, Facts):
        return value.as_json()
    return [jsonable(item) for item in value] if isinstance(value, (list, tuple)) else value


class FakeSession:
    """Rows in order, no model: what the server needs to be tested without one.

    Changes fail with the error ``fails``, and wait while ``gate`` is closed.
    """

    def __init__(self, texts, classes=("spam", "ham"), guesses=True):
        self.texts = list(texts)
        self.names = list(classes)
        self.marks = {}
        self.numbers = {}
        self.events = []
        self.held = {}
        self.fails = None
        self.gate = Event()
        self.gate.set()
        self.learned = []
        self.seen = []
        self.columns = []
        self.guesses = guesses
        self.certified = {}
        self.weak = {}
        self.comments = {}
        self.rejected = []
        self.because = [("word", 1.5), ("other", 0.5)]
        self.fitting = False
        self.version = 1
        self.lock = Lock()
        self.people = People(lambda line: line)

    def _row(self, row):
        if not 0 <= row < len(self.texts):
            raise LabelingError(f"there is no row {row + 1}.")
        return row

    def _change(self, kind, rows, value, client, version=None):
        assert self.gate.wait(PATIENCE)
        if self.fails is not None:
            raise self.fails
        with self.lock:
            if version not in (None, *(self.numbers.get(row, 0) for row in rows)):
                raise ChangedError(f"Row {rows[0] + 1} was answered meanwhile.")
            about = {"seq": self.version, "kind": kind, "value": value, "client": client}
            event = Facts(rows=tuple(map(self._row, rows)), **about)
            self.events.append((event, [self.marks.get(row) for row in rows]))
            self.version += 1
            for row in rows:
                self.marks[row] = None if kind == "remove" else (kind, value)
                self.numbers[row] = 0 if kind == "remove" else self.version
            return event

    def ask(self, client=None):
        with self.lock:
            taken = {row for other, row in self.held.items() if other != client}
            free = (r for r in range(len(self.texts)) if not self.marks.get(r) and r not in taken)
            row = next(free, None)
            if row is None:
                return None
            self.held[client] = row
            number = len(self.marks) + 1
        words = "It is the next row of the file."
        return Facts(row=row, reason="random", words=words, number=number)

    def _comment(self, row, comment):
        if comment is not None:
            self.comments[row] = comment.strip()

    def answer(self, row, value, *, seen_guess=False, client=None, version=None, comment=None):
        if value not in self.names:
            raise LabelingError(f"there is no class {value!r}.")
        self._comment(row, comment)
        event = self._change("answer", [row], value, client, version)
        self.seen.append(seen_guess)
        return event

    def skip(self, row, *, client=None, version=None, comment=None, none=False):
        self._comment(row, comment)
        self.rejected += [row] if none else []
        return self._change("skip", [row], None, client, version)

    def name_the_rest(self, name, *, client=None):
        rows, self.rejected = self.rejected, []
        self.names += [] if name in self.names else [name]
        self.confirm(rows, name, client=client)
        return len(rows)

    def remark(self, row):
        return {"comment": self.comments.get(row, ""), "none": row in self.rejected}

    def remove(self, row, *, client=None, version=None):
        return self._change("remove", [row], None, client, version)

    def confirm(self, rows, value, *, client=None):
        return self._change("answer", rows, value, client)

    def add_class(self, name, *, client=None):
        self.names.append(name)
        self._change("class", [], name, client)

    def last_change(self):
        return self.events[-1][0] if self.events else None

    def renew(self, client=None):
        pass

    def keep_port(self, port):
        pass

    def undo(self, client=None, number=None, *, request=None):
        wanted = (client, None) if number is None else {event.client for event, _ in self.events}
        mine = [k for k, (event, _) in enumerate(self.events) if event.client in wanted]
        if not mine:
            return None
        event, before = self.events.pop(mine[-1])
        self.marks.update(zip(event.rows, before, strict=True))
        self.version += 1
        self.numbers.update({row: self.version if self.marks[row] else 0 for row in event.rows})
        return event

    def view(self, row):
        kind, value = self.marks.get(self._row(row)) or (None, None)
        columns = [("text", "text", self.texts[row]), *self.columns]
        fields = [Facts(name=name, kind=what, value=cell) for name, what, cell in columns]
        skipped = kind == "skip"
        about = {"answer": value, "skipped": skipped, "reason": None}
        version = self.numbers.get(row, 0)
        return Facts(row=row, key=str(row + 1), fields=fields, **about, version=version)

    def weak_labels(self, row):
        return self.weak.get(self._row(row), {})

    def guess(self, row):
        self._row(row)
        shares = {name: (0.7 if k == 0 else 0.3) for k, name in enumerate(self.names[:2])}
        about = {"because": self.because, "model_number": 1}
        about |= {"calibrated": True, "seen_answer": False}
        found = Facts(value=self.names[0], probabilities=shares, **about)
        return found if self.guesses else None

    def _found(self, rows, start, count, note=""):
        short = [
            Facts(
                row=row,
                key=str(row + 1),
                text=self.texts[row][:200],
                answer=(self.marks.get(row) or (None, None))[1],
                skipped=False,
                guess=self.names[0],
                probability=0.9,
                version=self.numbers.get(row, 0),
                picture=next((name for name, kind, _ in self.columns if kind == "image"), None),
            )
            for row in rows[start : start + count]
        ]
        return Facts(total=len(rows), rows=short, note=note)

    def search(self, words, which="all", start=0, count=20):
        wanted = {"all": (True, False), "answered": (True,), "open": (False,), "skipped": ()}[which]
        rows = [
            r
            for r, text in enumerate(self.texts)
            if words in text and (bool(self.marks.get(r)) in wanted)
        ]
        return self._found(rows, start, count)

    def sure(self, value=None, start=0, count=20):
        free = [r for r in range(len(self.texts)) if not self.marks.get(r)]
        ground = "40 of 40 such guesses were right." if self.guesses else "There is no model yet."
        return self._found(free if self.guesses else [], start, count, ground)

    def doubts(self, start=0, count=20):
        rows = [
            r for r, mark in self.marks.items() if mark and mark[1] not in (None, self.names[0])
        ]
        ground = "The models agree with 9 of 10." if self.guesses else "There is no model yet."
        return self._found(rows, start, count, ground)

    def status(self):
        with self.lock:
            return self._status()

    def _status(self):
        answered = [mark[1] for mark in self.marks.values() if mark and mark[0] == "answer"]
        classes = [
            Facts(
                name=name,
                key=k if k < 10 else None,
                count=answered.count(name),
                share=None,
                share_std=None,
            )
            for k, name in enumerate(self.names, 1)
        ]
        return Facts(
            n_rows=len(self.texts),
            n_answered=len(answered),
            n_skipped=sum(bool(mark) and mark[0] == "skip" for mark in self.marks.values()),
            n_given=0,
            classes=classes,
            model_number=int(self.guesses),
            model_labels=0,
            method="tsvm",
            method_title="transductive SVM",
            fitting=self.fitting,
            fit_seconds=None,
            fit_error=None,
            accuracy=None,
            curve=[],
            advice="Go on.",
            saved=True,
            version=self.version,
            notes=[],
            people=[],
            n_disputed=0,
            sources=["llm: right on 7 of 9 random rows (45% to 94%)."] if self.weak else [],
            n_none=len(self.rejected),
        )

    def learn(self, auto=False):
        self.learned.append(auto)

    def picture(self, row, name):
        cell = next(cell for column, _, cell in self.columns if column == name)
        kind = "image/png" if cell.startswith("iVBO") else "audio/wav"
        return SimpleNamespace(media_type=kind, content=b64decode(cell))

    def export(self, file):
        lines = [
            f"{text},{(self.marks.get(r) or ('', ''))[1]}" for r, text in enumerate(self.texts)
        ]
        file.write_text("\n".join(["text,kind", *lines]) + "\n", encoding="utf-8")

    def export_single_answers(self, file):
        lines = [f"{row + 1},{mark[1]}" for row, mark in self.marks.items() if mark]
        file.write_text("\n".join(["row,label", *lines]) + "\n", encoding="utf-8")

    def export_tasks(self, file, tool):
        file.write_text(tool, encoding="utf-8")

    def pack(self, file, options=None):
        file.write_text("packed", encoding="utf-8")

    def certify(self, error=0.02):
        words = [f"No row is certified at {100 * error:.3g}% yet."]
        if self.certified:
            words = [f"4,120 of 5,000 rows are certified at {100 * error:.3g}%."]
        return Facts(sentences=words, labels=self.certified)

    def export_certified(self, file, error=0.02):
        lines = [f"{row + 1},{value},{error}" for row, value in self.certified.items()]
        file.write_text("\n".join(["row,kind,error", *lines]) + "\n", encoding="utf-8")

    def save(self, path):
        path.write_text("model", encoding="utf-8")

    def report(self, path):
        path.write_text("report", encoding="utf-8")
