#pragma once

namespace gpuos::python {

struct Docstring {
  const char* name;  // such as "Runtime.submit"; empty: the module
  const char* text;
};

/// Lists the docstrings of python/gpuos/_core.pyi, from which the build writes
/// them. The last one has no name.
extern const Docstring kDocstrings[];

}  // namespace gpuos::python
