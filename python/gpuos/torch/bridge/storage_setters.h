// Python's ways to give a tensor other memory.
#pragma once

namespace gpuos::bridge {

/// Makes these methods flush first, because requests may hold a tensor's object
/// instead of its memory (objects.h). This is permanent: it costs nothing while
/// nothing is pending. The caller holds the GIL. Throws: python_error.
void guard_storage_setters();

}  // namespace gpuos::bridge
