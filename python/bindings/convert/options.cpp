#include "convert/options.h"

#include <algorithm>
#include <chrono>
#include <concepts>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "convert/reading.h"
#include "gpuos/error.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

using std::chrono::duration;

template <typename Value>
using Choices = std::initializer_list<std::pair<const char*, Value>>;

constexpr Choices<Residency> kResidencies = {{"auto", Residency::Auto},
                                             {"resident", Residency::Resident},
                                             {"burst", Residency::Burst}};
constexpr Choices<WorkerImage> kImages = {{"auto", WorkerImage::Auto},
                                          {"embedded", WorkerImage::Embedded},
                                          {"ptx", WorkerImage::Ptx},
                                          {"nvrtc", WorkerImage::Nvrtc}};

template <typename Value>
Value choose(const std::string& name, py::handle given,
             Choices<Value> choices) {
  std::string known;
  const std::string text = text_of(given, name.c_str());
  for (const auto& [word, value] : choices) {
    if (text == word) return value;
    if (!known.empty()) known += ", ";
    known += word;
  }
  throw InvalidArgument(name + ": expected one of " + known + ", got " + text);
}

template <typename Value>
const char* word_of(Value value, Choices<Value> choices) {
  for (const auto& [word, known] : choices) {
    if (known == value) return word;
  }
  return "";
}

// These functions read a value of each type from Python and return it to
// Python.

void read(const std::string& name, py::handle given, std::string& to) {
  to = text_of(given, name.c_str());
}
template <std::integral T>
void read(const std::string& name, py::handle given, T& to) {
  if constexpr (std::is_same_v<T, bool>)
    to = truth_of(given);
  else
    to = integer_as<T>(given, name.c_str());
}
template <typename T>
void read(const std::string& name, py::handle given, std::optional<T>& to) {
  read(name, given, to.emplace());
}
void read(const std::string& name, py::handle given, Residency& to) {
  to = choose(name, given, kResidencies);
}
void read(const std::string& name, py::handle given, WorkerImage& to) {
  to = choose(name, given, kImages);
}

// Counts the units in a second. Names end in the unit: those that count
// microseconds in _us, others in _s.
template <typename Time>
constexpr double kUnitsInSecond =
    std::is_same_v<Time, std::chrono::microseconds> ? 1e6 : 1;

template <typename Rep, typename Period>
void read(const std::string& name, py::handle given,
          duration<Rep, Period>& to) {
  using Time = duration<Rep, Period>;
  constexpr double kLongest = 1e9;  // seconds
  const double seconds = real_of(given, name.c_str()) / kUnitsInSecond<Time>;
  if (!(seconds >= 0 && seconds <= kLongest))
    throw InvalidArgument(name + ": expected 0 or more, got " + shown(given));
  to = std::chrono::ceil<Time>(duration<double>(seconds));
}

template <typename T>
py::object told(const T& value) {
  return py::cast(value);
}
py::object told(const Residency& value) {
  return py::str(word_of(value, kResidencies));
}
py::object told(const WorkerImage& value) {
  return py::str(word_of(value, kImages));
}
template <typename T>
py::object told(const std::optional<T>& value) {
  return value ? told(*value) : py::none();
}
template <typename Rep, typename Period>
py::object told(const duration<Rep, Period>& value) {
  return py::float_(duration<double>(value).count() *
                    kUnitsInSecond<duration<Rep, Period>>);
}

struct Option {
  const char* name;
  void (*set)(RuntimeOptions&, const std::string& name, py::handle given);
  py::object (*get)(const RuntimeOptions&);
};

template <auto kMember>
constexpr Option option(const char* name) {
  return {name,
          [](RuntimeOptions& options, const std::string& called,
             py::handle given) { read(called, given, options.*kMember); },
          [](const RuntimeOptions& options) { return told(options.*kMember); }};
}

// The options are in the order in which Python shows them.
constexpr Option kOptions[] = {
#define GPUOS_OPTION(type, name, python, value, text) \
  option<&RuntimeOptions::name>(#python),
    GPUOS_OPTIONS(GPUOS_OPTION)
#undef GPUOS_OPTION
};

}  // namespace

RuntimeOptions options_from(const py::kwargs& given) {
  RuntimeOptions options;
  for (const auto& [key, value] : given) {
    if (value.is_none()) continue;
    const std::string name = text_of(key, "Runtime");
    const auto* known = std::ranges::find(kOptions, name, &Option::name);
    if (known == std::end(kOptions))
      throw py::type_error("Runtime: there is no option '" + name + "'");
    known->set(options, name, value);
  }
  return options;
}

py::dict options_to_dict(const RuntimeOptions& options) {
  py::dict dict;
  for (const Option& known : kOptions) dict[known.name] = known.get(options);
  return dict;
}

}  // namespace gpuos::python
