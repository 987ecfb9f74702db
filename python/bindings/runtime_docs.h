// Docstrings of gpuos.Runtime.
#pragma once

namespace gpuos::python::docs {

inline constexpr char kRuntime[] =
    R"(Feeds tiny operations to workers that stay, and waits for them.

Tasks behave as if they ran one after the other in the order of submission.
Every method may be called from any thread; a wait lets other threads run.

Examples
--------
>>> with gpuos.Runtime() as rt:
...     a = rt.array([1.0, 2.0], dtype="float32")
...     out = rt.empty(2)
...     rt.wait(rt.submit("add", a, a, out=out))
...     out.numpy()
array([2., 4.], dtype=float32)
)";

// Between them stands what options_doc() says.
inline constexpr char kRuntimeInit[] =
    R"(Start the workers. None for any option means its default; all
but the first three are given by keyword.

Parameters
----------
)";
inline constexpr char kRuntimeRaises[] = R"(
Raises
------
InvalidArgument
    For a value out of range.
BackendUnavailable
    If something is missing; the message says what to install.
)";

inline constexpr char kSubmit[] =
    R"(submit($self, op, /, *inputs, out, stream=None, **params)
--

Queue one task and return its ticket.

Takes gpuos.Array, NumPy arrays (host backend, no copy) and whatever speaks
DLPack or an array interface; contiguous, one dtype. Memory of other libraries
is held until the task is done; do not resize it before.

Parameters
----------
op : str, Operator or Alias
    What to run: "add", "sub", "mul", "div", "copy", "fill" or a defined one.
*inputs : array, shape of `out`
    In the order of the operator's `inputs`; the last ones, or all, may come by
    name instead.
out : array
    Receives the result. May be one of the inputs.
stream : None, int or stream object
    CUDA backend: the stream to run in, such as torch.cuda.current_stream().
    None: the runtime's own, which other streams are not ordered with.
**params : number or array
    The operator's scalars, such as value=0 for "fill", and inputs by name.

Raises
------
InvalidArgument
    Before anything is queued: shapes or dtypes that differ, an array with
    gaps, in the wrong memory, freed or read-only, an unknown name.
QueueClosed
    If the runtime was closed.
Timeout
    If the queue stays full.

Examples
--------
>>> ticket = rt.submit("add", a, b, out=c)
>>> rt.wait(ticket)
>>> op = rt.define("axpy", "o = alpha * x + y", params={"alpha": "float32"})
>>> rt.submit(op, x=a, y=b, alpha=2.0, out=c)
)";

inline constexpr char kSubmitMany[] =
    R"(submit_many($self, op, /, *columns, out=None, sizes=None, dtype=None, stream=None, **params)
--

Queue many tasks of one operator that are independent of each other.

Each column is one argument of all tasks; the last one receives the results:

- an array of one or more dimensions: a task for each row of its first axis;
- a list or tuple of arrays: a task for each;
- with `sizes`: an ndarray of int64 or uint64 addresses. Nothing is checked or
  held: the memory must stay valid until the ticket is done.

Parameters
----------
op : str, Operator or Alias
    What to run.
*columns : array, sequence of arrays, or ndarray of addresses, shape (tasks,)
    Inputs, then the output unless `out` is given.
out : the same
    The output, instead of the last column.
sizes : int or ndarray of int64, shape (tasks,)
    Elements of each task. Makes every column one of addresses.
dtype : str or numpy.dtype
    Of the memory that addresses point at.
stream, **params
    As for submit(); the same for all tasks.

Raises
------
InvalidArgument, QueueClosed, Timeout
    As submit().

Examples
--------
>>> rt.wait(rt.submit_many("add", A, B, C))      # C[i] = A[i] + B[i]
)";

inline constexpr char kWait[] = R"(Wait until the ticket's tasks are done.

Parameters
----------
ticket : Ticket
    From submit() or submit_many() of this runtime.
timeout : float or None
    Seconds; None waits for ever. Ctrl-C ends the wait.

Raises
------
Timeout
    If they are not done in time.
TaskError
    If one of them failed.
)";

inline constexpr char kSynchronize[] =
    R"(Wait until everything submitted so far is done.

Parameters
----------
timeout : float or None
    Seconds; None waits for ever.

Raises
------
Timeout
    If it is not done in time.
TaskError
    If a task failed.
)";

inline constexpr char kFlush[] =
    R"(Launch now what waits for a burst; the host backend never waits.

Parameters
----------
stream : None, int or stream object
    Only that stream's tasks; None: every stream's.
)";

inline constexpr char kStats[] =
    R"(Return counters and what the runtime chose, as a dict.

Names end in their unit; the tiles of a large task count as tasks.
)";

inline constexpr char kClose[] =
    R"(Run what is pending, stop the workers and raise what went wrong.

