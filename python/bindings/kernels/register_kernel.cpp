#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>

#include "convert/reading.h"
#include "gpuos/error.h"
#include "gpuos/jit_module.h"
#include "kernels/kernel_arguments.h"
#include "module/python_module.h"
#include "module/registrations.h"
#include "module/without_gil.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

Dim3 dim_from(const py::object& extent, const char* what) {
  if (PyIndex_Check(extent.ptr()) != 0)
    return {integer_as<std::uint32_t>(extent, what)};
  const py::tuple sizes = items_of(extent, what);
  if (sizes.empty() || sizes.size() > 3)
    throw InvalidArgument(std::string(what) +
                          ": expected an integer or 1 to 3 of them, got " +
                          std::to_string(sizes.size()));
  Dim3 dim(integer_as<std::uint32_t>(sizes[0], what));
  if (sizes.size() > 1) dim.y = integer_as<std::uint32_t>(sizes[1], what);
  if (sizes.size() > 2) dim.z = integer_as<std::uint32_t>(sizes[2], what);
  return dim;
}

void launch(const Kernel& kernel, const py::object& grid,
            const py::object& block, const py::object& values,
            std::uint32_t shared_bytes, const py::object& stream,
            bool cooperative, const py::object& cluster) {
  LaunchConfig config{.grid = dim_from(grid, "grid"),
                      .block = dim_from(block, "block"),
                      .shared_bytes = shared_bytes,
                      .stream = stream_from(stream.ptr()),
                      .cooperative = cooperative};
  if (!cluster.is_none()) config.cluster = dim_from(cluster, "cluster");
  const KernelArgs args = arguments_from(values);
  const WithoutGil no_gil;
  kernel.launch(config, args);
}

// Returns the text of the arguments: the value of a number, and the type of
// others.
std::string repr_of_arguments(const KernelArgs& self) {
  std::string text;
  for (const KernelArg& arg : self.values()) {
    if (!text.empty()) text += ", ";
    const bool is_number = arg.kind == KernelArg::Kind::Number;
    if (is_number && arg.number.is_integer() && !arg.number.is_above_int64())
      text += std::to_string(arg.number.integer());
    else if (is_number && !arg.number.is_complex())
      text += py::repr(py::float_(arg.number.real()));
    else
      text += arg.type;
  }
  return "gpuos.KernelArgs(" + text + ")";
}

py::object attributes(const Kernel& self) {
  const KernelAttributes a = without_gil(&Kernel::attributes)(self);
  return python_module("gpuos.compiling")
      .attr("KernelAttributes")(a.registers, a.shared_bytes, a.local_bytes,
                                a.constant_bytes, a.max_threads,
                                a.max_dynamic_shared_bytes);
}

}  // namespace

void register_kernel(py::module_& module) {
  add_class<KernelArgs>(module, "KernelArgs")
      .def(py::init([](const py::args& values) {
        return std::make_unique<KernelArgs>(arguments_from(values));
      }))
      .def("__len__", &KernelArgs::size)
      .def("__repr__", &repr_of_arguments);
  module.def("_dim", [](const py::object& extent, const std::string& what) {
    const Dim3 dim = dim_from(extent, what.c_str());
    return py::make_tuple(dim.x, dim.y, dim.z);
  });

  auto type = add_result_class<Kernel>(module, "Kernel");
  type.def_property_readonly("name", &Kernel::name)
      .def_property_readonly("attributes", &attributes)
      .def_property_readonly("parameter_bytes",
                             without_gil(&Kernel::parameter_bytes))
      .def("launch", &launch, py::arg("grid"), py::arg("block"),
           py::arg("args") = py::tuple(), py::arg("shared_bytes") = 0,
           py::arg("stream") = py::none(), py::kw_only(),
           py::arg("cooperative") = false, py::arg("cluster") = py::none())
      .def("max_active_blocks", without_gil(&Kernel::max_active_blocks),
           py::arg("block"), py::arg("shared_bytes") = 0)
      .def(
          "suggest_block",
          [](const Kernel& self, std::size_t shared_bytes) {
            const Occupancy occupancy =
                without_gil(&Kernel::suggest_block)(self, shared_bytes);
            return std::pair(occupancy.min_grid, occupancy.block);
          },
          py::arg("shared_bytes") = 0);
}

}  // namespace gpuos::python
