"""The rows of `bench torch`, in the order of the table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gpuos.bench import torch_even as even
from gpuos.bench import torch_models, torch_programs, torch_small
from gpuos.bench.row import Row, Table, at_least
from gpuos.bench.torch_gains import GAINS, gain
from gpuos.bench.torch_runs import (
    Fill,
    Make,
    busy_run,
    even_run,
    model_run,
    on_host,
    ratio_run,
    run_adds,
    worst_block_run,
)

TABLE = Table()
EVEN = 0.97


def _over_eager(name: str, asked: float, *, host: bool = False) -> Row:
    return at_least(f"{name}, over eager", "x", asked, host=host)


def _ratio(key: str, name: str, asked: float, make: Make) -> None:
    TABLE.rows(key, _over_eager(name, asked))(ratio_run(make))


def _ratio_and_graph(key: str, name: str, asked: float, make: Make) -> None:
    graph = at_least(f"{name}, over a CUDA graph", "x", 1)
    TABLE.rows(key, _over_eager(name, asked), graph)(ratio_run(make))


def _model(key: str, name: str, make: Make) -> None:
    TABLE.rows(key, _over_eager(name, EVEN))(model_run(make))


def _even(key: str, name: str, make: Make) -> None:
    TABLE.rows(key, _over_eager(name, EVEN))(even_run(make))


def _host_ratio(key: str, name: str, asked: float, make: Make) -> None:
    row = _over_eager(f"processors, n=1024: {name}", asked, host=True)
    TABLE.rows(f"host-{key}", row)(on_host(ratio_run(make)))


def _host_even(
    key: str,
    name: str,
    make: Make,
    asked: float = EVEN,
    run: Callable[[Make], Fill] = even_run,
) -> None:
    row = _over_eager(f"processors: {name}", asked, host=True)
    TABLE.rows(f"host-{key}", row)(on_host(run(make)))


TABLE.rows(
    "adds",
    Row("independent adds, n=1024, requests", "us", 0.30),
    Row("independent adds, n=1024, transparent", "us", 0.45),
)(run_adds)
_ratio("mixed", "add, mul, relu, sigmoid, div", 14, torch_small.mixed)
_ratio_and_graph("chain", "chain of 140, n=4096", 8, torch_small.chain)
_ratio_and_graph(
    "matmul", "bf16 matmul and 16 small operations", 4, torch_programs.matmul
)

_ratio("attention", "attention step", 3, torch_small.attention)
_ratio("decode", "decode step, changing", 3, torch_small.decode)
_ratio("optimizer", "optimizer step", 5, torch_programs.optimizer)
_ratio("environment", "cart and pole", 5, torch_programs.environment)
for rows, columns in ((8, 256), (128, 1024)):
    reduce = partial(torch_programs.reductions, rows=rows, columns=columns)
    _ratio(f"rows-{rows}", f"rows of ({rows}, {columns})", 5, reduce)
_model("resnet", "ResNet-50-like", torch_models.resnet)
_model("gpt", "GPT-2-like", torch_models.gpt)

ADAM = partial(even.mlp_training, optimizer="Adam")
ADAMW = partial(even.mlp_training, optimizer="AdamW", fused=True)
_even("adam", "MLP, Adam", ADAM)
_even("fused-adamw", "MLP, fused AdamW", ADAMW)
_even("gpt-train", "GPT-2-like, AdamW", even.gpt_training)
_even("block", "transformer block's step", even.layer_training)
_even("greedy", "greedy decoding", even.greedy_decoding)
_even("metrics", "metrics of batches", even.metrics)
_even("threshold", "adds over threshold", even.adds_over_threshold)

for name, (*_, asked) in GAINS.items():
    key = "gain-" + name.lower().replace(" ", "-")
    _ratio(key, f"gain: {name}", asked, partial(gain, name=name))

_host_ratio("add", "a + b", 3, torch_small.adds)
_host_ratio("mul", "a * 2.0", 6, torch_small.scalar_products)
_host_ratio("chain", "a chain", 5, torch_small.short_chains)

for name in ("softmax", "layer_norm", "sum", "amax", "argmax"):
    for shape in ((4, 16), (128, 256)):
        reduce = partial(even.rows, name=name, shape=shape)
        key = f"{name.replace('_', '-')}-{shape[0]}"
        _host_even(key, f"{name} of {shape}", reduce)
_host_even("lstm", "LSTM cell", partial(even.cell, kind="LSTMCell"))
_host_even("gru", "GRU cell", partial(even.cell, kind="GRUCell"))
_host_even("block", "transformer layer's step", even.layer_training)
_host_even("adam", "MLP, Adam", ADAM)
_host_even("threshold", "adds over threshold", even.adds_over_threshold)
_host_even("branch", "a branch on each value", even.branches, 1.1)
_host_even("busy", "MLP, Adam, busy machine", ADAM, 0.9, busy_run)
_host_even("worst", "MLP, Adam, worst block", ADAM, 0.67, worst_block_run)
