"""Make pages of the package's signatures and docstrings."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

import numpydoc
from modules import Module, declaration

if TYPE_CHECKING:
    from pathlib import Path

    from modules import Entry

FOLDER = "reference/python/"


class Topic(NamedTuple):
    """A page with its title, its introduction and its names."""

    title: str
    about: str
    names: str = ""  # empty for the module's `__all__`
    module: str = "gpuos"


def example(*pages: str) -> str:
    links = (f"[{page}](../../{page})" for page in pages)
    return f"By example: {', '.join(links)}.\n"


TOPICS = {
    "runtime": Topic(
        "Runtimes and operators",
        example("python.md", "operators.md", "control.md"),
        "Runtime Ticket Operator OperatorVersion Definition Alias Transaction "
        "default_runtime serve synchronize",
    ),
    "arrays": Topic(
        "Arrays",
        example("python.md") + "Operators, and the protocols of NumPy and "
        "DLPack, are not listed.\n",
        "Array",
    ),
    "programs": Topic(
        "Programs", example("programs.md"), "fuse Fused Program Value"
    ),
    "functions": Topic(
        "gpuos.functions",
        "What each means: [functions.md](../../functions.md).\n",
        module="gpuos.functions",
    ),
    "kernels": Topic(
        "Kernels of your own",
        example("jit.md"),
        "JitModule JitOptions Kernel KernelArgs KernelAttributes KernelLaunch "
        "ModuleInfo modules CompileFuture compile_async get_include get_library",
    ),
    "sessions": Topic(
        "Sessions",
        example("sessions.md"),
        "Session CellResult load_ipython_extension",
    ),
    "errors": Topic(
        "Errors",
        "When which is raised: [errors.md](../../errors.md).\n",
        "Error InvalidArgument OutOfRange WrongType BackendUnavailable "
        "CudaError CompileError HostError TaskError QueueClosed Cancelled Timeout",
    ),
    "machine": Topic(
        "What is found on this machine",
        "What helps: [troubleshooting.md](../../troubleshooting.md).\n",
        "diagnose Diagnosis Finding",
    ),
    "cache": Topic(
        "gpuos.cache",
        "What is kept: [cache.md](../../cache.md).\n",
        module="gpuos.cache",
    ),
    "ray": Topic("gpuos.ray", example("ray.md"), module="gpuos.ray"),
    "torch": Topic("gpuos.torch", example("torch.md"), module="gpuos.torch"),
    "typing": Topic(
        "gpuos.typing",
        "Types for annotations.\n",
        module="gpuos.typing",
    ),
}


def part(entry: Entry, level: int) -> str:
    code = f"```python\n{declaration(entry.nodes)}\n```\n"
    title = f"{'#' * level} `{entry.name}`\n"
    return "\n".join([title, code, numpydoc.markdown(entry.doc)])


def item(entry: Entry) -> str:
    """Return a list item with a field and its docstring."""
    text = " ".join(str(entry.doc).split())
    return f"- `{declaration(entry.nodes)}`: {text}"


def is_field(entry: Entry) -> bool:
    return isinstance(entry.nodes[0], ast.AnnAssign)


def page(root: Path, topic: Topic) -> str:
    """Return a page with each name, and a class's members below it."""
    module = Module(root, topic.module)
    parts = [f"# {topic.title}\n\n{topic.about}"]
    for name in topic.names.split() or module.all():
        found = module.entry(name)
        parts.append(part(found, 2))
        # Fields do not need titles.
        fields = [x for x in found.members if is_field(x)]
        told = [x for x in fields if x.doc]
        untold = [declaration(x.nodes) for x in fields if not x.doc]
        if untold:
            code = "\n".join(untold)
            parts.append(f"```python\n{code}\n```\n")
        if told:
            parts.append("\n".join(map(item, told)) + "\n")
        parts += [part(x, 3) for x in found.members if not is_field(x)]
    return "\n".join(parts)


def pages(root: Path) -> dict[str, str]:
    lines = [
        "# Python\n",
        "What each name takes, gives and raises, from its docstring.",
        "[python.md](../../python.md) shows the package by example.\n",
        *(f"- [{topic.title}]({x}.md)" for x, topic in TOPICS.items()),
    ]
    return {
        FOLDER + "index.md": "\n".join(lines) + "\n",
        **{f"{FOLDER}{x}.md": page(root, topic) for x, topic in TOPICS.items()},
    }
