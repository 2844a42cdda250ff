"""The exported models: one folder each in the model cache, created atomically."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Self

from memorybase.core import telemetry
from memorybase.core.embedding.source import ModelSource
from memorybase.core.errors import InvalidRequest, ModelUnavailable
from memorybase.core.settings import Settings

MODEL_FILE = "model.onnx"
WEIGHTS_FILE = "weights.bin"
TOKENIZER_FILE = "tokenizer.json"
MANIFEST_FILE = "manifest.json"

SHIPPED = Path("/usr/share/memorybase/models")  # that an image came with, where no volume hides them; only read
EXPORTER_VERSION = 7  # increase it if the exporter's output changes; older exports are then unused
EXPORT_SECONDS = 600  # MiniLM takes five; below the job's deadline, so that the error names the export
EXPORTING = ("onnx", "safetensors")  # packages that slim installations lack
# Commands keep new files private, but weights are no secret, and services of other users run them.
READABLE_FOLDER, READABLE_FILE = 0o755, 0o644
REFUSED = 3  # the exporter's exit status if its last line gives the reason

Precision = Literal["fp32", "int8"]

log = telemetry.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The runtime's data about an exported model."""

    dimension: int
    max_seq_length: int
    pad_id: int

    @classmethod
    def read(cls, folder: Path) -> Self:
        return cls(**json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8")))

    def write(self, folder: Path) -> None:
        (folder / MANIFEST_FILE).write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")


def write_model(model: Any, folder: Path) -> None:
    """Write the graph, and its weights in a separate file, which processes map into memory and share."""
    import onnx

    onnx.save(model, folder / MODEL_FILE, save_as_external_data=True, location=WEIGHTS_FILE)
    (folder / WEIGHTS_FILE).chmod((folder / MODEL_FILE).stat().st_mode)  # onnx makes it readable for its user alone


def exported_folder(settings: Settings, source: ModelSource, precision: Precision = "fp32") -> Path:
    """The folder for the export of these weights by this exporter: among the shipped ones if it is there."""
    name = _name_of(source, precision)
    shipped = SHIPPED / name
    return shipped if shipped.is_dir() else settings.model_cache_dir.resolve() / name


def ensure_exported(settings: Settings, source: ModelSource, precision: Precision = "fp32") -> Path:
    """The exported model's folder; exports the model if needed; raises ModelUnavailable."""
    folder = exported_folder(settings, source, precision)
    if not folder.is_dir():
        _export(settings, source, precision, folder)
    return folder


def export_into(folder: Path, settings: Settings, source: ModelSource, precision: Precision) -> Path:
    """Export the model as a folder in this one that everybody may read; for another installation. Raises
    InvalidRequest if that cannot be written, ModelUnavailable."""
    exported = folder.resolve() / _name_of(source, precision)
    if exported.is_dir():
        return exported
    try:
        for missing in reversed([each for each in (folder, *folder.parents) if not each.is_dir()]):
            missing.mkdir()
            missing.chmod(READABLE_FOLDER)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made = Path(scratch).resolve() / exported.name
            _export(settings, source, precision, made)
            for file in made.iterdir():
                file.chmod(READABLE_FILE)
            made.chmod(READABLE_FOLDER)
            return Path(shutil.move(made, exported))
    except OSError as exc:
        raise InvalidRequest(f"The folder {folder} cannot be written: {exc.strerror or exc}.") from exc


def _name_of(source: ModelSource, precision: Precision) -> str:
    name = f"{source.label}-{source.revision[:16]}-v{EXPORTER_VERSION}"
    return name if precision == "fp32" else f"{name}-{precision}"


def _export(settings: Settings, source: ModelSource, precision: Precision, folder: Path) -> None:
    source.check()
    _check_can_export(source.label, folder)
    began = time.monotonic()
    log.info("model_export_started", model=source.label, precision=precision)
    _export_in_child(settings, source, [precision, str(source.folder), str(folder)], folder)
    log.info("model_exported", model=source.label, precision=precision, seconds=round(time.monotonic() - began, 2))


def _check_can_export(label: str, folder: Path) -> None:
    missing = [name for name in EXPORTING if find_spec(name) is None]
    if missing:
        raise ModelUnavailable(
            f"{folder} must have the export of {label}, because this installation lacks {', '.join(missing)}. "
            "Where memorybase is installed with all its requirements, run: memorybase export-model FOLDER. "
            "Then copy FOLDER to this machine and set MEMORYBASE_MODEL_DIR to it.",
            model=label,
        )


def _export_in_child(settings: Settings, source: ModelSource, arguments: list[str], folder: Path) -> None:
    command = [sys.executable, "-m", "memorybase.core.embedding.export", *arguments]
    environment = settings.child_environment()
    # The files are local now, so no download is allowed.
    environment |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "PYTHONUTF8": "1"}
    alive, held = os.pipe()  # the child ends when this process does, because the pipe's other end closes
    try:
        child = subprocess.run(  # noqa: S603 - our own interpreter and module, no shell
            command,
            stdin=alive,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=EXPORT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ModelUnavailable(f"The export of {source.label} did not finish.", model=source.label) from error
    finally:
        os.close(alive)
        os.close(held)
    if child.returncode != 0 or not folder.is_dir():
        output = child.stdout if child.returncode == REFUSED else child.stderr
        reason = (output.strip().splitlines() or [f"exit status {child.returncode}"])[-1]
        raise ModelUnavailable(f"{source.label} cannot be exported to ONNX: {reason}", model=source.label)
