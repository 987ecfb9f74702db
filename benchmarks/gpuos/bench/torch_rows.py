"""Declare the rows of `bench torch` in the order of the table."""

from functools import partial

from gpuos.bench import torch_even as even
from gpuos.bench import torch_models
from gpuos.bench import torch_programs as programs
from gpuos.bench.row import Table
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
    whole_run,
    worst_block_run,
)
from gpuos.bench.torch_whole import WHOLE

TABLE = Table()
EVEN = 0.97
WHOLE_S = 200.0
ADAM = partial(even.mlp_training, optimizer="Adam")
ADAMW = partial(even.mlp_training, optimizer="AdamW", fused=True)


def _row(key: str, name: str, asked: float, fill: Fill, *more: str) -> None:
    """Declare a row with the ratio of eager's time to ours."""
    TABLE.rows(key, f"{name}, over eager | x >= {asked}", *more)(fill)


def _ratio(key: str, name: str, asked: float, make: Make) -> None:
    _row(key, name, asked, ratio_run(make))


def _ratio_and_graph(key: str, name: str, asked: float, make: Make) -> None:
    graph = f"{name}, over a CUDA graph | x >= 1"
    _row(key, name, asked, ratio_run(make), graph)


def _on_host(key: str, name: str, asked: float, fill: Fill) -> None:
    line = f"processors{name}, over eager | x >= {asked} on host"
    TABLE.rows(f"host-{key}", line)(on_host(fill))


TABLE.rows(
    "adds",
    "independent adds, n=1024, requests | us <= 0.30",
    "independent adds, n=1024, transparent | us <= 0.45",
)(run_adds)
_ratio("mixed", "add, mul, relu, sigmoid, div", 14, programs.mixed)
_ratio_and_graph("chain", "chain of 140, n=4096", 8, programs.chain)
_ratio_and_graph(
    "matmul", "bf16 matmul and 16 small operations", 4, programs.matmul
)
_ratio("attention", "attention step", 3, programs.attention)
_ratio("decode", "decode step, changing", 3, programs.decode)
_ratio("optimizer", "optimizer step", 5, programs.optimizer)
_ratio("environment", "cart and pole", 5, programs.environment)
for rows, columns in ((8, 256), (128, 1024)):
    reduce = partial(programs.reductions, rows=rows, columns=columns)
    _ratio(f"rows-{rows}", f"rows of ({rows}, {columns})", 5, reduce)
for key, name, make in (
    ("resnet", "ResNet-50-like", torch_models.resnet),
    ("gpt", "GPT-2-like", torch_models.gpt),
):
    _row(key, name, EVEN, model_run(make))
for key, name, make in (
    ("adam", "MLP, Adam", ADAM),
    ("fused-adamw", "MLP, fused AdamW", ADAMW),
    ("gpt-train", "GPT-2-like, AdamW", even.gpt_training),
    ("block", "transformer block's step", even.layer_training),
    ("greedy", "greedy decoding", even.greedy_decoding),
    ("metrics", "metrics of batches", even.metrics),
    ("threshold", "adds over threshold", even.adds_over_threshold),
):
    _row(key, name, EVEN, even_run(make))
for name, (asked, *_) in GAINS.items():
    key = "gain-" + name.lower().replace(" ", "-")
    _ratio(key, f"gain: {name}", asked, partial(gain, name=name))

for key, name, asked, make in (
    ("add", "a + b", 3, programs.adds),
    ("mul", "a * 2.0", 6, programs.scalar_products),
    ("chain", "a chain", 5, programs.short_chains),
):
    _on_host(key, f", n=1024: {name}", asked, ratio_run(make))
for name in ("softmax", "layer_norm", "sum", "amax", "argmax"):
    for shape in ((4, 16), (128, 256)):
        reduce = partial(even.rows, name=name, shape=shape)
        key = f"{name.replace('_', '-')}-{shape[0]}"
        _on_host(key, f": {name} of {shape}", EVEN, even_run(reduce))
for key, name, make in (
    ("lstm", "LSTM cell", partial(even.cell, kind="LSTMCell")),
    ("gru", "GRU cell", partial(even.cell, kind="GRUCell")),
    ("block", "transformer layer's step", even.layer_training),
    ("adam", "MLP, Adam", ADAM),
    ("threshold", "adds over threshold", even.adds_over_threshold),
):
    _on_host(key, f": {name}", EVEN, even_run(make))
_on_host("branch", ": a branch on each value", 1.1, even_run(even.branches))
_on_host("busy", ": MLP, Adam, busy machine", 0.9, busy_run(ADAM))
_on_host("worst", ": MLP, Adam, worst block", 0.67, worst_block_run(ADAM))
for name, (part, asked, program) in WHOLE.items():
    key = "whole-" + name.lower().replace(",", "").replace(" ", "-")
    line = f"whole: {name}, over eager | x >= {asked}"
    declare = TABLE.rows(key, line, limit_s=WHOLE_S, part=f"whole-{part}")
    declare(whole_run(program))
