"""`python deploy/pin_images.py`: writes the digest that each tag of another project's image has now into Dockerfile and
compose files. Needs Docker with buildx, and the registries."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = ("Dockerfile", "docker-compose.yml", "docker-compose.pgvector.yml")
IMAGE = re.compile(
    r"(?P<before>^(?:FROM|\s+image:) )(?P<image>(?!\S*\bmemorybase:)[\w./-]+:[\w.-]+)"
    r"(?:@(?P<digest>sha256:[0-9a-f]{64}))?(?=\s|$)",
    re.MULTILINE,
)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    version = ["docker", "buildx", "version"]
    if shutil.which("docker") is None or subprocess.run(version, check=False, capture_output=True).returncode:
        sys.exit("error: Docker with buildx is required")
    texts = {ROOT / name: (ROOT / name).read_text(encoding="utf-8") for name in FILES}
    images = sorted({match["image"] for text in texts.values() for match in IMAGE.finditer(text)})
    digests = {image: digest_of(image) for image in images}
    for path, text in texts.items():
        path.write_text(
            IMAGE.sub(lambda match: f"{match['before']}{match['image']}@{digests[match['image']]}", text),
            encoding="utf-8",
        )
    sys.stdout.writelines(f"{image}@{digest}\n" for image, digest in digests.items())


def digest_of(image: str) -> str:
    """The digest of the index, which has a manifest for each platform."""
    command = ["docker", "buildx", "imagetools", "inspect", "--format", "{{.Manifest.Digest}}", image]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    digest = done.stdout.strip()
    if done.returncode or not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        sys.exit(f"error: no digest of {image}: {done.stderr.strip() or digest or 'no answer'}")
    return digest


if __name__ == "__main__":
    main()
