"""The functions of functions.c for Numba, which this prints as PTX."""

import sys

from numba import cuda, types


def axpy(x, y, alpha):
    return alpha * x + y


def cube(x):
    return x * x * x


def steps(n):
    count = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def wrapped(x, y):
    return x * y


def lowered(x, by):
    return x - by


def differ(x, y):
    return x != y


def backwards(out, x, factor, count, lane, lanes):
    for i in range(lane, count, lanes):
        out[i] = factor * x[count - 1 - i]


FLOATS = types.CPointer(types.float32)
SIGNATURES = {
    axpy: types.float32(types.float32, types.float32, types.float32),
    cube: types.float64(types.float64),
    steps: types.int64(types.int64),
    wrapped: types.uint8(types.uint8, types.uint8),
    lowered: types.int16(types.int16, types.int8),
    differ: types.boolean(types.boolean, types.boolean),
    backwards: types.void(
        FLOATS, FLOATS, types.float32, types.int64, types.int64, types.int64
    ),
}


def compiled(output="ptx"):
    """Return what Numba makes of each function, by its name."""
    made = {}
    for function, signature in SIGNATURES.items():
        made[function.__name__], _result = cuda.compile(
            function,
            signature,
            device=True,
            abi="c",
            output=output,
            cc=(8, 0),
        )
    return made


def joined(texts):
    """Return texts of PTX as one, which linkers of CUDA 12 read too."""
    begin = ".version 7.0\n.target sm_80\n.address_size 64\n"
    bodies = [text[text.index(".visible") :].rstrip("\0\n") for text in texts]
    return "\n".join([begin, *bodies, ""])


if __name__ == "__main__":
    sys.stdout.write(joined(list(compiled().values())))
