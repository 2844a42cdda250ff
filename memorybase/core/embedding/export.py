"""`python -m memorybase.core.embedding.export PRECISION SOURCE TARGET`: a model's folder to ONNX.

PRECISION is fp32 or int8, SOURCE a folder in sentence-transformers' layout. It runs in its own process, whose memory is
then free again, and ends with its parent. The target appears atomically.
"""

from __future__ import annotations

import _thread
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memorybase.core import file_lock
from memorybase.core.embedding import bert, torch_export
from memorybase.core.embedding.exported import REFUSED, TOKENIZER_FILE
from memorybase.core.embedding.quantize import quantize_model
from memorybase.core.embedding.reference import check_installed
from memorybase.core.embedding.source import is_default
from memorybase.core.embedding.token_vectors import DEFAULT_PROJECTION, PROJECTION_FILE, Projection, calibration_texts
from memorybase.core.embedding.torch_export import CHECK_TEXTS, open_export
from memorybase.core.errors import ModelUnavailable

MINIMUM_INT8_COSINE = 0.97  # to fp32; MiniLM's minimum over 1,040 chat messages is .982


def main() -> int:
    """Export; returns 0 if the target exists, or REFUSED with the reason on the last line."""
    export = {"fp32": export_model, "int8": export_int8}[sys.argv[1]]
    source, target = map(Path, sys.argv[2:4])
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _lock(target):
            if not target.is_dir():
                _export_whole(export, source, target)
    except (ModelUnavailable, OSError) as error:
        sys.stdout.write(f"{error}\n")
        return REFUSED
    except KeyboardInterrupt:
        return 1
    return 0


def _end_with_parent() -> None:
    """Interrupt the export, which then removes its partial files, once the parent's end of the pipe is closed."""
    os.read(0, 1)
    _thread.interrupt_main()


@contextmanager
def _lock(target: Path) -> Iterator[None]:
    """Lock the target against other exporting processes; the lock ends with its process."""
    with target.with_name(f"{target.name}.lock").open("w", encoding="utf-8") as file:
        file_lock.take(file.fileno())
        yield


def _export_whole(export: Callable[[Path, Path], None], source: Path, target: Path) -> None:
    for leftover in target.parent.glob(f"{target.name}.part-*"):
        shutil.rmtree(leftover)  # of a dead process, because this one holds the lock
    part = Path(tempfile.mkdtemp(prefix=f"{target.name}.part-", dir=target.parent))
    try:
        part.chmod(0o777 & ~_umask())  # mkdtemp's mode is 0700, and workers of other users may share the folder
        export(source, part)
        _sync(part)
        part.replace(target)
        _sync(target.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _umask() -> int:
    os.umask(mask := os.umask(0o077))
    return mask


def _sync(folder: Path) -> None:
    """Sync before the rename, so that a power cut leaves no partial model under the final name."""
    is_posix = os.name == "posix"  # Windows opens no folder, and syncs only what may be written
    files = [path for path in folder.glob("*") if path.is_file()]
    for path in (*files, folder) if is_posix else files:
        handle = os.open(path, os.O_RDONLY if is_posix else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def export_model(source: Path, folder: Path) -> None:
    """Write graph, tokenizer, manifest and projection into the folder; raises ModelUnavailable."""
    try:
        bert.build(source, folder).write(folder)
        shutil.copyfile(source / TOKENIZER_FILE, folder / TOKENIZER_FILE)
    except bert.OtherArchitecture as error:
        check_installed(error.message)
        torch_export.export(source, folder)
    if is_default(source):  # its projection is published
        shutil.copyfile(DEFAULT_PROJECTION, folder / PROJECTION_FILE)
    else:
        Projection.fitted(open_export(folder).token_states(calibration_texts())).write(folder / PROJECTION_FILE)


def export_int8(source: Path, folder: Path) -> None:
    """Write the int8 form of the export into the folder; raises ModelUnavailable if its vectors differ."""
    with tempfile.TemporaryDirectory(prefix="fp32-", dir=folder) as name:
        exported = Path(name)
        export_model(source, exported)
        quantize_model(exported, folder)
        vectors = [open_export(path).embed(CHECK_TEXTS) for path in (exported, folder)]
    worst = float((vectors[0] * vectors[1]).sum(axis=1).min())
    if not worst > MINIMUM_INT8_COSINE:  # also true for NaN
        raise ModelUnavailable(
            f"its int8 form differs from the model (cosine {worst:.4f}). "
            "Set MEMORYBASE_EMBEDDING_BACKEND=onnx to use the model anyway."
        )


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.exit(main())
