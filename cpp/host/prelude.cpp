#include "host/prelude.h"

#include <unistd.h>

#include <cstdio>

#include "base/process_exit.h"
#include "gpuos/error.h"
#include "gpuos/interrupt.h"
#include "host/host_compiler.h"
#include "host/subprocess.h"

namespace gpuos::host {
namespace {}  // namespace

Prelude::Prelude(const std::vector<std::string>& command,
                 const std::string& text)
    : command_(command),
      process_(::getpid()),
      folder_(std::make_unique<TempFolder>()) {
  write_file(file(), text);
}

Prelude::~Prelude() {
  if (::getpid() != process_) {
    // NOLINTNEXTLINE(bugprone-unused-return-value): the parent removes it
    folder_.release();
  } else if (done_.valid()) {
    is_unwanted_.store(true, std::memory_order_relaxed);
    done_.wait();
  }
}

void Prelude::read_ahead() {
  if (done_.valid()) return;
  done_ = std::async(std::launch::async, [this] { read(); }).share();
}

void Prelude::wait() const {
  if (done_.valid()) done_.wait();
}

std::string Prelude::file() const { return folder_->file("prelude.h"); }

// A failure costs time only.
void Prelude::read() noexcept {
  try {
    const HoldsExit hold{HoldsExit::For::kCompiler};
    refuse_at_exit();
    const Interrupt unwanted(
        [](void* self) noexcept {
          return static_cast<Prelude*>(self)->is_unwanted_.load(
              std::memory_order_relaxed);
        },
        this);
    std::vector<std::string> command = command_;
    const std::string made = folder_->file("read");
    command.insert(command.end(), {"-x", "c++-header", file(), "-o", made});
    const ProcessResult result = run_process(command, folder_->file("log"),
                                             folder_->path(), kCompilerTimeout);
    // Whole from the first look on.
    if (!result.is_timeout && result.exit_code <= 0 && result.signal == 0)
      std::rename(made.c_str(), folder_->file("prelude.h.gch").c_str());
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace gpuos::host
