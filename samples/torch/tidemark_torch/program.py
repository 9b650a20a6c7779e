"""The program tidemark, for what plans: TIDEMARK names it, or it lies beside Python or on the PATH."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

from .errors import CaptureError


class Refusal(CaptureError):
    """The program refuses what it was asked, with its message."""


def find_program():
    """The program's path. Raises CaptureError where there is none."""
    beside = pathlib.Path(sys.executable).with_name("tidemark")
    found = os.environ.get("TIDEMARK") or (str(beside) if os.access(beside, os.X_OK) else shutil.which("tidemark"))
    if not found:
        raise CaptureError("the program tidemark is neither beside Python nor on the PATH (TIDEMARK names it)")
    return found


def run_program(*words):
    """What the program prints. Raises CaptureError where there is none, Refusal; neither where a step doesn't fit."""
    program = find_program()
    try:
        said = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise CaptureError(f"{program}: {error.strerror}: the program tidemark is needed; TIDEMARK names it") from None
    if said.returncode not in (0, 1) or not said.stdout:
        raise Refusal(said.stderr.strip() or f"{program} {words[0]} ended with status {said.returncode}")
    return said.stdout


def ask_program(*words):
    """The JSON object that the program prints."""
    return json.loads(run_program(*words, "--json"))
