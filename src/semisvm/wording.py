"""Times and counts in words."""


def rough_time(seconds: float) -> str:
    """Write an estimated time."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {max(seconds, 1.0):.0f} s"


def measured_time(seconds: float) -> str:
    """Write a measured time; hundredths of a second are the finest that matter."""
    if seconds < 0.01:
        return "< 0.01 s"
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:,.0f} s"


def counted(number: int, thing: str) -> str:
    """Write a number of things, such as "1 round" and "2 rounds"."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
