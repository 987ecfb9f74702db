"""`python -m gpuos ctl`: operators of a running process, from outside."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gpuos import texts
from gpuos.cli.options import KeepsLines, bad_input, number_of_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Answer = dict[str, Any]

WAIT_S = 60.0


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of all."""
    parser = commands.add_parser(
        "ctl",
        help="look at operators of a running process, and replace them",
        description="Talk to a process that serves: by gpuos.serve(PATH), or "
        "started with GPUOS_CONTROL=PATH.",
        formatter_class=KeepsLines,
        epilog="example:\n"
        "  python -m gpuos ctl /run/user/1000/gpuos/job.sock \\\n"
        '    replace wave -e "o = 2 * u - before"',
    )
    parser.add_argument("path", type=Path, metavar="PATH")
    actions = parser.add_subparsers(dest="action", required=True)
    add = {
        name: actions.add_parser(name, help=text)
        for name, text in (
            ("list", "the operators of each runtime"),
            ("show", "what is known of an operator"),
            ("define", "define an operator"),
            ("replace", "give an operator another body"),
            ("rollback", "give an operator the body before"),
            ("stats", "the counters of each runtime"),
            ("wait", "wait for what was submitted; 1 if it takes longer"),
        )
    }
    for action, one in add.items():
        one.add_argument(
            "--runtime", type=int, metavar="N", help="if there are several"
        )
        one.add_argument(
            "--json", action="store_true", help="print the answer as it came"
        )
        one.set_defaults(function=main, action=action)
    for action in ("show", "replace", "rollback"):
        add[action].add_argument("op", metavar="OP")
    add["define"].add_argument("name", metavar="NAME")
    _add_text(add["define"])
    _add_definition(add["define"])
    _add_text(add["replace"])
    _add_params(add["replace"])
    for action in ("replace", "rollback"):
        add[action].add_argument(
            "--expect",
            type=int,
            metavar="N",
            help="refuse unless the operator's version is this",
        )
    add["wait"].add_argument(
        "--timeout",
        type=float,
        default=WAIT_S,
        metavar="S",
        help="(default: %(default)s seconds)",
    )


def _add_text(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="an expression, or CUDA C++ with GPUOS_OPERATOR; -: standard "
        "input. Its text is sent",
    )
    parser.add_argument("-e", "--expr", metavar="TEXT", help="the text itself")


def _add_params(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=DTYPE[=DEFAULT]",
        help="a scalar parameter; may be given many times",
    )


def _add_definition(parser: argparse.ArgumentParser) -> None:
    _add_params(parser)
    add = parser.add_argument
    add("--dtype", metavar="DTYPE", help="of the arrays")
    add("--inputs", metavar="N | A,B", help="how many inputs, or their names")
    add(
        "--any-shapes",
        action="store_true",
        help="elements do not belong to each other: one worker runs a task",
    )
    add("--checked", action="store_true", help="check indices and types")


def main(arguments: argparse.Namespace) -> int:
    """Ask the process and print its answer."""
    from gpuos.control import client  # noqa: PLC0415 (--help needs none)

    if arguments.action == "wait":
        seconds = number_of_seconds("--timeout", arguments.timeout)
        is_done = client.wait(arguments.path, seconds, arguments.runtime)
        if arguments.json:
            print(json.dumps({"done": is_done}))
        return 0 if is_done else 1
    answer = client.ask(arguments.path, message_of(arguments))
    if arguments.json:
        print(json.dumps(answer))
    else:
        print("\n".join(PRINTED[arguments.action](answer)))
    return 0


