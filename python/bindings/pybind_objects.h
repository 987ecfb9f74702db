// Objects of Python and casts of pybind11's, without what binds functions and
// classes: pybind11.h takes 8 s to compile, and leaves 100 KB of code in each
// file, where this takes 3 (pybind11 3.1, g++ 12). So only those include that
// which bind something.
#pragma once

#include <pybind11/cast.h>
// Inline functions that cast.h declares.
#include <pybind11/detail/class.h>

// For declarations; the names are pybind11's.
// NOLINTBEGIN(readability-identifier-naming)
namespace pybind11 {
class array;
class dtype;
class module_;
template <typename Type, typename... Options>
class class_;
}  // namespace pybind11
// NOLINTEND(readability-identifier-naming)
