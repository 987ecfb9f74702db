"""Pickles of gpuos' objects, and their use in other processes."""

import copy
import gc
import json
import os
import pickle
import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import sending_cases as cases
from deadlines import WAIT_S
from program_support import python
from threads_support import in_threads

import gpuos
from gpuos import sending

cloudpickle = pytest.importorskip("cloudpickle")

# The fields of a definition, by the keywords of define().
KEYWORDS = {
    name for name, value in vars(gpuos.Definition).items()
    if isinstance(value, property)
} - {"version", "digest"}  # fmt: skip
PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
DUMPS = {f"pickle {p}": lambda x, p=p: pickle.dumps(x, p) for p in PROTOCOLS}
DUMPS["cloudpickle"] = cloudpickle.dumps


@pytest.fixture
def rt():
    with gpuos.Runtime(backend="host") as runtime:
        yield runtime


def test_the_ways_are_all_that_define_takes():
    members = vars(gpuos.Definition).items()
    own = {name for name, member in members if isinstance(member, property)}
    assert own - {"version", "digest"} == KEYWORDS
    objects = {"ptx", "ltoir", "cubin", "symbol"}  # below: a GPU's
    used = {"name"}.union(*cases.DEFINED.values())
    assert used == KEYWORDS - objects


@pytest.mark.parametrize("dumps", DUMPS.values(), ids=DUMPS)
def test_all_that_can_be_sent_answers_the_same(rt, dumps):
    for name, sent in cases.everything(rt).items():
        came = pickle.loads(dumps(sent))
        assert cases.answer(came) == expected(sent), name


def expected(sent):
    if isinstance(sent, gpuos.Array):
        return [str(sent.dtype), list(sent.shape), (sent * 2).tolist()]
    return cases.answer(sent)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_start_methods_of_multiprocessing(method):
    done = python(cases.__file__, method)
    assert done.returncode == 0, done.stderr
    wanted, got, back = json.loads(done.stdout)
    assert got == wanted
    assert back == wanted


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("way", cases.DEFINED)
def test_an_operator_is_pickled_as_its_definition(rt, way, protocol):
    op = cases.define(rt, way)
    came = pickle.loads(pickle.dumps(op, protocol))
    assert came == op.definition
    assert came.version == op.version == 1
    for name in KEYWORDS:
        assert getattr(came, name) == getattr(op.definition, name), name
    again = gpuos.Definition(**{name: getattr(came, name) for name in KEYWORDS})
    assert again.digest == came.digest
    assert again.version == 0


@pytest.mark.parametrize("way", cases.DEFINED)
def test_an_operator_is_defined_elsewhere_as_its_definition(rt, way):
    """A child of a fork is given it as it is, no pickle of it."""
    op = cases.define(rt, way)
    with gpuos.Runtime(backend="host") as other:
        again = other.define(op)
        assert again.definition.digest == op.definition.digest
        assert again.name == op.name
        assert other.define(op.definition) == again == other.find(op.name)
        with pytest.raises(gpuos.InvalidArgument, match="no other argument"):
            other.define(op, "o = x")


def resident_bytes():
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def test_getsizeof_counts_resident_memory(rt):
    """Dask uses sys.getsizeof() to free memory, so the size must be real."""
    ones = rt.ones((4096, 4096), "float32")
    rt.synchronize(WAIT_S)
    before = resident_bytes()
    x = ones * 2
    assert sys.getsizeof(x) > x.nbytes
    assert resident_bytes() - before > x.nbytes / 2


@pytest.mark.parametrize("kind", ["ptx", "ltoir", "cubin"])
def test_definitions_of_objects_carry_their_bytes(kind, tmp_path):
    path = tmp_path / "object"
    path.write_bytes(b"\x00bytes\xff")
    made = gpuos.Definition("f", inputs=2, symbol="g", **{kind: path})
    path.unlink()
    came = pickle.loads(pickle.dumps(made))
    assert came == made
    assert getattr(came, kind) == b"\x00bytes\xff"
    assert (came.symbol, came.inputs) == ("g", 2)
    kinds = {"ptx": b"1", "ltoir": b"1", "cubin": b"1"}
    digests = {gpuos.Definition("f", **{k: v}).digest for k, v in kinds.items()}
    assert len(digests) == 3


CHANGES = {
    "expression": "o = x + y * b",
    "params": {"b": ("float32", 2)},
    "dtype": ("float64",),
    "inputs": ("y", "x"),
}


def test_digests_differ_where_definitions_do():
    given = {"expression": "o = x * b", "params": {"b": ("float32", 1)}}
    digests = {gpuos.Definition("f", **given).digest}
    for name, value in CHANGES.items():
        digests.add(gpuos.Definition("f", **{**given, name: value}).digest)
    given = {"source": "s"}
    for more in ({}, {"inputs": 1}, {"elementwise": False}, {"checked": True}):
        digests.add(gpuos.Definition("f", **given, **more).digest)
    assert len(digests) == 1 + len(CHANGES) + 4
    assert gpuos.Definition("g", source="s").digest in digests