def message_of(arguments: argparse.Namespace) -> Answer:
    """Return the message for the command's arguments."""
    message: Answer = {"command": arguments.action}
    if arguments.runtime is not None:
        message["runtime"] = arguments.runtime
    for name in ("op", "name"):
        if hasattr(arguments, name):
            message[name] = getattr(arguments, name)
    if hasattr(arguments, "expr"):
        message |= texts.keywords_of(text_of(arguments.file, arguments.expr))
    if getattr(arguments, "expect", None) is not None:
        message["expected"] = arguments.expect
    if arguments.action == "replace":
        message |= params_from(arguments)
    if arguments.action == "define":
        message |= definition_of(arguments)
    return message


def text_of(file: str | None, text: str | None) -> str:
    """Return the text that FILE or --expr gives."""
    if (file is None) == (text is None):
        raise bad_input("expected FILE or --expr, got both or none")
    if text is not None or file is None:
        return text or ""
    if file == "-":
        data = sys.stdin.buffer.read(texts.MOST_BYTES + 1)
    else:
        with Path(file).open("rb") as source:
            data = source.read(texts.MOST_BYTES + 1)
    return texts.text_of(file, data)


def number_of(text: str) -> float:
    """Return an int or a float."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def params_from(arguments: argparse.Namespace) -> Answer:
    """Return the parameters of --param."""
    params: dict[str, str | list[str | float]] = {}
    for text in arguments.param:
        name, *words = text.split("=")
        try:
            match words:
                case [dtype]:
                    params[name] = dtype
                case [dtype, default]:
                    params[name] = [dtype, number_of(default)]
                case _:
                    raise ValueError
        except ValueError:
            message = f"--param: expected NAME=DTYPE[=DEFAULT], got {text!r}"
            raise bad_input(message) from None
    return {"params": params} if params else {}


def definition_of(arguments: argparse.Namespace) -> Answer:
    """Return the further arguments of define()."""
    found = params_from(arguments)
    if arguments.dtype:
        found["dtype"] = arguments.dtype
    if arguments.inputs:
        text = arguments.inputs
        is_number = text.isascii() and text.isdigit()
        found["inputs"] = int(text) if is_number else text.split(",")
    if arguments.any_shapes:
        found["elementwise"] = False
    if arguments.checked:
        found["checked"] = True
    return found


def lines_of_list(answer: Answer) -> Sequence[str]:
    """Return "1 host: add axpy"."""
    return [
        f"{one['runtime']} {one['backend']}: {' '.join(one['operators'])}"
        for one in answer["runtimes"]
    ]


def params_of(answer: Answer) -> Sequence[str]:
    """Return the parameters as --param takes them."""
    defaults = answer["defaults"]
    return [
        f"{name}={dtype}={defaults[name]}"
        if name in defaults
        else f"{name}={dtype}"
        for name, dtype in answer["params"].items()
    ]


def lines_of_show(answer: Answer) -> Sequence[str]:
    """Return a line for each thing that is known."""
    known = {
        "name": answer["operator"],
        "expression": answer["expression"],
        "inputs": answer["inputs"] and " ".join(answer["inputs"]),
        "params": " ".join(params_of(answer)),
        "version": answer["version"],
    }
    lines = [f"{name:<10}  {text}" for name, text in known.items() if text]
    return lines + [
        f"{one['number']:>10}  {one['digest'] or 'built in':12}  "
        f"{one['expression'] or ''}".rstrip()
        for one in answer["versions"]
    ]


def lines_of_change(answer: Answer) -> Sequence[str]:
    """Return which operator it is, and its version."""
    return [f"{answer['operator']}, version {answer['version']}"]


def lines_of_stats(answer: Answer) -> Sequence[str]:
    """Return a line for each counter of each runtime."""
    several = len(answer["runtimes"]) > 1
    return [
        f"{str(one['runtime']) + ' ' if several else ''}{name:<22}  {value}"
        for one in answer["runtimes"]
        for name, value in one["stats"].items()
    ]


PRINTED = {
    "list": lines_of_list,
    "show": lines_of_show,
    "define": lines_of_change,
    "replace": lines_of_change,
    "rollback": lines_of_change,
    "stats": lines_of_stats,
}
