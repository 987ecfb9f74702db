// Programs that gain nothing are left to PyTorch for a while.
#pragma once

namespace gpuos::bridge {

/// A thread enters a scheduler; false: it still rests.
bool begin_watching();
/// Forget what the thread did until now.
void watch_anew();
/// An operator went to PyTorch. Now and then this looks at what was put off
/// meanwhile, and if that was not worth the flushes, takes the mode out of the
/// thread: then its operators do not come here at all.
void note_fallback();
/// A method of the front was called in a thread that may rest. Whether the rest
/// is over; the mode is then back in the thread.
bool try_to_wake();

}  // namespace gpuos::bridge
