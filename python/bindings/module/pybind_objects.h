// This header has pybind11's objects and casts, without the parts that bind
// functions and classes. pybind11.h takes 8 s to compile and leaves 100 KB of
// code in each file. This header takes 3 s (pybind11 3.1, g++ 12). Only files
// that bind something include pybind11.h.
#pragma once

#include <pybind11/cast.h>
// This header defines inline functions that cast.h declares.
#include <pybind11/detail/class.h>

// These are declarations with pybind11's names.
// NOLINTBEGIN(readability-identifier-naming)
namespace pybind11 {
class array;
class dtype;
class module_;
template <typename Type, typename... Options>
class class_;
}  // namespace pybind11
// NOLINTEND(readability-identifier-naming)
