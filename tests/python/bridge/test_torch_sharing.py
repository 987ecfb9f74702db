"""Memory that NumPy, a buffer's owner or a file shares with a tensor."""

import mmap
import random
import weakref
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from torch_support import NEVER_MS, cloned, gt, scheduler, torch

pytestmark = [
    pytest.mark.torch,
    pytest.mark.host,  # NumPy has no memory of a GPU
    pytest.mark.filterwarnings("ignore:The given .* is not writable"),
]

ELEMS = 8
BYTES = 4 * ELEMS


def array():
    return np.arange(ELEMS, dtype=np.float32)


def file_of(folder):
    path = folder / "numbers"
    array().tofile(path)
    return str(path)


def mapped(folder):
    with Path(file_of(folder)).open("r+b") as file:
        return mmap.mmap(file.fileno(), BYTES)


def of_array(function):
    """Return a way to share an array of NumPy."""

    def share(_):
        own = array()
        return function(own), own

    return share


def of_buffer(make):
    """Return a way to share a buffer that also has a NumPy array."""

    def share(folder):
        buffer = make(folder)
        tensor = torch.frombuffer(buffer, dtype=torch.float32)
        return tensor, np.frombuffer(buffer, np.float32)

    return share


def of_tensor(function):
    """Return a way to share a tensor's memory."""

    def share(_):
        tensor = torch.arange(ELEMS, dtype=torch.float32)
        return tensor, function(tensor)

    return share


def of_map(folder):
    own = np.memmap(file_of(folder), np.float32, "r+")
    return torch.from_numpy(own), own


def of_file(folder):
    path = file_of(folder)
    tensor = torch.from_file(path, shared=True, size=ELEMS)
    return tensor, np.memmap(path, np.float32, "r+")


def loaded(folder, flags):
    """Return a tensor that is a slice of a map, of a new file."""
    path = folder / "saved"
    path.unlink(missing_ok=True)
    torch.save(torch.from_numpy(array()), path)
    with torch.serialization.set_default_mmap_options(flags):
        return torch.load(path, mmap=True), torch.load(path, mmap=True)


def of_load(folder):
    tensor, other = loaded(folder, mmap.MAP_SHARED)
    return tensor, other.numpy()


# The tensor, and the array that shares its memory.
WAYS = {
    "from_numpy": of_array(torch.from_numpy),
    "as_tensor": of_array(torch.as_tensor),
    "asarray": of_array(torch.asarray),
    "from_dlpack": of_array(torch.from_dlpack),
    "slice": of_array(lambda own: torch.from_numpy(own[1:-1])),
    "steps": of_array(lambda own: torch.from_numpy(own[::2])),
    "bytearray": of_buffer(lambda _: bytearray(array().tobytes())),
    "mmap": of_buffer(mapped),
    "memoryview": of_buffer(lambda _: memoryview(bytearray(array().tobytes()))),
    "memmap": of_map,
    "from_file": of_file,
    "load": of_load,
    "numpy": of_tensor(torch.Tensor.numpy),
    "__array__": of_tensor(np.asarray),
    "view.numpy": of_tensor(lambda x: x[1:].numpy()),
    "view of numpy": of_tensor(lambda x: memoryview(x.numpy()[1:])),
    "detach": of_tensor(lambda x: x.detach().numpy()[::2]),
    "np.from_dlpack": of_tensor(np.from_dlpack),
    "to_dlpack": of_tensor(
        lambda x: torch.from_dlpack(torch.to_dlpack(x)).numpy()
    ),
    "share_memory_": of_tensor(lambda x: x.share_memory_().numpy()),
}


def program(seed, way, folder, in_scheduler):
    """Return the values that a random program sees, which writes to both."""
    draws = random.Random(seed)
    tensor, other = WAYS[way](folder)
    own = np.asarray(other)
    kept = [torch.full_like(tensor, 2.0)]
    seen = []
    with in_scheduler():
        for _ in range(24):
            step = draws.randrange(9)
            last = draws.choice(kept[-4:])
            if step == 0:
                own += 1
            elif step == 1:
                own[draws.randrange(len(own))] = draws.random()
            elif step == 2:
                tensor += 1
            elif step == 3:
                tensor[1:].mul_(last[1:])
            elif step == 4:
                torch.add(tensor, last, out=tensor)
            elif step == 5:
                seen.append(own.copy().tolist())
            elif step == 6:
                kept.append(tensor.sum() + last)
            elif step == 7:
                kept.append(torch.where(tensor > last, tensor, last * 0.5))
            else:
                kept.append(tensor * 0.5 + last)
    return seen, cloned(kept)


@pytest.mark.parametrize("way", WAYS)
def test_programs_in_which_numpy_writes_between_operations(tmp_path, way):
    for seed in range(20):
        with torch.no_grad():
            expected = program(seed, way, tmp_path, torch.no_grad)
            came = program(seed, way, tmp_path, scheduler)
        torch.testing.assert_close(came, expected)


def is_deferred(tensor):
    """Return whether operations that read it, and change it, are deferred."""
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS):
        _read = tensor + 1
        reads = gt.pending()
        gt.flush()
        tensor.add_(1)
        return reads, gt.pending()


@pytest.mark.parametrize(
    "make",
    [
        lambda _: torch.from_numpy(array()),
        lambda _: torch.as_tensor(array()[2:]),
        lambda _: torch.frombuffer(bytearray(BYTES), dtype=torch.float32),
        lambda folder: torch.from_file(file_of(folder), size=ELEMS),
        lambda folder: loaded(folder, mmap.MAP_PRIVATE)[0],
        lambda _: torch.ones(ELEMS).share_memory_(),
    ],
    ids=["array", "slice", "bytearray", "private map", "load", "share_memory_"],
)
def test_tensors_with_unshared_memory_are_deferred(tmp_path, make):
    assert is_deferred(make(tmp_path)) == (1, 1)


@pytest.mark.parametrize("way", [way for way in WAYS if "numpy" in way])
def test_tensors_are_deferred_after_sharing_ends(tmp_path, way):
    tensor, other = WAYS[way](tmp_path)
    assert is_deferred(tensor) == (0, 0)
    del other
    assert is_deferred(tensor) == (1, 1)


def test_read_only_maps_are_deferred(tmp_path):
    own = np.memmap(file_of(tmp_path), np.float32, "r")
    with torch.no_grad(), gt.scheduler(auto_flush_ms=NEVER_MS):
        for tensor in (
            torch.from_numpy(own),
            torch.from_numpy(own[2:]),
            torch.frombuffer(bytes(BYTES), dtype=torch.float32),
        ):
            before = gt.pending()
            _read = tensor + 1
            assert gt.pending() == before + 1


def test_an_array_that_a_weak_reference_knows_is_shared():
    numbers = array()
    cached = weakref.ref(numbers)
    x = torch.from_numpy(numbers)
    del numbers
    with torch.no_grad(), scheduler(takes=0):
        y = x * 2
        cached()[:] = 5
    assert y.tolist() == (2 * array()).tolist()
