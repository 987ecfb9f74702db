#pragma once

namespace gpuos {

/// Returns whether an Interrupt of this thread lives.
bool is_interruptible() noexcept;

}  // namespace gpuos
