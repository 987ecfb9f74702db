#include "runtime/waiting.h"

#include <algorithm>
#include <sstream>

#include "convert/reading.h"

namespace py = pybind11;

namespace gpuos::python {

using std::chrono::nanoseconds;

inline constexpr std::chrono::milliseconds kSlice{50};
inline constexpr double kLongestSeconds = 1e9;

Deadline Deadline::from_timeout(py::handle timeout, const char* where) {
  Deadline deadline;
  if (timeout.is_none()) return deadline;
  const double seconds = real_of(timeout, "timeout");
  if (!(seconds >= 0)) {
    std::ostringstream text;
    text << where << ": expected a timeout of 0 or more seconds, or None, got "
         << seconds;
    throw InvalidArgument(text.str());
  }
  deadline = after(std::chrono::duration_cast<nanoseconds>(
      std::chrono::duration<double>(std::min(seconds, kLongestSeconds))));
  deadline.seconds_ = seconds;
  return deadline;
}

Deadline Deadline::after(nanoseconds time) {
  Deadline deadline;
  deadline.is_set_ = true;
  deadline.seconds_ = std::chrono::duration<double>(time).count();
  deadline.at_ = Clock::now() + time;
  return deadline;
}

nanoseconds Deadline::next_slice() const {
  if (!is_set_) return kSlice;
  const nanoseconds left = at_ - Clock::now();
  return std::clamp<nanoseconds>(left, nanoseconds::zero(), kSlice);
}

void throw_timeout(const char* where, const Deadline& deadline) {
  std::ostringstream text;
  text << where << ": not done within " << deadline.seconds() << " s";
  throw Timeout(text.str());
}

}  // namespace gpuos::python
