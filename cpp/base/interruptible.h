#pragma once

namespace gpuos {

/// Whether an Interrupt of this thread lives.
bool is_interruptible() noexcept;

}  // namespace gpuos