A second call does nothing. A with-block calls it.

Raises
------
InvalidArgument
    For the runtime of default_runtime(), which a with-block leaves open.
)";

inline constexpr char kDefinition[] =
    R"(All that Runtime.define() takes, to be kept and sent: from
Operator.definition, or made of the same arguments.

It cannot be changed. Operators are pickled as their definitions; what comes of
one in another process is what the operator was when it was sent, whatever it
becomes meanwhile.

Examples
--------
>>> op = rt.define("axpy", "o = alpha * x + y", params={"alpha": "float32"})
>>> op.definition
gpuos.Definition('axpy', 'o = alpha * x + y', version=1)
>>> rt.define(op.definition) is op
True
)";

inline constexpr char kDefine[] =
    R"(Make an operator while tasks flow.

An expression is a program as those of fuse(): it can be used at once, since it
is interpreted, and is compiled when it was called often.

Parameters
----------
name : str, Definition or Operator
    A new name; letters, digits and "_". A Definition says all of the rest, as
    does an operator, of another runtime or process; an operator that has its
    name and its digest already is what is returned.
expression : str
    Such as "o = alpha * x + y" or "o = sum(x, axis=-1) / n". Names that are
    not parameters or functions are inputs.
source : str, keyword only
    Instead: CUDA C++ with GPUOS_OPERATOR(name) { ... }, compiled and loaded.
ptx : str, bytes or path, keyword only
    Instead, on a GPU: what another compiler made of an extern "C" function.
    Elementwise it takes the elements at one place, then the parameters, and
    returns the output's; else the addresses of the output and of the inputs,
    the parameters, and three int64: the output's elements, the lane, and how
    many lanes there are.
ltoir, cubin : bytes or path, keyword only
    The same as LTO-IR, or as a relocatable CUBIN.
symbol : str, keyword only
    The name of that function. None: the operator's.
params : dict of str to dtype, or to (dtype, number), keyword only
    Scalars that submit() takes by keyword, in this order. One with a number,
    its default value, need not be given; those come last.
dtype : dtype or sequence of dtypes, keyword only
    Of the arrays. None: any for an expression, float32 for all others, which
    have one.
inputs : sequence of str or int, keyword only
    Names of the inputs, in order: submit() takes them by place or by name; or
    how many there are. None: those of an expression in order of first use, any
    number for a `source`. `ptx`, `ltoir` and `cubin` need it.
elementwise : bool, keyword only
    All but expressions: element i depends on elements i alone, so that shapes
    must agree and a large task may be split.
tiered : bool, keyword only
    `source` only: begin with what the compiler makes soonest; optimised code
    takes its place when it is ready. The host backend compiles once.
checked : bool, keyword only
    `source` only: an index out of range and an argument read as another type
    read 0, or write nowhere, and the task fails with TaskError. None: if
    GPUOS_CHECKED is 1.

Returns
-------
Operator

Raises
------
InvalidArgument
    If the name is taken, the expression is wrong, or an object has no such
    function.
CompileError
    All but expressions: with the compiler's messages in `log`.
BackendUnavailable
    If a compiler is missing, and for `ptx`, `ltoir` and `cubin` on the host.

Examples
--------
>>> axpy = rt.define("axpy", "o = alpha * x + y", params={"alpha": "float32"})
>>> rt.submit(axpy, x, y, out=o, alpha=2.0)
)";

inline constexpr char kDefineMany[] =
    R"(Make many operators at once, all or none.

Whole operators are compiled together, which takes a tenth of the time for each.

Parameters
----------
definitions : iterable of dict or Definition
    The arguments of define() by name, 'name' among them.

Returns
-------
list of Operator

Raises
------
InvalidArgument, CompileError, BackendUnavailable
    As define().

Examples
--------
>>> double, square = rt.define_many([
...     {"name": "double", "expression": "o = 2 * x"},
...     {"name": "square", "expression": "o = x * x"}])
)";

inline constexpr char kReplace[] =
    R"(Give an operator a new body that takes the same arguments.

Tasks submitted before run the old one. A failure leaves the old one working.
The old one stays loaded, for rollback().

Parameters
----------
op : str or Operator
    What to replace; it may be built in.
expression, source, ptx, ltoir, cubin, symbol, params, dtype, inputs,
elementwise, checked
    As for define(); None keeps what the operator has. `params` may be more
    than define() was given, with default values. A Definition in the place
    of `expression` says all of them; its name is not used.
expected : int, optional
    The version that is replaced. None: whichever is there.

Returns
-------
int
    The number of the new version.

Raises
------
InvalidArgument, CompileError, BackendUnavailable
    As define(); InvalidArgument too if somebody else came first and the
    version is not the expected one.
)";