def test_definitions_cannot_be_changed():
    definition = gpuos.Definition("f", "o = x", params={"a": "int8"})
    with pytest.raises(AttributeError):
        definition.name = "g"
    definition.params["b"] = "int8"
    assert definition.params == {"a": "int8"}


@pytest.mark.parametrize("way", cases.DEFINED)
def test_a_digest_that_comes_twice_is_one_operator(rt, way):
    op = cases.define(rt, way)
    assert rt.define(op.definition) is op
    assert rt.define(pickle.loads(pickle.dumps(op))) is op
    assert op.version == 1


@pytest.mark.parametrize("way", cases.DEFINED)
def test_definitions_are_taken_wherever_operators_are_made(rt, way):
    op = cases.define(rt, way)
    sent, expected = op.definition, cases.run(rt, op)
    rt.undefine(op)
    (op,) = rt.define_many([sent])
    assert cases.run(rt, op) == expected
    rt.undefine(op)
    with rt.transaction() as change:
        change.define(sent)
    op = rt.find(sent.name)
    assert cases.run(rt, op) == expected


def replaced_by_hand(rt, op, new):
    return rt.replace(op, new)


def replaced_in_a_transaction(rt, op, new):
    with rt.transaction() as change:
        change.replace(op, new)
    return op.version


REPLACE = [replaced_by_hand, replaced_in_a_transaction]


@pytest.mark.parametrize("replace", REPLACE)
@pytest.mark.parametrize("way", cases.REPLACED)
def test_a_definition_replaces_an_operator_under_its_name(rt, way, replace):
    source = cases.define(rt, way)
    rt.replace(source, **cases.REPLACED[way])
    new, expected = source.definition, cases.run(rt, source)
    rt.undefine(source)
    op = cases.define(rt, way)
    renamed = gpuos.Definition("another", new)
    assert renamed.digest == new.digest
    assert replace(rt, op, renamed) == 2
    assert op.name == new.name
    assert cases.run(rt, op) == expected


def test_a_definition_says_all_of_its_arguments(rt):
    op, new = rt.define("f", "o = x"), gpuos.Definition("g", "o = 2 * x")
    with pytest.raises(
        gpuos.InvalidArgument, match="replace: expected no other argument"
    ):
        rt.replace(op, new, inputs=1)
    with (
        pytest.raises(
            gpuos.InvalidArgument, match="expected no other argument"
        ),
        rt.transaction() as change,
    ):
        change.define(new, "o = x")
    assert op.version == 1


def test_versions_stay_their_own(rt):
    op = rt.define("f", "o = x - y")
    sent = pickle.dumps(op)
    rt.replace(op, "o = y - x")
    second = pickle.dumps(op)
    first, later = pickle.loads(sent), pickle.loads(second)
    assert (first.version, later.version) == (1, 2)
    assert later.inputs == ("x", "y")
    assert rt.define(later) is op
    with pytest.raises(gpuos.InvalidArgument, match="which is defined"):
        rt.define(first)
    with gpuos.Runtime(backend="host") as other:
        assert other.define(later).version == 1
        assert cases.run(other, other.find("f")) == cases.run(rt, op)


def test_two_names_of_one_text_are_two_operators(rt):
    one, other = (rt.define(gpuos.Definition(n, "o = x")) for n in "fg")
    assert one.definition.digest == other.definition.digest
    rt.replace(one, "o = x + 1")
    assert cases.run(rt, one) != cases.run(rt, other)


def test_a_definition_by_many_threads_is_one_operator(rt):
    definition = gpuos.Definition(**cases.DEFINED["source"])
    start = threading.Barrier(8)

    def define():
        start.wait()
        return rt.define(definition).version

    assert in_threads(*[define] * 8) == [1] * 8


def test_a_definition_says_all(rt):
    with pytest.raises(gpuos.InvalidArgument, match="no other argument"):
        rt.define(gpuos.Definition("f", "o = x"), inputs=["x"])


REFUSED = {
    "runtime": (lambda rt: rt, "make one there"),
    "ticket": (
        lambda rt: rt.submit("fill", out=rt.zeros(1), value=1),
        "wait for it, and send the arrays",
    ),
    "alias": (lambda rt: rt.alias("f", "add"), "send alias.target"),
    "built in": (lambda rt: rt.find("add"), "send its name"),
    "own runtime": (
        lambda rt: rt.fuse(lambda x: x),
        "without runtime=",
    ),
    "captured": (
        lambda rt: gpuos.fuse(lambda x: x + len(rt.options)),
        "rt: .*got a gpuos.Runtime",
    ),
}


@pytest.mark.parametrize("dumps", DUMPS.values(), ids=DUMPS)
@pytest.mark.parametrize("name", REFUSED)
def test_unsendable_objects_say_what_to_send(rt, name, dumps):
    make, advice = REFUSED[name]
    with pytest.raises(pickle.PicklingError, match=advice):
        dumps(make(rt))


