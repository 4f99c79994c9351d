"""What git knows: the commit that changes are compared with, and files as they were."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def git(*words):
    """The output of a git command without spaces around it; None if the command fails."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def since():
    """The commit that changes are compared with: WEFT_SINCE, or the first of main, origin/main and
    the commit before that this one is ahead of; None if there is none."""
    if os.environ.get("WEFT_SINCE"):
        return os.environ["WEFT_SINCE"]
    head = git("rev-parse", "HEAD")
    for name in ("main", "origin/main", "HEAD~1"):
        base = git("merge-base", name, "HEAD")
        if base is not None and base != head:
            return name
    return None
