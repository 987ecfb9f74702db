#include <pybind11/pybind11.h>

#include "registrations.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "The compiled part of gpuos.";
  gpuos::python::register_errors(module);
  gpuos::python::register_cache(module);
  gpuos::python::register_diagnose(module);
  gpuos::python::register_ticket(module);
  gpuos::python::register_array(module);
  gpuos::python::register_operator(module);
  gpuos::python::register_runtime(module);
  gpuos::python::register_submit(module);
  gpuos::python::register_value(module);
  gpuos::python::register_functions(module);
  gpuos::python::register_fused(module);
  gpuos::python::register_jit(module);
  gpuos::python::register_session(module);
  gpuos::python::register_bridge(module);
}
