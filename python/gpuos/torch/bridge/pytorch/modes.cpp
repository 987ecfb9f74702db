#include "pytorch/modes.h"

namespace gpuos::bridge {

constinit thread_local Modes modes_of_thread;

void find_modes() noexcept {
  modes_of_thread = {&c10::impl::raw_local_dispatch_key_set,
                     &at::impl::PythonTorchFunctionTLS::get_state()};
}

}  // namespace gpuos::bridge
