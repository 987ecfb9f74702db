#pragma once

#include <pybind11/stl.h>

#include <algorithm>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "convert/reading.h"
#include "gpuos/error.h"
#include "gpuos/options.h"
#include "gpuos/stats.h"

namespace gpuos::python {

/// Lists the words of an enum: `static constexpr std::pair<const char*, Enum>
/// kAll[]`.
template <typename Enum>
struct Words;

// Converted<T> reads a member of type T from Python, and returns it to Python.
// `what` names the member in messages.

template <typename T>
struct Converted;

template <>
struct Converted<std::string> {
  static std::string read(const std::string& what, pybind11::handle given) {
    return text_of(given, what.c_str());
  }
};

template <std::integral T>
struct Converted<T> {
  static T read(const std::string& what, pybind11::handle given) {
    if constexpr (std::is_same_v<T, bool>)
      return truth_of(given);
    else
      return integer_as<T>(given, what.c_str());
  }
};

template <>
struct Converted<std::vector<std::string>> {
  static auto read(const std::string& what, pybind11::handle given) {
    return texts_of(given, what.c_str());
  }
};

template <typename T>
pybind11::object told(const T& value) {
  if constexpr (requires { Converted<T>::told(value); })
    return Converted<T>::told(value);
  else
    return pybind11::cast(value);
}

template <typename T>
struct Converted<std::optional<T>> {
  static std::optional<T> read(const std::string& what,
                               pybind11::handle given) {
    return Converted<T>::read(what, given);
  }
  static pybind11::object told(const std::optional<T>& value) {
    return value ? python::told(*value) : pybind11::none();
  }
};

template <typename Enum>
  requires std::is_enum_v<Enum>
struct Converted<Enum> {
  static Enum read(const std::string& what, pybind11::handle given) {
    std::string known;
    const std::string text = text_of(given, what.c_str());
    for (const auto& [word, value] : Words<Enum>::kAll) {
      if (text == word) return value;
      known += (known.empty() ? "" : ", ") + std::string(word);
    }
    throw InvalidArgument(what + ": expected one of " + known + ", got " +
                          text);
  }
  static pybind11::object told(Enum value) {
    const auto* const found = std::ranges::find(
        Words<Enum>::kAll, value, &std::pair<const char*, Enum>::second);
    return pybind11::str(found->first);
  }
};

/// Describes a member of a struct of options by its name in Python.
template <typename Owner>
struct Field {
  const char* name;
  void (*set)(Owner&, const std::string& what, const pybind11::object& given);
  pybind11::object (*get)(const Owner&);
};

template <typename Owner, typename T, T Owner::* kMember>
constexpr Field<Owner> field_of(const char* name) {
  return {
      name,
      [](Owner& to, const std::string& what, const pybind11::object& given) {
        to.*kMember = Converted<T>::read(what, given);
      },
      [](const Owner& of) { return told(of.*kMember); }};
}

template <auto kMember>
constexpr auto member_field(const char* name) {
  return []<typename Owner, typename T>(T Owner::*, const char* of) {
    return field_of<Owner, T, kMember>(of);
  }(kMember, name);
}

/// Returns the field of a keyword, or null.
template <typename Owner>
const Field<Owner>* find_field(std::span<const Field<Owner>> fields,
                               const std::string& name) {
  const auto found = std::ranges::find(fields, name, &Field<Owner>::name);
  return found == fields.end() ? nullptr : &*found;
}

/// Sets the fields of keywords that are not None. `prefix` begins the names in
/// messages. Throws: TypeError for an unknown one.
template <typename Owner>
void set_fields(Owner& to, std::span<const Field<Owner>> fields,
                const pybind11::dict& keywords, const char* where,
                const std::string& prefix) {
  for (const auto& [key, value] : keywords) {
    if (value.is_none()) continue;
    const std::string name = text_of(key, where);
    const Field<Owner>* const known = find_field(fields, name);
    if (known == nullptr)
      throw pybind11::type_error(std::string(where) + ": there is no option '" +
                                 name + "'");
    known->set(to, prefix + name,
               pybind11::reinterpret_borrow<pybind11::object>(value));
  }
}

/// Returns RuntimeOptions from keyword arguments. None or a missing one means
/// the default.
/// Throws: InvalidArgument for an unknown name or a value out of range.
RuntimeOptions options_from(const pybind11::kwargs& given);

pybind11::dict options_to_dict(const RuntimeOptions& options);

/// Returns every member by its name.
pybind11::dict stats_to_dict(const Stats& stats);

}  // namespace gpuos::python
