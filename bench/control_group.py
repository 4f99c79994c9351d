"""A Linux control group for one process, version 1 or 2; needs root."""

import os
import time

V2 = os.path.exists("/sys/fs/cgroup/cgroup.controllers")


class ControlGroup:
    """A group of a controller ("cpu", "memory") with these settings, {file: value}; removed at the end."""

    def __init__(self, controller, settings):
        parent = "/sys/fs/cgroup" if V2 else f"/sys/fs/cgroup/{controller}"
        self.path = os.path.join(parent, f"weft-bench-{controller}-{os.getpid()}")
        os.mkdir(self.path)
        for name, value in settings.items():
            self._write(name, value)

    def _write(self, name, value):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as f:
            f.write(str(value))

    def enter(self):
        self._write("cgroup.procs", os.getpid())

    def close(self):
        for _ in range(50):
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.1)
