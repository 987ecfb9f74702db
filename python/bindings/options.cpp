#include "options.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>

#include "gpuos/error.h"
#include "reading.h"

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

std::uint32_t count_from(const std::string& name, py::handle given) {
  return integer_as<std::uint32_t>(given, name.c_str());
}

template <typename Duration>
Duration time_from(const std::string& name, py::handle given,
                   double units_in_second) {
  constexpr double kLongest = 1e9;  // seconds
  const double seconds = real_of(given, name.c_str()) / units_in_second;
  if (!(seconds >= 0 && seconds <= kLongest)) {
    throw InvalidArgument(name + ": expected 0 or more, got " + shown(given));
  }
  return std::chrono::ceil<Duration>(duration<double>(seconds));
}

constexpr double kMicro = 1e6;

bool set_option(RuntimeOptions& o, const std::string& name, py::handle given) {
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  if (name == "backend") {
    o.backend = text_of(given, "backend");
  } else if (name == "device") {
    o.device = integer_as<int>(given, "device");
  } else if (name == "residency") {
    o.residency = choose(name, given, kResidencies);
  } else if (name == "queue_capacity") {
    o.queue_capacity = count_from(name, given);
  } else if (name == "workers") {
    o.workers = count_from(name, given);
  } else if (name == "threads_per_worker") {
    o.threads_per_worker = count_from(name, given);
  } else if (name == "linger_us") {
    o.linger = time_from<microseconds>(name, given, kMicro);
  } else if (name == "lease_us") {
    o.lease = time_from<microseconds>(name, given, kMicro);
  } else if (name == "watchdog_s") {
    o.watchdog = time_from<milliseconds>(name, given, 1);
  } else if (name == "submit_timeout_s") {
    o.submit_timeout = time_from<milliseconds>(name, given, 1);
  } else if (name == "compile_programs_after") {
    o.compile_programs_after = count_from(name, given);
  } else if (name == "flush_after_us") {
    o.flush_after = time_from<microseconds>(name, given, kMicro);
  } else if (name == "deterministic") {
    o.deterministic = truth_of(given);
  } else if (name == "worker_image") {
    o.worker_image = choose(name, given, kImages);
  } else {
    return false;
  }
  return true;
}

}  // namespace

RuntimeOptions options_from(const py::kwargs& given) {
  RuntimeOptions options;
  for (const auto& [key, value] : given) {
    if (value.is_none()) continue;
    const std::string name = text_of(key, "Runtime");
    if (!set_option(options, name, value))
      throw py::type_error("Runtime: there is no option '" + name + "'");
  }
  return options;
}

py::dict options_to_dict(const RuntimeOptions& o) {
  const auto us = [](auto time) {
    return duration<double, std::micro>(time).count();
  };
  const auto seconds = [](auto time) { return duration<double>(time).count(); };
  py::dict dict;
  dict["backend"] = o.backend;
  dict["device"] = o.device;
  dict["residency"] = word_of(o.residency, kResidencies);
  dict["queue_capacity"] = o.queue_capacity;
  dict["workers"] = o.workers;
  dict["threads_per_worker"] = o.threads_per_worker;
  dict["linger_us"] = us(o.linger);
  dict["lease_us"] = us(o.lease);
  dict["watchdog_s"] = seconds(o.watchdog);
  dict["submit_timeout_s"] = seconds(o.submit_timeout);
  dict["flush_after_us"] = us(o.flush_after);
  if (o.compile_programs_after)
    dict["compile_programs_after"] = *o.compile_programs_after;
  else
    dict["compile_programs_after"] = py::none();
  dict["deterministic"] = o.deterministic;
  dict["worker_image"] = word_of(o.worker_image, kImages);
  return dict;
}

}  // namespace gpuos::python
