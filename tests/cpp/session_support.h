#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "errors.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/toolkit/target.h"
#include "nvrtc_support.h"
#include "session/workspace.h"

namespace gpuos::session {

/// A session's definitions for sm_90, without a device.
class WorkspaceTest : public testing::Test {
 protected:
  void SetUp() override {
    GPUOS_SKIP_WITHOUT_NVRTC();
    CompilerSettings settings;
    settings.target = jit::choose_target(jit::nvrtc(), 90, "");
    workspace_ = std::make_unique<Workspace>(jit::nvrtc(), settings);
  }

  Workspace& workspace() { return *workspace_; }

  CellReport run(std::string_view text) {
    CellReport report = workspace().run(text, "");
    workspace().accept();
    return report;
  }
  std::shared_ptr<const Linked> link(std::string_view kernel) {
    return workspace().linker().link(workspace().kernel(kernel));
  }
  std::string failure_of_cell(std::string_view text) {
    return thrown_by([&] { run(text); });
  }
  std::string failure_of_link(std::string_view kernel) {
    return thrown_by([&] { link(kernel); });
  }
  std::uint64_t compiled() { return workspace().compiler().compiled(); }

 private:
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace gpuos::session
