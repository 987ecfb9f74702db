"""Rewrite the tables of docs/measurements.md from files of benchmarks.

    python -m gpuos bench queue --json queue.json
    scripts/figures measurements [--commit HASH] queue=queue.json ...

A table stands between `<!-- bench NAME -->` and `<!-- end -->`. NAME is queue,
programs, torch, torch-cpu, torch-whole, jit, session or host. A name that comes
twice gets a table of each file. `torch-cpu` takes the rows of CPU tensors,
`torch-whole` those of whole programs, and `torch` the others, from files of
`bench torch`. Rows without a value, or without a limit and a peer, are
sentences below their table. `--commit` is the measured commit. The default is
the commit of this checkout.
"""

import argparse
import functools
import json
import re
import runpy
import statistics
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
END = "<!-- end -->"
HEADER = "| figure | measured | asked | ok | best peer |"
GAIN, HOST, WHOLE = "gain: ", "processors", "whole: "
WHOLE_COUNTS = ("deferred", "by PyTorch", "flushes", "a flush")
WHOLE_HEADER = (
    "| program | eager | gpuos | CUDA graph | torch.compile | compiled in "
    f"| {' | '.join(WHOLE_COUNTS)} |"
)
TIMES = (" ns", " us", " ms")

Row = dict[str, Any]
fill = functools.partial(
    textwrap.fill, width=100, break_long_words=False, break_on_hyphens=False
)


@functools.cache
def tables() -> dict[str, Any]:
    # Run the file by its path. `import gpuos` would need the compiled module.
    return runpy.run_path(str(ROOT / "benchmarks/gpuos/bench/tables.py"))


def number(value: float) -> str:
    """Return three significant digits, as the benchmarks print them."""
    return tables()["number"](value)


def fold_gains(rows: list[Row]) -> list[Row]:
    """Return the rows with one row for all programs that gain."""
    gains = [row for row in rows if row["name"].startswith(GAIN)]
    gains = [row for row in gains if row["value"] is not None]
    if len(gains) < 2:
        return rows
    values = [row["value"] for row in gains]
    folded = gains[0] | {
        "name": f"{len(gains)} programs that gain",
        "value": f"{number(min(values))} to {number(max(values))}",
        "ok": all(row["ok"] for row in gains),
    }
    folded |= {"asked": None, "peers": {}, "also": {}}
    return [row for row in rows if row not in gains] + [folded]


def cells_of(row: Row) -> list[str]:
    name, value, *more, _ = tables()["asked_cells"](SimpleNamespace(**row))
    if best_peer(row) and "ours us" in row["also"]:
        value += f", {number(row['also']['ours us'])} us"
    return [name, value, *more, best_peer(row)]


def whole_line(row: Row) -> str:
    """Return the line of a whole program. Factors are times eager's speed."""
    peers, also = row["peers"], row["also"]

    def times(name: str) -> str:
        value = peers.get(name, "")
        return "-" if isinstance(value, str) else f"{number(value)} x"

    late = str(peers.get("torch.compile", "")).startswith("takes")
    compiled = f"{number(also['compile s'])} s" if "compile s" in also else "-"
    cells = [
        row["name"].removeprefix(WHOLE).removesuffix(", over eager"),
        f"{number(peers['eager us'] / 1000)} ms",
        f"{number(row['value'])} x",
        times("CUDA graph"),
        times("torch.compile"),
        peers["torch.compile"].removeprefix("takes ") if late else compiled,
        *(number(also[name]) for name in WHOLE_COUNTS),
    ]
    return f"| {' | '.join(cells)} |"


def whole_summary(rows: list[Row]) -> str:
    values = [row["value"] for row in rows]
    sizes = [row["also"]["a flush"] for row in rows]
    return (
        f"Geometric mean {number(statistics.geometric_mean(values))} x, least "
        f"{number(min(values))} x; operators a flush, median "
        f"{number(statistics.median(sizes))}."
    )


def joined(texts: tuple[str, ...]) -> str:
    """Join the cells of several rows. Return equal cells once."""
    return texts[0] if len(set(texts)) == 1 else "; ".join(filter(None, texts))


def lines_of(rows: list[Row]) -> list[str]:
    """Return a line for rows whose names only differ after the last comma."""
    groups: dict[str, list[list[str]]] = {}
    for row in rows:
        stem, comma, _ = row["name"].rpartition(", ")
        groups.setdefault(stem + comma or row["name"], []).append(cells_of(row))
    lines = []
    for stem, some in groups.items():
        names, *rest = zip(*some, strict=True)
        name = stem + "; ".join(each.removeprefix(stem) for each in names)
        cells = [name, *map(joined, rest)]
        text = " | ".join(cell.replace("|", "/") for cell in cells)
        lines.append(f"| {text} |")
    return lines


