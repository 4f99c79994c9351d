"""tools/sizes_allowed.txt, the exceptions from the limits on sizes, and its rules.

  KIND PATTERN SIZE until YYYY-MM-DD  # REASON

A row holds until its day. Then it must be gone, or be looked at again and get a later one. The day
is compared with the date of the last commit, so that an old version can be tested at any time.

A new row, or a larger size than before, needs `raised YYYY-MM-DD` in its reason: the day of the
raise. The list is compared with the commit that a branch began at, and with the last one.
"""
import dataclasses
import datetime
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "checks"))
from history import ROOT, git, since  # noqa: E402

ALLOWED = pathlib.Path("tools/sizes_allowed.txt")
FORM = "KIND PATTERN SIZE until YYYY-MM-DD  # REASON"
ROW = re.compile(r"(\w+) (\S+) (\d+) until (\d{4}-\d\d-\d\d)  # (\S.*)")
RAISED = re.compile(r"\braised (\d{4}-\d\d-\d\d): \S")


@dataclasses.dataclass(frozen=True)
class Row:
    number: int  # of its line
    kind: str
    pattern: str
    size: int
    until: str
    reason: str

    @property
    def place(self):
        return f"{ALLOWED}:{self.number}: '{self.kind} {self.pattern}'"


def is_day(text):
    try:
        return bool(datetime.date.fromisoformat(text))
    except ValueError:
        return False


def read(kinds):
    """(rows, complaints about the other lines)."""
    rows, wrong = [], []
    for number, line in enumerate((ROOT / ALLOWED).read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        found = ROW.fullmatch(line)
        if found and found[1] in kinds and is_day(found[4]):
            rows.append(Row(number, found[1], found[2], int(found[3]), found[4], found[5]))
        else:
            wrong.append(f"{ALLOWED}:{number}: expected {FORM}, got: {line}")
    return rows, wrong


def too_far(rows, day):
    """Complaints about days that are more than a year ahead, and raises that are still to come."""
    today = datetime.date.fromisoformat(day)
    for row in rows:
        if datetime.date.fromisoformat(row.until) > today + datetime.timedelta(days=366):
            yield f"{row.place} holds until {row.until}: at most a year from {day}"
        for said in filter(is_day, RAISED.findall(row.reason)):
            if said > day:
                yield f"{row.place} was raised on {said}, after {day}"


def expired(rows, day):
    """Complaints about rows that held until a day before this one."""
    for row in rows:
        if row.until < day:
            yield (f"{row.place} held until {row.until}: split what is too large, or give the row "
                   "a later day and a reason that still holds")


def sizes_at(commit):
    """The sizes of the list as it was, by kind and pattern; None if it cannot be found."""
    text = git("show", f"{commit}:{ALLOWED}")
    if text is None:
        return None
    rows = [line.split()[:3] for line in text.splitlines() if line and not line.startswith("#")]
    return {(kind, pattern): int(size) for kind, pattern, size in rows}


def raises(rows, sizes, day):
    """Complaints about rows that are larger than these sizes, those of the list on that day, without
    the day of the raise."""
    for row in rows:
        before = sizes.get((row.kind, row.pattern))
        said = max(filter(is_day, RAISED.findall(row.reason)), default="")
        if (before is None or row.size > before) and said < day:
            change = "is new" if before is None else f"was raised from {before} to {row.size}"
            yield (f"{row.place} {change}: its reason must have 'raised YYYY-MM-DD: WHY', with the "
                   f"day of that, {day} or later")


def complaints(rows):
    """Lines about rows that are too old, or were raised without saying so."""
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    of_head = git("log", "-1", "--format=%cs")
    lines = [*expired(rows, of_head), *too_far(rows, max(today, of_head))]
    base = since()
    for commit in filter(None, [base and git("merge-base", base, "HEAD"), "HEAD"]):
        sizes = sizes_at(commit)
        if sizes is not None:
            lines += raises(rows, sizes, git("log", "-1", "--format=%cs", commit))
    return list(dict.fromkeys(lines))


def shrink(largest):
    """Lowers the sizes of the list to the largest that each row covers; removes unused rows."""
    sizes = {row.number: size for row, size in largest.items()}
    lines = []
    for number, line in enumerate((ROOT / ALLOWED).read_text().splitlines(keepends=True), 1):
        if number in sizes:
            kind, pattern, allowed, rest = line.split(" ", 3)
            size = min(sizes[number], int(allowed))
            line = f"{kind} {pattern} {size} {rest}" if size else ""
        lines.append(line)
    (ROOT / ALLOWED).write_text("".join(lines))
