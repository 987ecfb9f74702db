#pragma once

namespace gpuos::python {

struct Docstring {
  const char* name;  // such as "Runtime.submit"; empty: the module
  const char* text;
};

/// Those of python/gpuos/_core.pyi, which the build writes from it. The last
/// one has no name.
extern const Docstring kDocstrings[];

}  // namespace gpuos::python
