// The element types. One line here is a dtype (gpuos::DType) with its size and
// kind, its names in Python, device code, DLPack and PyTorch, and the type that
// programs compute it in. The line of a short float also says how interpreters,
// compiled code and scalars load, store and round it. To add a short float, add
// its line, and its type in cpp/device/short_floats.h. Host compilers, nvcc and
// NVRTC read this.
#pragma once

// X(with, name, text, bytes, Stored, fraction, most, dlpack, package, torch)
//   with      whatever the list is expanded with
//   name      in DType
//   text      in Python
//   bytes     of an element
//   Stored    as device code spells it, in namespace gpuos
//   fraction  bits of it; the rest but the sign is the exponent
//   most      the bits of what is too large: infinity, or the largest number
//   dlpack    DLPack's code of the type
//   package   that makes it a dtype of NumPy
//   torch     PyTorch's ScalarType
// Real dtypes of fewer bits than float32, which programs compute as float.
#define GPUOS_SHORT_FLOATS(X, with)                                       \
  X(with, Float16, float16, 2, F16, 10, 0x7c00, 2, numpy, Half)           \
  X(with, BFloat16, bfloat16, 2, Bf16, 7, 0x7f80, 4, ml_dtypes, BFloat16) \
  X(with, Float8E4M3FN, float8_e4m3fn, 1, E4M3, 3, 0x7e, 10, ml_dtypes,   \
    Float8_e4m3fn)                                                        \
  X(with, Float8E5M2, float8_e5m2, 1, E5M2, 2, 0x7c, 12, ml_dtypes, Float8_e5m2)

// X(name, text, bytes, kind, Stored, type, dlpack, package, torch)
//   kind  see DTypeKind
//   type  that programs compute it in, see Type in
//   cpp/device/interpreter/codes.h
// The first four are those of the built-in operators, in the order of their
// slots; the order of the others says nothing.
#define GPUOS_DTYPES(X)                                                      \
  X(Float32, float32, 4, Floating, float, kF32, 2, numpy, Float)             \
  X(Float64, float64, 8, Floating, double, kF64, 2, numpy, Double)           \
  X(Int32, int32, 4, Signed, int, kI32, 0, numpy, Int)                       \
  X(Int64, int64, 8, Signed, long long, kI64, 0, numpy, Long)                \
  X(Bool, bool, 1, Bool, bool, kI32, 6, numpy, Bool)                         \
  X(Int8, int8, 1, Signed, signed char, kI32, 0, numpy, Char)                \
  X(UInt8, uint8, 1, Unsigned, unsigned char, kU32, 1, numpy, Byte)          \
  X(Int16, int16, 2, Signed, short, kI32, 0, numpy, Short)                   \
  X(UInt16, uint16, 2, Unsigned, unsigned short, kU32, 1, numpy, UInt16)     \
  X(UInt32, uint32, 4, Unsigned, unsigned int, kU32, 1, numpy, UInt32)       \
  X(UInt64, uint64, 8, Unsigned, unsigned long long, kU64, 1, numpy, UInt64) \
  GPUOS_SHORT_FLOATS(GPUOS_SHORT_DTYPE, X)                                   \
  X(Complex64, complex64, 8, Complex, gpuos::C64, kC64, 5, numpy,            \
    ComplexFloat)                                                            \
  X(Complex128, complex128, 16, Complex, gpuos::C128, kC128, 5, numpy,       \
    ComplexDouble)
#define GPUOS_SHORT_DTYPE(X, name, text, bytes, Stored, fraction, most, \
                          dlpack, package, torch)                       \
  X(name, text, bytes, Floating, gpuos::Stored, kF32, dlpack, package, torch)
