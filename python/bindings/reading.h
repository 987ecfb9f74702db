#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "pybind_objects.h"

namespace gpuos::python {

// What Python objects are read as. `what` names the argument in messages:
// "shape: expected an integer, got str". Reading may run Python code, so that
// what an object says of itself holds for that moment only; what is returned
// is a copy of its own.

/// Throws: TypeError for no str, InvalidArgument for one with a lone surrogate.
std::string text_of(pybind11::handle object, const char* what);

/// Does PyNumber_Index(), with our text if it is no integer. Throws: TypeError.
pybind11::object index_of(pybind11::handle object, const char* what);

/// An integer, also one of NumPy. Throws: TypeError, InvalidArgument.
std::int64_t integer_of(pybind11::handle object, const char* what);

/// Reads an integer of a narrower type.
template <typename Int>
Int integer_as(pybind11::handle object, const char* what);

/// The number of a version, from 1 on; 0 for None. Throws: TypeError,
/// InvalidArgument.
std::uint64_t version_from(pybind11::handle object, const char* what);

/// Throws: TypeError, InvalidArgument for what no address can be.
void* address_of(pybind11::handle object, const char* what);

/// Throws: TypeError, OverflowError.
double real_of(pybind11::handle object, const char* what);

/// Returns its truth value, as `if` does. Throws: what the object raises.
bool truth_of(pybind11::handle object);

/// The items of an iterable that is no text. Throws: TypeError.
pybind11::tuple items_of(pybind11::handle object, const char* what);

std::vector<std::int64_t> integers_of(pybind11::handle object,
                                      const char* what);
std::vector<std::string> texts_of(pybind11::handle object, const char* what);
/// Reads strings, and objects that have a path, as pathlib's.
std::vector<std::string> folders_of(pybind11::handle object, const char* what);

/// The items of a dict or another mapping. Throws: TypeError.
std::vector<std::pair<pybind11::object, pybind11::object>> pairs_of(
    pybind11::handle object, const char* what);

/// str(object) for a message; no object can make it fail.
std::string whole_text(pybind11::handle object);
/// Returns the object's repr(), cut if it is long.
std::string shown(pybind11::handle object);

/// The type's name, and the number if it is one: "float 2.5".
std::string kind_shown(pybind11::handle object);

/// Throws: TypeError, "<what>: expected <expected>, got <kind>".
[[noreturn]] void refuse_type(const char* what, const char* expected,
                              pybind11::handle got);

/// Throws: InvalidArgument naming the limits.
[[noreturn]] void refuse_range(const char* what, std::int64_t least,
                               std::uint64_t most, pybind11::handle got);

template <typename Int>
Int integer_as(pybind11::handle object, const char* what) {
  using Limits = std::numeric_limits<Int>;
  const std::int64_t value = integer_of(object, what);
  if (!std::in_range<Int>(value))
    refuse_range(what, Limits::min(), Limits::max(), object);
  return static_cast<Int>(value);
}

}  // namespace gpuos::python
