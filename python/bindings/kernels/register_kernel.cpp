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

// Calls a kernel with CuPy's arguments.
void call_as_cupy(const Kernel& kernel, const py::object& grid,
                  const py::object& block, const py::object& values,
                  std::uint32_t shared_mem, const py::object& stream,
                  bool cooperative, const py::object& cluster) {
  launch(kernel, grid, block, values, shared_mem, stream, cooperative, cluster);
}

// Holds "kernel[grid, block]", which still needs the arguments.
struct KernelLaunch {
  Kernel kernel;
  LaunchConfig config;
  py::object stream;  // keeps the owner of config.stream
};

// Reads Numba's form: (grid, block), (grid, block, stream) or (grid, block,
// stream, shared bytes).
KernelLaunch configured(const Kernel& kernel, const py::object& key) {
  const py::tuple parts =
      py::isinstance<py::tuple>(key) ? py::tuple(key) : py::make_tuple(key);
  if (parts.size() < 2 || parts.size() > 4)
    throw InvalidArgument(
        kernel.name() +
        "[...]: expected [grid, block], [grid, block, stream] or [grid, "
        "block, stream, shared_bytes], got " +
        std::to_string(parts.size()) +
        (parts.size() == 1 ? " value" : " values"));
  KernelLaunch made{kernel, {}, py::none()};
  made.config.grid = dim_from(parts[0], "grid");
  made.config.block = dim_from(parts[1], "block");
  if (parts.size() > 2) made.stream = parts[2];
  made.config.stream = stream_from(made.stream.ptr());
  if (parts.size() > 3)
    made.config.shared_bytes =
        integer_as<std::uint32_t>(parts[3], "shared_bytes");
  return made;
}

void launch_configured(const KernelLaunch& self, const py::args& values) {
  const KernelArgs args = arguments_from(values);
  const WithoutGil no_gil;
  self.kernel.launch(self.config, args);
}

// Calls `member` without the GIL, because a kernel that follows a session may
// have to wait.
template <typename Result, typename... Args>
auto without_gil(Result (Kernel::*member)(Args...) const) {
  return [member](const Kernel& self, Args... args) {
    const WithoutGil no_gil;
    return (self.*member)(args...);
  };
}

std::string text_of_dim(const Dim3& dim) {
  return "(" + std::to_string(dim.x) + ", " + std::to_string(dim.y) + ", " +
         std::to_string(dim.z) + ")";
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

template <typename Type>
void register_kernel_args(Type& type) {
  type.def(py::init([](const py::args& values) {
        return std::make_unique<KernelArgs>(arguments_from(values));
      }))
      .def("__len__", &KernelArgs::size)
      .def("__repr__", &repr_of_arguments);
}

py::object attributes(const Kernel& self) {
  const KernelAttributes a = without_gil(&Kernel::attributes)(self);
  return python_module("gpuos.compiling")
      .attr("KernelAttributes")(a.registers, a.shared_bytes, a.local_bytes,
                                a.constant_bytes, a.max_threads,
                                a.max_dynamic_shared_bytes);
}

void register_launch(py::module_& module) {
  auto type = add_result_class<KernelLaunch>(module, "KernelLaunch");
  type.def("__call__", &launch_configured)
      .def("__repr__", [](const KernelLaunch& self) {
        return "gpuos.KernelLaunch('" + self.kernel.name() + "', grid " +
               text_of_dim(self.config.grid) + ", block " +
               text_of_dim(self.config.block) + ")";
      });
}

}  // namespace

void register_kernel(py::module_& module) {
  auto args = add_class<KernelArgs>(module, "KernelArgs");
  register_kernel_args(args);

  register_launch(module);
  auto type = add_result_class<Kernel>(module, "Kernel");
  type.def_property_readonly("name", &Kernel::name)
      .def_property_readonly("attributes", &attributes)
      .def_property_readonly("parameter_bytes",
                             without_gil(&Kernel::parameter_bytes))
      .def("launch", &launch, py::arg("grid"), py::arg("block"),
           py::arg("args") = py::tuple(), py::arg("shared_bytes") = 0,
           py::arg("stream") = py::none(), py::kw_only(),
           py::arg("cooperative") = false, py::arg("cluster") = py::none())
      .def("__call__", &call_as_cupy, py::arg("grid"), py::arg("block"),
           py::arg("args") = py::tuple(), py::kw_only(),
           py::arg("shared_mem") = 0, py::arg("stream") = py::none(),
           py::arg("cooperative") = false, py::arg("cluster") = py::none())
      .def("__getitem__", &configured, py::arg("key"))
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