def best_peer(row: Row) -> str:
    """Return the best peer in the row's unit, else the fastest peer."""
    peers = {
        name: value
        for name, value in row["peers"].items()
        if not isinstance(value, str) and " alone" not in name
    }
    timed = {k: v for k, v in peers.items() if k.endswith(TIMES)}
    alike = {k: v for k, v in peers.items() if k not in timed and "/" not in k}
    later = {k: v for k, v in timed.items() if " first " not in k}
    if alike:
        name = (max if row["more_is_better"] else min)(alike, key=alike.get)
        return f"{name} {number(alike[name])}"
    if later:
        name = min(later, key=later.get)
        what, unit = name.rsplit(" ", 1)
        return f"{what} {number(later[name])} {unit}"
    return ""


def below(bare: list[Row], absent: list[Row]) -> str:
    """Return sentences about rows without limit and peer, or without a value.

    The other backend's table has the rows of that backend.
    """
    texts = []
    if bare:
        parts = [f"{row['name']} {cells_of(row)[1]}" for row in bare]
        texts.append(f"Without a limit: {'; '.join(parts)}.")
    names: dict[str, list[str]] = {}
    for row in absent:
        if not row["error"].endswith(" backend"):
            names.setdefault(row["error"] or "no value", []).append(row["name"])
    if names:
        parts = [
            f"{'; '.join(x) if len(x) < 4 else f'{len(x)} rows'} ({why})"
            for why, x in names.items()
        ]
        texts.append(f"Not measured: {', '.join(parts)}.")
    return fill(" ".join(texts))


def torch_table(row: Row) -> str:
    """Return the name of the table for a row of `bench torch`."""
    if row["name"].startswith(WHOLE):
        return "torch-whole"
    return "torch-cpu" if row["name"].startswith(HOST) else "torch"


def table_of(name: str, path: Path, commit: str) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    rows = [row for row in content["rows"] if row["unit"]]  # no plots
    if name.startswith("torch"):
        rows = [row for row in rows if torch_table(row) == name]
    driver = content["driver"]
    where = [content["device"], f"driver {driver}"][: 1 + (driver != "none")]
    head = f"{', '.join(where)}, {content['date'][:10]}, commit {commit}."
    table: list[Row] = []
    bare: list[Row] = []
    absent: list[Row] = []
    for row in fold_gains(rows):
        is_bare = row["asked"] is row["ok"] is None and not best_peer(row)
        kind = absent if row["value"] is None else bare if is_bare else table
        kind.append(row)
    text = below(bare, absent)
    if name == "torch-whole" and table:
        lines = [fill(head), "", WHOLE_HEADER, f"|---|{9 * '---:|'}"]
        lines += map(whole_line, table)
        text = fill(f"{whole_summary(table)} {text}")
    else:
        lines = [fill(head), "", HEADER, "|---|---:|---:|---|---|"]
        lines += lines_of(table)
    return "\n".join([*lines, *(["", text] if text else []), ""])


def put(page: str, name: str, text: str) -> str:
    """Put a text between the markers of `name` in a page."""
    begin = f"<!-- {name} -->\n"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(page):
        known = ", ".join(re.findall(r"<!-- ((?!end).*) -->", page))
        sys.exit(f"expected one of {known} with {END}, got <!-- {name} -->")
    return pattern.sub(lambda _: begin + text + END, page)


def parser_of(module_doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with `--commit`, by default this checkout's commit."""
    made = argparse.ArgumentParser(
        description=module_doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    made.add_argument("--commit", metavar="HASH", default=done.stdout.strip())
    return made


def name_and_path(text: str) -> tuple[str, Path]:
    name, sign, path = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"expected NAME=FILE, came {text}")
    return name, Path(path)


def main(arguments: list[str]) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("files", nargs="+", type=name_and_path)
    where = ROOT / "docs" / "measurements.md"
    parser.add_argument("--page", type=Path, default=where)
    options = parser.parse_args(arguments)
    made: dict[str, list[str]] = {}
    for name, path in options.files:
        table = table_of(name, path, options.commit)
        made.setdefault(name, []).append(table)
    page = options.page.read_text(encoding="utf-8")
    for name, texts in made.items():
        page = put(page, f"bench {name}", "\n".join(texts))
    options.page.write_text(page, encoding="utf-8")
    return 0
