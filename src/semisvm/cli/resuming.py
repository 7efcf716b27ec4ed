"""The options ``--checkpoint`` and ``--resume`` of ``semisvm fit``."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli.errors import UserError, say
from semisvm.cli.stopping import leave
from semisvm.registry import AUTO

if TYPE_CHECKING:
    from semisvm.training import Progress


@dataclass(frozen=True)
class Keeping:
    """A file that keeps a fit."""

    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            help="File that keeps the fit as it goes, so that it can go on after it was stopped.",
            metavar="FILE",
        ),
    ] = None
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from the file of --checkpoint, if it is there."),
    ] = False

    def check(self, algorithm: str) -> None:
        """Refuse what cannot be kept, before the data are read."""
        if self.checkpoint is None:
            if self.resume:
                raise UserError("--resume needs --checkpoint FILE, the file to go on from.")
            return
        if algorithm == AUTO:
            raise UserError(
                "--checkpoint keeps one fit, and --algorithm auto makes many to choose a method: "
                "name the method, as in -a tsvm."
            )
        from semisvm.io.places import check_place

        check_place(self.checkpoint)

    def kept(self, progress: "Progress") -> "Progress":
        """Return a progress that also keeps the last fit in the file, if there is to be one."""
        path = self.checkpoint
        return progress if path is None else _Kept(progress, path, self.resume)


class _Kept:
    """A progress of `semisvm.train` whose callback keeps the fit."""

    def __init__(self, progress: "Progress", path: Path, resume: bool) -> None:
        self._progress = progress
        self._path = path
        self._resume = resume

    def choosing(self) -> AbstractContextManager[Any]:
        """Show the fits that choose a method; they are not kept."""
        return self._progress.choosing()

    @contextmanager
    def fitting(self, method: str) -> Iterator[Any]:
        """Show and keep the last fit."""
        from semisvm.checkpoints import Checkpoint

        class Told(Checkpoint):
            """A checkpoint that says how to go on in the words of the command line."""

            def how_to_resume(self) -> str:
                """Say how to go on after the fit was stopped."""
                return f"{self.path} holds the fit: to go on, run the same command with --resume"

            def wrote(self) -> None:
                """Have that said also if the process is killed before it can say so."""
                leave(message=f"stopped; {self.how_to_resume()}")

        with self._progress.fitting(method) as callback:
            keeper = Told(self._path, resume=self._resume, callback=callback)
            if self._resume and self._path.exists():
                keeper.wrote()
            elif self._resume:
                say(f"note: there is no {self._path} yet: the fit starts at the beginning")
            yield keeper
