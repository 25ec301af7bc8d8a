"""The page: templates filled in, style and script inside, nothing from anywhere else."""

from __future__ import annotations

import base64
import hashlib
import shlex
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from unmuddle.files import write_whole
from unmuddle.report import content, pictures, text
from unmuddle.report.content import Report


def write_report(path: str | Path, report: Report) -> None:
    """Write the page; it appears whole or not at all."""
    write_whole(Path(path), render(report).encode("utf-8", "replace"))


def render(report: Report) -> str:
    """The page as HTML in one piece. All that comes from the data is escaped."""
    environment = _environment()
    style, script = (environment.get_template(name).render() for name in ("report.css", "report.js"))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    return environment.get_template("report.html").render(
        report=report, style=style, script=script, policy=policy, quoted=shlex.quote(report.folder)
    )


def _hash(code: str) -> str:
    """What lets a browser run this code and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("unmuddle.report"),
        autoescape=lambda name: name is None or name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"pictures": pictures, "content": content, "text": text}
    return environment
