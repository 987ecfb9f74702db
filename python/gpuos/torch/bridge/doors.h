// Python's ways to give a tensor other memory.
#pragma once

namespace gpuos::bridge {

/// Has them run what is pending before: requests may hold a tensor's object in
/// place of its memory (objects.h). For good, for they cost nothing as long as
/// nothing is pending. Under the GIL. Throws: python_error.
void guard_doors();

}  // namespace gpuos::bridge
