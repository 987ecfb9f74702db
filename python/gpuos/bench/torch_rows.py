"""The rows of `bench torch`, in the order of the table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gpuos.bench import torch_even as even
from gpuos.bench import torch_models, torch_programs, torch_small
from gpuos.bench.row import Measure, Row
from gpuos.bench.torch_even_runs import busy_run, even_run, worst_block_run
from gpuos.bench.torch_gains import GAINS, gain
from gpuos.bench.torch_runs import model_run, on_host, ratio_run, run_adds

if TYPE_CHECKING:
    from gpuos.bench.torch_runs import Make


def torch_measures() -> list[Measure]:
    """Return every measurement, with what is asked on one H200."""
    return [
        *_stream_measures(),
        *_program_measures(),
        *_even_measures(),
        *_gain_measures(),
        *_host_measures(),
        *_even_host_measures(),
    ]


def _over_eager(name: str, asked: float, *, host: bool = False) -> Row:
    return Row(
        f"{name}, over eager", "x", asked, more_is_better=True, on_host=host
    )


def _over_graph(name: str) -> Row:
    return Row(f"{name}, over a CUDA graph", "x", 1, more_is_better=True)


def _stream_measures() -> list[Measure]:
    chain = "chain of 140, n=4096"
    product = "bf16 matmul and 16 small operations"
    return [
        Measure(
            "adds",
            [
                Row("independent adds, n=1024, requests", "us", 0.30),
                Row("independent adds, n=1024, transparent", "us", 0.45),
            ],
            run_adds,
        ),
        Measure(
            "mixed",
            [_over_eager("add, mul, relu, sigmoid, div", 14)],
            ratio_run(torch_small.mixed),
        ),
        Measure(
            "chain",
            [_over_eager(chain, 8), _over_graph(chain)],
            ratio_run(torch_small.chain),
        ),
        Measure(
            "matmul",
            [_over_eager(product, 4), _over_graph(product)],
            ratio_run(torch_programs.matmul),
        ),
    ]


def _program_measures() -> list[Measure]:
    def ratio(key: str, name: str, asked: float, make: Make) -> Measure:
        return Measure(key, [_over_eager(name, asked)], ratio_run(make))

    def rows(count: int, columns: int) -> Measure:
        make = partial(torch_programs.reductions, rows=count, columns=columns)
        name = f"rows of ({count}, {columns})"
        return ratio(f"rows-{count}", name, 5, make)

    def model(key: str, name: str, make: Make) -> Measure:
        return Measure(key, [_over_eager(name, 0.97)], model_run(make))

    return [
        ratio("attention", "attention step", 3, torch_small.attention),
        ratio("decode", "decode step, changing", 3, torch_small.decode),
        ratio("optimizer", "optimizer step", 5, torch_programs.optimizer),
        ratio("environment", "cart and pole", 5, torch_programs.environment),
        rows(8, 256),
        rows(128, 1024),
        model("resnet", "ResNet-50-like", torch_models.resnet),
        model("gpt", "GPT-2-like", torch_models.gpt),
    ]


def _host_measures() -> list[Measure]:
    def on_processors(key: str, name: str, asked: float, make: Make) -> Measure:
        row = _over_eager(f"processors, n=1024: {name}", asked, host=True)
        return Measure(key, [row], on_host(ratio_run(make)))

    return [
        on_processors("host-add", "a + b", 3, torch_small.adds),
        on_processors("host-mul", "a * 2.0", 6, torch_small.scalar_products),
        on_processors("host-chain", "a chain", 5, torch_small.short_chains),
    ]


EVEN = 0.97


def _even_measures() -> list[Measure]:
    def at_least(key: str, name: str, make: Make) -> Measure:
        return Measure(key, [_over_eager(name, EVEN)], even_run(make))

    train = even.mlp_training
    return [
        at_least("adam", "MLP, Adam", partial(train, optimizer="Adam")),
        at_least(
            "fused-adamw",
            "MLP, fused AdamW",
            partial(train, optimizer="AdamW", fused=True),
        ),
        at_least("gpt-train", "GPT-2-like, AdamW", even.gpt_training),
        at_least("block", "transformer block's step", even.layer_training),
        at_least("greedy", "greedy decoding", even.greedy_decoding),
        at_least("metrics", "metrics of batches", even.metrics),
        at_least("threshold", "adds over threshold", even.adds_over_threshold),
    ]


def _gain_measures() -> list[Measure]:
    return [
        Measure(
            "gain-" + name.lower().replace(" ", "-"),
            [_over_eager(f"gain: {name}", asked)],
            ratio_run(partial(gain, name=name)),
        )
        for name, (_, _, asked) in GAINS.items()
    ]


def _even_host_measures() -> list[Measure]:
    def row(name: str, asked: float) -> Row:
        return _over_eager(f"processors: {name}", asked, host=True)

    def at_least(key: str, name: str, make: Make) -> Measure:
        return Measure(
            f"host-{key}", [row(name, EVEN)], on_host(even_run(make))
        )

    adam = partial(even.mlp_training, optimizer="Adam")
    return [
        *(
            at_least(
                f"{name.replace('_', '-')}-{shape[0]}",
                f"{name} of {shape}",
                partial(even.rows, name=name, shape=shape),
            )
            for name in ("softmax", "layer_norm", "sum", "amax", "argmax")
            for shape in ((4, 16), (128, 256))
        ),
        at_least("lstm", "LSTM cell", partial(even.cell, kind="LSTMCell")),
        at_least("gru", "GRU cell", partial(even.cell, kind="GRUCell")),
        at_least("block", "transformer layer's step", even.layer_training),
        at_least("adam", "MLP, Adam", adam),
        at_least("threshold", "adds over threshold", even.adds_over_threshold),
        Measure(
            "host-branch",
            [row("a branch on each value", 1.1)],
            on_host(even_run(even.branches)),
        ),
        Measure(
            "host-busy",
            [row("MLP, Adam, busy machine", 0.9)],
            on_host(busy_run(adam)),
        ),
        Measure(
            "host-worst",
            [row("MLP, Adam, worst block", 0.67)],
            on_host(worst_block_run(adam)),
        ),
    ]
