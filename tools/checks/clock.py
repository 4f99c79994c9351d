"""How long checks take: kept in the build folder, estimated for those that have not run there."""
import json
import time


class Clock:
    """The minutes of a run, and the seconds of each check in this run and in earlier ones."""

    def __init__(self, file, minutes=None, spent=0):
        self._file = file
        self._start = time.monotonic() - spent
        self._budget = None if minutes is None else minutes * 60
        self.seconds = {}  # of checks in this run, by name
        self._paces = {}
        try:
            self._last = {name: float(value) for name, value in json.loads(file.read_text()).items()}
        except (OSError, ValueError, AttributeError):
            self._last = {}  # nothing has run here, or an older version wrote the file

    def estimate(self, check):
        """Seconds that the check may take: those of the last time, or of the catalogue, adapted
        to how fast the check that sets the pace was on this machine."""
        if check.name in self._last:
            return self._last[check.name]
        return check.seconds * self._paces.get(check.pace, 1)

    def has_time_for(self, check):
        if self._budget is None:
            return True
        return time.monotonic() - self._start + self.estimate(check) <= self._budget

    def record(self, check, seconds, passed):
        """Only checks that passed predict how long later ones take."""
        self.seconds[check.name] = seconds
        if passed:
            self._last[check.name] = seconds
            if check.sets_pace:
                # A warm compiler cache may be cold for the next build.
                self._paces[check.pace] = max(0.3, seconds / check.seconds)

    def is_slow(self, check):
        """Whether the check took much longer than the catalogue says."""
        return self.seconds[check.name] > 1.5 * check.seconds + 5

    def total(self):
        return time.monotonic() - self._start

    def save(self):
        self._file.parent.mkdir(exist_ok=True)
        text = json.dumps(self._last, indent=1, sort_keys=True)
        self._file.write_text(text + "\n")
