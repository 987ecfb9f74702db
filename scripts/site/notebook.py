"""Make a page of a notebook's texts, code and stored outputs."""

import json
from typing import Any


def block(text: str, language: str) -> str:
    """Return a fenced block. Its fence is longer than any in the text."""
    return f"````{language}\n{text.rstrip()}\n````\n"


def text_of(output: dict[str, Any]) -> str:
    """Return the text of an output, without pictures."""
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}"
    found = output.get("text") or output.get("data", {}).get("text/plain", "")
    return "".join(found)


def page(text: str) -> str:
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source + "\n")
            continue
        is_cpp = source.startswith(("%%cuda", "%%gpuos"))
        parts.append(block(source, "cpp" if is_cpp else "python"))
        shown = "".join(text_of(output) for output in cell["outputs"])
        if shown.strip():
            parts.append(block(shown, 'text title="Output"'))
    return "\n".join(parts)
