"""Commands as a user gives them, and what they left."""

import csv
import io
import os

from typer.testing import CliRunner

from unmuddle.cli import app

LISTS = ("label_issues.csv", "cell_issues.csv", "audit.csv")


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "200", "NO_COLOR": "1"})


def read(path):
    """A CSV as text, cell by cell."""
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode(), newline="")))


def left(path):
    """What is in the folder of a file besides it."""
    return sorted(set(os.listdir(path.parent)) - {path.name})
