#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace gpuos {

/// The caller broke a documented rule. Nothing was queued.
class InvalidArgument : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A number is too large, or too small, for its type. Nothing was queued.
class OutOfRange : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// An operator's version, of Operator::pinned(), is no longer the current one
/// and takes other parameters than that. Nothing was queued.
class Superseded : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// Base of everything that is not the caller's fault.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The backend, or something that it needs, does not exist on this machine. The
/// message says what to install.
class BackendUnavailable : public Error {
 public:
  using Error::Error;
};

/// A driver call failed.
class CudaError : public Error {
 public:
  CudaError(int code, std::string call, const std::string& message)
      : Error(message), code_(code), call_(std::move(call)) {}
  int code() const noexcept { return code_; }
  const std::string& call() const noexcept { return call_; }

 private:
  int code_;
  std::string call_;
};

/// Where in a source a compiler found an error, as its #line says.
struct SourcePlace {
  std::string file{};
  int line = 0;           // from 1; 0: not known
  int column = 0;         // from 1; 0: not known
  std::string excerpt{};  // the line, and below it a caret at the column
};

/// Device code did not compile, link or fit. `log()` is the compiler's.
class CompileError : public Error {
 public:
  CompileError(const std::string& message, std::string log,
               SourcePlace place = {})
      : Error(message), log_(std::move(log)), place_(std::move(place)) {}
  const std::string& log() const noexcept { return log_; }
  /// Returns the place of the first error.
  const SourcePlace& place() const noexcept { return place_; }

 private:
  std::string log_;
  SourcePlace place_;
};

/// Host code of a session threw: `type()` as C++ spells it, and its text.
class HostError : public Error {
 public:
  HostError(const std::string& message, std::string type, std::string text)
      : Error(message), type_(std::move(type)), text_(std::move(text)) {}
  const std::string& type() const noexcept { return type_; }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string type_;
  std::string text_;
};

/// A task failed while it ran. `operator_name()` is its operator.
class TaskError : public Error {
 public:
  TaskError(std::string operator_name, const std::string& message)
      : Error(message), operator_name_(std::move(operator_name)) {}
  const std::string& operator_name() const noexcept { return operator_name_; }

 private:
  std::string operator_name_;
};

/// The runtime was closed.
class QueueClosed : public Error {
 public:
  using Error::Error;
};

/// The caller cancelled its request.
class Cancelled : public Error {
 public:
  using Error::Error;
};

/// A deadline passed before the thing that was waited for happened.
class Timeout : public Error {
 public:
  using Error::Error;
};

}  // namespace gpuos
