#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "gpuos/export.h"

namespace gpuos {

/// Reports a broken rule for an argument. Nothing was queued.
class GPUOS_API InvalidArgument : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Reports a number outside of the range of its type. Nothing was queued.
class GPUOS_API OutOfRange : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// Reports an operand whose dtype or class a function does not take. Nothing
/// was queued.
class GPUOS_API WrongType : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// Reports that a version from Operator::pinned() is no longer current, and
/// that the current one takes other parameters. Nothing was queued.
class GPUOS_API Superseded : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// Is the base of all errors that the caller did not cause.
class GPUOS_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reports that this machine lacks the backend or something that it needs. The
/// message says what to install.
class GPUOS_API BackendUnavailable : public Error {
 public:
  using Error::Error;
};

/// Reports a failed driver call.
class GPUOS_API CudaError : public Error {
 public:
  CudaError(int code, std::string call, const std::string& message)
      : Error(message), code_(code), call_(std::move(call)) {}
  int code() const noexcept { return code_; }
  const std::string& call() const noexcept { return call_; }

 private:
  int code_;
  std::string call_;
};

/// Names the place of an error in a source, as #line sets it.
struct SourcePlace {
  std::string file{};
  int line = 0;           // from 1; 0: not known
  int column = 0;         // from 1; 0: not known
  std::string excerpt{};  // the line, and below it a caret at the column
};

/// Reports device code that does not compile, link or fit. `log()` returns the
/// compiler's log.
class GPUOS_API CompileError : public Error {
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

/// Reports an exception of a session's host code. `type()` is its C++ type.
class GPUOS_API HostError : public Error {
 public:
  HostError(const std::string& message, std::string type, std::string text)
      : Error(message), type_(std::move(type)), text_(std::move(text)) {}
  const std::string& type() const noexcept { return type_; }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string type_;
  std::string text_;
};

/// Reports a task that failed while it ran. `operator_name()` is its operator.
class GPUOS_API TaskError : public Error {
 public:
  TaskError(std::string operator_name, const std::string& message)
      : Error(message), operator_name_(std::move(operator_name)) {}
  const std::string& operator_name() const noexcept { return operator_name_; }

 private:
  std::string operator_name_;
};

/// Reports that the runtime was closed.
class GPUOS_API QueueClosed : public Error {
 public:
  using Error::Error;
};

/// Reports that the caller cancelled its request.
class GPUOS_API Cancelled : public Error {
 public:
  using Error::Error;
};

/// Reports that a wait reached its deadline.
class GPUOS_API Timeout : public Error {
 public:
  using Error::Error;
};

}  // namespace gpuos
