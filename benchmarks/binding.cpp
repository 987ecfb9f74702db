// This is gpuos.bench._loops, the loops of benchmarks/ for `python -m gpuos
// bench`. It links its own copy of the library and shares nothing with
// gpuos._core.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>

#include "convert/fields.h"
#include "device.h"
#include "loops.h"
#include "processors.h"
#include "rig.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

using bench::BareDevice;
using bench::Rig;
using NoGil = py::call_guard<py::gil_scoped_release>;

std::unique_ptr<Rig> make_rig(std::size_t sets, std::int64_t elems,
                              const py::kwargs& options) {
  const RuntimeOptions wanted = options_from(options);
  const py::gil_scoped_release no_gil;
  return std::make_unique<Rig>(wanted, sets, elems);
}

py::dict stats(Rig& rig) {
  Stats now;
  {
    const py::gil_scoped_release no_gil;
    now = rig.runtime().stats();
  }
  return stats_to_dict(now);
}

void add_rig(py::module_& module) {
  py::class_<Rig>(module, "Rig", "A runtime and `sets` triples of buffers.")
      .def(py::init(&make_rig), py::arg("sets"), py::arg("elems"))
      .def("bulk_ns", &bench::bulk_ns, py::arg("tasks"), py::arg("elems"),
           py::arg("calls"), py::arg("reps"), NoGil())
      .def("round_trip_us", &bench::round_trip_us, py::arg("elems"),
           py::arg("reps"), py::arg("warm_up") = 200, NoGil())
      .def("flush_us", &bench::flush_us, py::arg("tasks"), py::arg("elems"),
           py::arg("count"), py::arg("reps"), NoGil())
      .def("chain_ns", &bench::chain_ns, py::arg("links"), py::arg("elems"),
           py::arg("reps"), NoGil())
      .def("define_ms", &bench::define_ms, py::arg("reps"), NoGil())
      .def("swap_under_load", &bench::swap_under_load, py::arg("swaps"),
           py::arg("min_tasks"), NoGil())
      .def("synchronize_beside", &bench::synchronize_beside,
           py::arg("idle_reps"), py::arg("saturated_reps"), NoGil())
      .def("poison", &Rig::poison, NoGil())
      .def("count_wrong", &Rig::count_wrong, py::arg("sets"), py::arg("elems"),
           NoGil())
      .def("stats", &stats)
      .def("options",
           [](Rig& rig) { return options_to_dict(rig.runtime().options()); })
      .def("close", &Rig::close, NoGil());
}

void add_programs(py::module_& module) {
  // gpuos._core has its own one.
  py::class_<Program>(module, "Program", py::module_local(),
                      "A chain of operations.")
      .def(py::init(&bench::chain_program), py::arg("operations"),
           py::arg("variant") = 0);
  module.def("compile_program", &bench::compile_program, py::arg("rig"),
             py::arg("program"), NoGil());
  module.def("program_first_us", &bench::program_first_us, py::arg("rig"),
             py::arg("operations"), py::arg("elems"), py::arg("reps"), NoGil());
  module.def("program_latency_us", &bench::program_latency_us, py::arg("rig"),
             py::arg("program"), py::arg("elems"), py::arg("reps"), NoGil());
  module.def("program_stream_ns", &bench::program_stream_ns, py::arg("rig"),
             py::arg("program"), py::arg("elems"), py::arg("calls"),
             py::arg("reps"), py::arg("grows") = false, NoGil());
  module.def("program_wrong", &bench::program_wrong, py::arg("rig"),
             py::arg("operations"), py::arg("elems"), py::arg("sets") = 1,
             NoGil());
}

void add_processors(py::module_& module) {
  module.def("settle", &bench::settle, NoGil());
  module.def("quick_processors", &bench::quick_processors, py::arg("at_least"),
             NoGil());
}

void add_device(py::module_& module) {
  py::class_<BareDevice>(module, "Device", "Launches and graphs without gpuos.")
      .def(py::init<int>(), py::arg("device") = 0, NoGil())
      .def("launch_ns", &BareDevice::launch_ns, py::arg("rig"),
           py::arg("tasks"), py::arg("elems"), py::arg("reps"), NoGil())
      .def("round_trip_us", &BareDevice::round_trip_us, py::arg("rig"),
           py::arg("elems"), py::arg("reps"), NoGil())
      .def("graph_ns", &BareDevice::graph_ns, py::arg("rig"), py::arg("tasks"),
           py::arg("elems"), py::arg("is_parallel"), py::arg("replays"),
           py::arg("reps"), NoGil())
      .def("copy_us", &BareDevice::copy_us, py::arg("bytes"), py::arg("reps"),
           NoGil());
}

}  // namespace
}  // namespace gpuos::python

// One thread uses a rig, with a GIL and without.
PYBIND11_MODULE(_loops, module, pybind11::mod_gil_not_used()) {
  module.doc() = "Loops for `python -m gpuos bench`.";
  gpuos::python::add_rig(module);
  gpuos::python::add_device(module);
  gpuos::python::add_programs(module);
  gpuos::python::add_processors(module);
}
