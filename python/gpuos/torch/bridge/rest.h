// Programs that gain nothing are left to PyTorch for a while.
#pragma once

namespace gpuos::bridge {

/// A thread enters its first scheduler.
void begin_watching();
/// An operator went to PyTorch. Now and then this looks at what was put off
/// meanwhile, and if that was not worth the flushes, takes the mode out of the
/// thread: then its operators do not come here at all.
void note_fallback();
/// Whether the rest is over; the mode is then back in the thread.
bool try_to_wake();

}  // namespace gpuos::bridge