def test_the_oldest_protocol_raises(rt):
    """pybind11's base threw through Python, which ended the process."""
    for thing in (rt, rt.zeros(1), rt.alias("f", "add")):
        with pytest.raises(TypeError):
            thing.__reduce__()
        with pytest.raises(TypeError):
            type(thing).__mro__[-2]()


def test_a_fused_function_that_names_itself_is_refused():
    @gpuos.fuse
    def loop(x):
        return loop if x is None else x

    with pytest.raises(pickle.PicklingError, match="does not name itself"):
        pickle.dumps(loop)


def test_without_cloudpickle(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    for fused in (cases.of_module, cases.renamed, cases.Holder.method):
        came = pickle.loads(pickle.dumps(fused))
        assert cases.call(came) == cases.call(fused)
    with pytest.raises(pickle.PicklingError, match="install cloudpickle"):
        pickle.dumps(cases.nested(1))


def test_a_fused_function_that_comes_often_is_traced_once():
    sent = pickle.dumps(gpuos.fuse(lambda x: x * 2 + 43))
    made = pickle.loads(sent)
    for _ in range(1000):
        came = pickle.loads(sent)
        assert came is made
        assert cases.call(came) == [43, 45, 47, 49]
    assert len(made.programs()) == 1


def test_replacing_an_unpickled_function_changes_no_other():
    sent = pickle.dumps(gpuos.fuse(lambda x: x + 41))
    first = pickle.loads(sent)
    first.replace(lambda x: x + 1)
    assert cases.call(pickle.loads(sent)) == [41, 42, 43, 44]
    assert cases.call(first) == [1, 2, 3, 4]


def test_arrays_are_pickled_out_of_band(rt):
    array = rt.zeros((16, 1 << 20))
    array += 1
    buffers = []
    sent = pickle.dumps(array, 5, buffer_callback=buffers.append)
    assert len(sent) <= 300
    assert [memoryview(b).nbytes for b in buffers] == [array.nbytes]
    memory = np.frombuffer(buffers[0], "float32")
    assert memory.ctypes.data == array.ptr
    came = pickle.loads(sent, buffers=buffers)
    assert came.ptr != array.ptr
    assert float(came.sum()) == array.size
    # The memory stays while a reference exists.
    array.free()
    del array
    gc.collect()
    assert memory[-1] == 1


def test_unaligned_frames_are_unpickled(rt):
    array = rt.array(np.arange(5.0))
    buffers = []
    sent = pickle.dumps(array, 5, buffer_callback=buffers.append)
    frame = memoryview(b"xyz" + bytes(buffers[0]))[3:]
    assert pickle.loads(sent, buffers=[frame]).tolist() == array.tolist()
    with pytest.raises(
        gpuos.InvalidArgument, match="expected 40 bytes, got 39"
    ):
        pickle.loads(sent, buffers=[frame[1:]])


def test_an_array_of_a_device_that_is_not_here():
    with pytest.raises(gpuos.BackendUnavailable, match=r"cuda:977.*x\.numpy"):
        sending.load_array(b"", "float32", (0,), "cuda:977")


def test_copies(rt):
    op, fused = rt.define("f", "o = x"), gpuos.fuse(lambda x: x)
    array = rt.array([1.0, 2.0])
    for copied in (copy.copy, copy.deepcopy):
        assert copied(op) is op
        assert copied(op.definition) is not None
        assert copied(fused) is fused
        other = copied(array)
        assert other.runtime is rt
        assert (other.tolist(), other.ptr == array.ptr) == ([1, 2], False)


def test_tokens_of_dask_differ_where_results_do(rt):
    def tokens():
        made = [*cases.everything(rt).values(), rt.find("add")]
        return [str(x.__dask_tokenize__()) for x in made]

    assert tokens() == tokens()
    assert len(set(tokens())) == len(tokens())


# The limits of function calls, which do not grow on a slow machine.
LIMITS = {"dumps": 400, "loads": 8}


def test_sizes_and_costs():
    fused = cases.nested(3)
    sent = pickle.dumps(fused)
    assert len(sent) <= 1024
    assert pickle.loads(sent) is pickle.loads(sent)
    work = {
        "dumps": lambda: pickle.dumps(fused),
        "loads": lambda: pickle.loads(sent),
    }
    for name, limit in LIMITS.items():
        assert calls_of(work[name]) <= limit, name


def calls_of(body):
    events = []
    sys.setprofile(lambda _frame, event, _what: events.append(event))
    try:
        body()
    finally:
        sys.setprofile(None)
    return sum(event.endswith("call") for event in events)


def test_the_page_names_existing_functions():
    page = Path(__file__).parents[3] / "docs" / "sending.md"
    for name in re.findall(r"`gpuos\.(\w+)", page.read_text()):
        assert hasattr(gpuos, name), name
