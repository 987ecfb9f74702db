#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpuos/session.h"
#include "module/pybind_objects.h"
#include "runtime/operator_object.h"

namespace gpuos::python {

class RuntimeObject;

/// Implements Python's gpuos.Session: a session and its runtime.
///
/// Threads: every member is called with the GIL held, and releases it while it
/// works. Another thread may be running a cell.
class SessionObject {
 public:
  /// Makes a session. `runtime` may be null.
  SessionObject(std::shared_ptr<RuntimeObject> runtime,
                const SessionOptions& options);

  CellResult run(const std::string& text, const std::string& name);
  CellResult run_file(const pybind11::object& path);
  bool undo();
  void bind(const pybind11::kwargs& values);
  void unbind(const pybind11::args& names);
  Kernel kernel(const std::string& name, bool follow);
  /// Returns a kernel, or the value of a variable of host code.
  pybind11::object item(const std::string& name);
  void set_item(const std::string& name, const pybind11::object& value);
  pybind11::bytes link(const std::string& kernel);
  SessionVariable variable(const std::string& name);
  pybind11::object read(const std::string& name, const pybind11::object& dtype);
  void write(const std::string& name, const pybind11::object& values);
  OperatorPtr make_operator(const std::string& function,
                            const std::string& name,
                            const pybind11::object& params);
  pybind11::bytes export_cubin();
  std::vector<std::string> names();
  pybind11::dict stats();

 private:
  HostVariableInfo find_variable(const std::string& name, std::string& copy);

  std::shared_ptr<RuntimeObject> runtime_;
  std::unique_ptr<Session> session_;
};

}  // namespace gpuos::python
