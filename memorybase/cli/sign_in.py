"""sign-in: a sign-in link for the web page of a running stack."""

from __future__ import annotations

import typer

from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect


def sign_in(*, data_dir: DataDirOption = None, url: UrlOption = None, key: KeyOption = None) -> None:
    """Print a link that signs a browser in to the web page. It works once, within an hour."""
    with connect(data_dir, url, key) as client:
        typer.echo(f"{client.url}{client.create_sign_in_link().url_path}")