inline constexpr char kRollback[] =
    R"(Make an operator run again what an earlier version ran.

Nothing is compiled, and there is no pause: tasks submitted before run what
they were submitted with.

Parameters
----------
op : str or Operator
    What is taken back.
to : int, optional
    A version among Operator.versions. None: the one before the current; called
    again, the one before that.
expected : int, optional
    The version that is current. None: whichever is there.

Returns
-------
int
    The number of the new version.

Raises
------
InvalidArgument
    If there is no such version, if it is not loaded any more, or if the current
    one is not the expected one.
)";

inline constexpr char kRestore[] =
    R"(Make a built-in operator itself again.

Parameters
----------
op : str or Operator
    What was replaced; if it was not, nothing changes.

Returns
-------
int
    The number of its version.

Raises
------
InvalidArgument
    If it is not built in.
)";

inline constexpr char kUndefine[] =
    R"(Forget an operator; its code is unloaded after its last task.

Parameters
----------
op : str, Operator or Alias
    Its name is free afterwards.
)";

inline constexpr char kAlias[] =
    R"(Make a name for an operator that can be switched and rolled back.

Parameters
----------
name : str
    A new name, for submit().
op : str, Operator or Alias
    What it means at first.

Returns
-------
Alias

Raises
------
InvalidArgument
    If the name is taken.
)";

inline constexpr char kFind[] =
    R"(Return the operator of that name.

Raises
------
InvalidArgument
    With the names there are.
)";

inline constexpr char kWatch[] =
    R"(Replace an operator, or a fused function, whenever its file is saved.

A text that names GPUOS_OPERATOR is a whole operator, any other an expression.
What does not compile leaves the old one running.

Parameters
----------
op : str, Operator or Fused
    Keeps the arguments that it takes, as in replace().
path : path, optional
    The file; of a Fused, if not given, the one that its function stands in,
    which is run anew as a module.
on_error : callable, optional
    Called with the error of a save, in the thread that replaces; the logger
    "gpuos.watch" has it if not given.

Returns
-------
Watch
    With `path` and close(); it is a context manager. It ends with the runtime.

Raises
------
InvalidArgument
    If others may write the file, or its folder.
)";
inline constexpr char kFuse[] =
    R"(Make one program of a Python function; gpuos.fuse(function, runtime=self).

Parameters
----------
function : callable
    Of operators and NumPy's functions; docs/programs.md says what it may do.

Returns
-------
Fused
    Called with arrays and numbers, it runs the program.
)";

inline constexpr char kOperators[] = "Return the names of all operators.";

inline constexpr char kArray[] =
    R"(Copy an array to the runtime's memory.

Parameters
----------
source : array_like, any shape
    Of an element type of docs/python.md; what NumPy lacks is of ml_dtypes.
dtype : dtype or None
    Convert to it first; None keeps the source's.

Returns
-------
Array
)";

inline constexpr char kEmpty[] =
    R"(Return an array of the runtime's memory; its elements are not set.

Parameters
----------
shape : int or sequence of int
dtype : dtype
    "bfloat16" too, which NumPy has not.

Returns
-------
Array
)";

inline constexpr char kZeros[] =
    R"(Return an array of zeros; the filling is a task like any other.

Parameters
----------
shape : int or sequence of int
dtype : dtype

Returns
-------
Array
)";

inline constexpr char kOnes[] =
    R"(Return an array of ones; the filling is a task like any other.

Parameters
----------
shape : int or sequence of int
dtype : dtype

Returns
-------
Array
)";

inline constexpr char kFull[] =
    R"(Return an array of one number; the filling is a task like any other.

Parameters
----------
shape : int or sequence of int
value : number, or an array that broadcasts to the shape
dtype : dtype or None
    None: that of the value, as NumPy's.

Returns
-------
Array

Raises
------
InvalidArgument
    If the value does not broadcast, or no dtype holds it.
)";

inline constexpr char kZerosLike[] =
    R"(Return zeros of an array's shape.

Parameters
----------
like : array of anybody
dtype : dtype or None
    None: the array's.

Returns
-------
Array
)";

inline constexpr char kArange[] =
    R"(Return evenly spaced numbers, made by NumPy and copied.

Parameters
----------
start, stop, step : number
    As of numpy.arange(): start alone is the stop.
dtype : dtype or None
    None: int64 or float64, as NumPy's.

Returns
-------
Array, one axis
)";

inline constexpr char kLinspace[] =
    R"(Return numbers from start to stop, made by NumPy and copied.

Parameters
----------
start, stop : number
num : int
endpoint : bool
    Whether stop is the last one.
dtype : dtype or None
    None: float64, as NumPy's.

Returns
-------
Array, one axis
)";

}  // namespace gpuos::python::docs
