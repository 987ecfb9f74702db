"""Programs of several ranks on one machine, each a process with a deadline."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from program_support import python_path

RANKS = 2
GROUP_S = 60  # that a collective waits for the other ranks
LOOK_S = 0.02
CASES = {}  # by name, of the module that a rank imports


def case(function):
    CASES[function.__name__] = function
    return function


def environment(rank, store):
    """Return the variables that torchrun sets for a rank on this machine."""
    return {
        **os.environ,
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(RANKS),
        "LOCAL_WORLD_SIZE": str(RANKS),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "RANKS_STORE": f"file://{store}",
        "PYTHONPATH": python_path(*Path(__file__).parents[:2]),
    }


BEGIN = """
import datetime, os, sys
import torch
import torch.distributed as dist
import gpuos
import gpuos.torch as gt
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.set_num_threads(1)
dist.init_process_group(
    "gloo", init_method=os.environ["RANKS_STORE"], rank=RANK, world_size=WORLD,
    timeout=datetime.timedelta(seconds=float(os.environ.get("GROUP_S", 60))),
)
"""

# A rank that ends while another still talks to it may end by abort().
END = """
dist.barrier()
dist.destroy_process_group()
"""


def run_ranks(text, *arguments, deadline, one_fails=False, **variables):
    """Run a program text in each rank and return the output of each.

    Parameters
    ----------
    text : str
        The text between `BEGIN` and `END`.
    deadline : float
        The time after which running ranks are killed and the test fails.
        Units: seconds.
    one_fails : bool
        Whether a rank may end with another status than 0.
    """
    with tempfile.TemporaryDirectory() as folder:
        outputs = [Path(folder, f"rank{rank}") for rank in range(RANKS)]
        processes = []
        try:
            for rank, path in enumerate(outputs):
                with path.open("wb") as output:
                    processes.append(
                        subprocess.Popen(
                            [
                                sys.executable,
                                "-c",
                                BEGIN + text + END,
                                *arguments,
                            ],
                            stdout=output,
                            stderr=subprocess.STDOUT,
                            env=environment(rank, Path(folder, "store"))
                            | variables,
                        )
                    )
            _wait(processes, time.monotonic() + deadline, one_fails)
        finally:
            for process in processes:
                process.kill()
                process.wait()
        printed = [path.read_text() for path in outputs]
    states = [process.returncode for process in processes]
    if not one_fails:
        assert not any(states), "\n".join([str(states), *printed])
    return printed


def _wait(processes, end, one_fails):
    """Wait until all have ended, or one has failed and the others wait for it."""
    while time.monotonic() < end:
        states = [process.poll() for process in processes]
        if None not in states or (any(states) and not one_fails):
            return
        time.sleep(LOOK_S)
