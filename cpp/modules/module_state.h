#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "gpuos/jit_module.h"
#include "modules/module_handles.h"
#include "modules/module_version.h"

namespace gpuos {

/// The newest version of a JitModule, with its handles and variables.
///
/// Threads: any.
class JitModule::State {
 public:
  /// A variable and the module that contains it.
  struct Variable {
    std::shared_ptr<cu::LoadedModule> module;
    cu::DeviceGlobal global;
  };

  /// `source` has no text for an image that was given.
  State(int device, bool is_given, JitSource&& source,
        std::shared_ptr<const jit::ModuleImage> compiled)
      : name_(source.name),
        device_(device),
        now_(1, device, is_given, std::move(source), std::move(compiled)) {}

  const std::string& name() const { return name_; }
  std::uint64_t version() const;
  std::shared_ptr<const jit::ModuleImage> compiled() const;

  Kernel kernel(std::string_view name);
  Variable variable(std::string_view name);
  std::uint64_t replace(JitReplacement replacement, std::stop_token stop);

 private:
  using Types = std::map<std::string, std::string>;

  JitSource source_of(JitReplacement& replacement) const;
  Types types_of(const cu::ModuleVersion& version,
                 std::span<const std::string> names,
                 const std::stop_token& stop) const;
  void check_types(const Types& old, const Types& now) const;
  void check_kernels(cu::ModuleVersion& next) const;
  void copy_variable(const std::string& name, cu::ModuleVersion& next);

  const std::string name_;
  const int device_;
  std::mutex replacing_;  // one replace() at a time; before mutex_
  mutable std::mutex mutex_;
  // Under mutex_, except its const members. Only replace() exchanges it.
  cu::ModuleVersion now_;
  // Under mutex_. The parameters of all requested kernels, also of handles that
  // are gone: each module["k"].launch() makes a new handle.
  std::map<std::string, cu::ParameterList, std::less<>> known_;
  cu::ModuleHandles handles_;  // under mutex_
};

}  // namespace gpuos
