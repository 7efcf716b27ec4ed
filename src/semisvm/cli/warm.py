"""``semisvm warm``: compile ahead of the first fit."""

from semisvm.cli.errors import print_stderr


def warm() -> None:
    """Compile the numerical code for this machine now, rather than in the first fit."""
    from semisvm.warming import warm as compile_all

    seconds = compile_all()
    print_stderr(
        f"Compiled in {seconds:.0f} s." if seconds > 0 else "Everything was compiled before."
    )
