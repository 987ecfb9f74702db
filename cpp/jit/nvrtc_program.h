#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/process_exit.h"
#include "gpuos/jit_options.h"
#include "jit/nvrtc_api.h"

namespace gpuos::jit {

/// Holds one program of NVRTC. It has the embedded device headers under their
/// own name and under "gpuos/".
class NvrtcProgram {
 public:
  /// Throws: CompileError. This and all other functions throw InvalidArgument
  /// for a text with a NUL.
  NvrtcProgram(const Nvrtc& api, const std::string& source,
               const std::string& file_name, std::span<const JitHeader> headers,
               std::span<const std::string> include_dirs);
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;
  ~NvrtcProgram();

  void add_name_expression(const std::string& name);
  /// Ends soon after `stop`, and when the process ends, if NVRTC can do that.
  /// Throws: Cancelled.
  nvrtcResult compile(const std::vector<std::string>& options,
                      std::stop_token stop);

  std::string log() const;
  std::string ptx() const;
  std::string cubin() const;
  /// Returns the LTO-IR. Throws: BackendUnavailable if NVRTC has none.
  std::string ltoir() const;
  /// Returns the symbol of a name expression. Throws: CompileError.
  std::string lowered_name(const std::string& name) const;

 private:
  void check(nvrtcResult result) const;
  template <typename Size, typename Get>
  std::string bytes(Size size, Get get) const;
  template <typename Size, typename Get>
  std::string text(Size size, Get get) const;

  const HoldsExit hold_{HoldsExit::For::kCompiler};
  const Nvrtc& api_;
  nvrtcProgram program_ = nullptr;
};

}  // namespace gpuos::jit
