"""One line of the table."""

from __future__ import annotations

from dataclasses import dataclass

HEADINGS = ("what", "seconds", "CPU s", "wall", "CPU", "MiB", "goal", "met")


@dataclass(frozen=True)
class Row:
    """One line: what was measured, what it cost, as a multiple of what, against which goal.

    Attributes:
        what: words.
        seconds: wall time.
        cpu: CPU time.
        ratio: wall time as a multiple of F (``unit`` "F") or of the library (``unit`` "x"), or None.
        cpu_ratio: the same of the CPU time.
        unit: ``F`` or ``x``.
        mib: memory over the inputs.
        goal: in words, or empty.
        met: whether it holds, None where there is no goal.
    """

    what: str
    seconds: float | None = None
    cpu: float | None = None
    ratio: float | None = None
    cpu_ratio: float | None = None
    unit: str = ""
    mib: float | None = None
    goal: str = ""
    met: bool | None = None

    def cells(self) -> tuple[str, ...]:
        """The line as text."""

        def number(x: float | None, form: str, unit: str = "") -> str:
            return "" if x is None else f"{x:{form}}{unit}"

        form = ".2f" if self.unit == "F" else ".1f"
        return (
            self.what,
            number(self.seconds, ".3f"),
            number(self.cpu, ".3f"),
            number(self.ratio, form, f" {self.unit}"),
            number(self.cpu_ratio, form, f" {self.unit}"),
            number(self.mib, ",.0f"),
            self.goal,
            {True: "yes", False: "NO", None: ""}[self.met],
        )
