
#include <chrono>
#include <string>
#include <type_traits>
#include <utility>

#include "convert/fields.h"

namespace py = pybind11;

namespace gpuos::python {

template <>
struct Words<Residency> {
  static constexpr std::pair<const char*, Residency> kAll[] = {
      {"auto", Residency::Auto},
      {"resident", Residency::Resident},
      {"burst", Residency::Burst}};
};

template <>
struct Words<WorkerImage> {
  static constexpr std::pair<const char*, WorkerImage> kAll[] = {
      {"auto", WorkerImage::Auto},
      {"embedded", WorkerImage::Embedded},
      {"ptx", WorkerImage::Ptx},
      {"nvrtc", WorkerImage::Nvrtc}};
};

// Names end in the unit: those of microseconds in _us, others in _s.
template <typename Rep, typename Period>
struct Converted<std::chrono::duration<Rep, Period>> {
  using Time = std::chrono::duration<Rep, Period>;
  using Seconds = std::chrono::duration<double>;
  static constexpr double kUnitsInSecond =
      std::is_same_v<Time, std::chrono::microseconds> ? 1e6 : 1;

  static Time read(const std::string& what, py::handle given) {
    constexpr double kLongest = 1e9;  // seconds
    const double seconds = real_of(given, what.c_str()) / kUnitsInSecond;
    if (!(seconds >= 0 && seconds <= kLongest))
      throw InvalidArgument(what + ": expected 0 or more, got " + shown(given));
    return std::chrono::ceil<Time>(Seconds(seconds));
  }
  static py::object told(const Time& value) {
    return py::float_(Seconds(value).count() * kUnitsInSecond);
  }
};

namespace {

// The options are in the order in which Python shows them.
constexpr Field<RuntimeOptions> kOptions[] = {
#define GPUOS_OPTION(type, name, python, value, text) \
  member_field<&RuntimeOptions::name>(#python),
    GPUOS_OPTIONS(GPUOS_OPTION)
#undef GPUOS_OPTION
};

}  // namespace

RuntimeOptions options_from(const py::kwargs& given) {
  RuntimeOptions options;
  set_fields<RuntimeOptions>(options, kOptions, given, "Runtime", "");
  return options;
}

py::dict options_to_dict(const RuntimeOptions& options) {
  py::dict dict;
  for (const auto& known : kOptions) dict[known.name] = known.get(options);
  return dict;
}

py::dict stats_to_dict(const Stats& stats) {
  py::dict dict;
#define GPUOS_STAT(type, name, text) dict[#name] = stats.name;
  GPUOS_STATS(GPUOS_STAT)
#undef GPUOS_STAT
  return dict;
}

}  // namespace gpuos::python
