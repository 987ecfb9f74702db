"""Runs of `bench` in this process, of sizes that end at once."""

import json
import math
import re

import pytest

from gpuos.bench import main


def tiny_run(command, sizes, where=("--backend", "host")):
    """The fixture `run_tiny`: runs `command`, returns what the JSON has."""

    @pytest.fixture
    def run_tiny(monkeypatch, tmp_path):
        monkeypatch.setattr("gpuos.bench.context.host_sizes", lambda: sizes)

        def run(*arguments):
            path = tmp_path / "bench.json"
            words = [command.name, *where, "--json", path, *arguments]
            assert main([str(word) for word in words]) == 0
            return json.loads(path.read_text())

        return run

    return run_tiny


def check_rows(command, content, printed, may_lack):
    """Each row has a figure or an error such as `may_lack`; rows by name."""
    measures = [m for m in command.measures() if m.is_asked(None)]
    names = [row.name for m in measures for row in m.rows]
    assert [row["name"] for row in content["rows"]] == names
    for row in content["rows"]:
        assert row["name"] in printed
        if row["value"] is None:
            assert re.search(may_lack, row["error"]), row
        else:
            assert math.isfinite(row["value"]), row
            assert not row["error"]
    return dict(zip(names, content["rows"], strict=True))
