// Python keeps functions of all kinds of arguments as if they were of one kind.
#pragma once

namespace gpuos::bridge {

/// Casts through void*, because compilers warn of the casts that Python needs.
template <typename To, typename Function>
To function_cast(Function* function) noexcept {
  // NOLINTNEXTLINE(bugprone-casting-through-void)
  return reinterpret_cast<To>(reinterpret_cast<void*>(function));
}

}  // namespace gpuos::bridge
