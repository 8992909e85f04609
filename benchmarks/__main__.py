"""``python -m benchmarks``: the table with a measured column; fails when a row is far over its bound."""

import argparse
import cProfile
import pstats
import sys
from pathlib import Path
from typing import Final

from benchmarks.growth import GROWTHS
from benchmarks.measure import Inputs, Row, heading
from benchmarks.views import TABLE  # which holds the rows of both modules by then

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "speed.md"
OPENING, CLOSING = "<!-- table -->", "<!-- end of table -->"


def main() -> int:
    """Read the command line and do what it says.

    Returns:
        The exit status: 1 when something was missed.
    """
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--short", action="store_true", help="only whether costs grow with the length of a log")
    parser.add_argument("--profile", action="store_true", help="show where the time goes instead of measuring it")
    parser.add_argument("--write", action="store_true", help="put the table into docs/speed.md as well")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="the letters of the rows; all, where none is given")
    options = parser.parse_args()
    if options.short:
        return growth()
    keys = {row.key for row in TABLE.rows}
    unknown = set(options.rows) - keys
    if unknown:
        parser.error(f"no row {', '.join(sorted(unknown))}: the rows are {', '.join(sorted(keys))}")
    rows = [row for row in TABLE.rows if not options.rows or row.key in options.rows]
    if options.profile:
        return profile(rows)
    return table(rows, page=PAGE if options.write else None)


def table(rows: list[Row], *, page: Path | None) -> int:
    """Measure these rows, print each as it comes, and put them into a page that has a place for them."""
    given = Inputs()
    lines = heading().splitlines()
    print(f"J = {given.j():.3f} s here\n", *lines, sep="\n", flush=True)
    failed = 0
    for row in rows:
        measurement = row.measure(given)
        failed += measurement.failed
        lines.append(str(measurement))
        print(measurement, flush=True)
    if page is not None:
        before, _, rest = page.read_text(encoding="utf-8").partition(OPENING)
        _, _, after = rest.partition(CLOSING)
        page.write_text("\n".join((before + OPENING, *lines, CLOSING + after)), encoding="utf-8")
    if failed:
        print(f"\n{failed} of {len(rows)} rows are more than 25 % over their bound", file=sys.stderr)
    return 1 if failed else 0


def growth() -> int:
    """Compare the cost of a unit at a size and at ten times the size."""
    failed = 0
    for each in GROWTHS:
        ratio = each.measure()
        missed = ratio > each.limit
        failed += missed
        verdict = "GROWS" if missed else "fine"
        print(f"{each.key:2} {each.what:62} {ratio:6.2f} times (≤ {each.limit:g})  {verdict}", flush=True)
    if failed:
        print(f"{failed} of {len(GROWTHS)} costs grow with the length of the log", file=sys.stderr)
    return 1 if failed else 0


def profile(rows: list[Row]) -> int:
    """Run each row once under the profiler; it makes calls look dearer than they are, and ranks them well."""
    given = Inputs()
    for row in rows:
        print(f"\n{row.key}: {row.what}")
        profiler = cProfile.Profile()
        profiler.runcall(row.run, given)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(15)
    return 0


if __name__ == "__main__":
    sys.exit(main())
