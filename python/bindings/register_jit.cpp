#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <stop_token>
#include <string>
#include <utility>

#include "gpuos/error.h"
#include "gpuos/jit_module.h"
#include "gpuos/module_registry.h"
#include "jit_options.h"
#include "kernel_arguments.h"
#include "reading.h"
#include "registrations.h"
#include "stream.h"
#include "waiting.h"
#include "without_gil.h"

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

std::string source_text(const py::object& source) {
  if (PyBytes_Check(source.ptr()) != 0)
    throw py::type_error(
        "source: expected CUDA C++ as a str, got bytes; an image that is "
        "compiled already cannot be loaded");
  return text_of(source, "source");
}

std::unique_ptr<JitModule> make_module(const py::object& source,
                                       const py::object& name_expressions,
                                       const py::object& headers,
                                       const py::object& include_dirs,
                                       const py::object& options,
                                       const py::object& name, int device,
                                       const std::stop_source* stop) {
  JitSource made{
      .source = source_text(source),
      .name_expressions = texts_of(name_expressions, "name_expressions"),
      .include_dirs = texts_of(include_dirs, "include_dirs"),
      .options = jit_options_from(options),
      .name = text_of(name, "name")};
  for (const auto& [header, text] : pairs_of(headers, "headers"))
    made.headers.push_back(
        {text_of(header, "headers"), text_of(text, "headers")});
  const std::stop_token token =
      stop == nullptr ? std::stop_token() : stop->get_token();
  return interruptible([&] {
    return std::make_unique<JitModule>(std::move(made), device, token);
  });
}

Kernel kernel_of(const JitModule& module, const std::string& name) {
  const WithoutGil no_gil;
  return module.kernel(name);
}

template <typename Type>
void register_kernel_args(Type& type) {
  type.attr("__module__") = "gpuos";
  type.def(py::init([](const py::args& values) {
        return std::make_unique<KernelArgs>(arguments_from(values));
      }))
      .def("__len__", &KernelArgs::size);
}

void register_kernel(py::module_& module) {
  py::class_<KernelArgs> args(
      module, "KernelArgs",
      "Arguments of a launch, read once and used often.\n\n"
      "Numbers without a type (int, float, bool) become what the kernel's\n"
      "parameter is; NumPy scalars (structured ones too) and ctypes objects\n"
      "go by value as they are; arrays on the device go as their address, "
      "None\n"
      "as a null pointer.",
      py::is_final(), plain_metaclass());
  register_kernel_args(args);

  py::class_<KernelAttributes> attributes(module, "KernelAttributes",
                                          "What a kernel needs.",
                                          py::is_final(), plain_metaclass());
  attributes.attr("__module__") = "gpuos";
  forbid_new(attributes);
  attributes
      .def_readonly("registers", &KernelAttributes::registers, "Of a thread.")
      .def_readonly("shared_bytes", &KernelAttributes::shared_bytes,
                    "Shared memory of a block that the kernel declares.")
      .def_readonly("local_bytes", &KernelAttributes::local_bytes,
                    "Of a thread: its stack and what found no register.")
      .def_readonly("constant_bytes", &KernelAttributes::constant_bytes,
                    "Constant memory that the module declares.")
      .def_readonly("max_threads", &KernelAttributes::max_threads,
                    "The largest block that it can have.")
      .def_readonly("max_dynamic_shared_bytes",
                    &KernelAttributes::max_dynamic_shared_bytes,
                    "What a launch may ask for beside shared_bytes.");

  py::class_<Kernel> type(module, "Kernel",
                          "A kernel, which keeps its module loaded.",
                          py::is_final(), plain_metaclass());
  type.attr("__module__") = "gpuos";
  forbid_new(type);
  type.def_property_readonly("name", &Kernel::name,
                             "As it was asked for: 'f<float>'.")
      .def_property_readonly("attributes", &Kernel::attributes,
                             "What it needs, a KernelAttributes.")
      .def_property_readonly("parameter_bytes", &Kernel::parameter_bytes,
                             "Bytes of each parameter, in order.")
      .def("launch", &launch,
           "Launch it.\n\n"
           "Parameters\n----------\n"
           "grid, block : int or sequence of 1 to 3\n"
           "args : sequence or KernelArgs\n"
           "    Arrays must live until the kernel is done.\n"
           "shared_bytes : int\n    Dynamic shared memory of a block.\n"
           "stream : None, int or stream\n"
           "    A handle, or a stream of PyTorch or CuPy; None: the legacy\n"
           "    default stream.\n"
           "cooperative : bool\n    All blocks run at once.\n"
           "cluster : int or sequence\n    Blocks of a cluster.\n\n"
           "Raises\n------\nInvalidArgument\n"
           "    If the arguments are not what the kernel takes, or the launch\n"
           "    is larger than the device allows.\n"
           "CudaError",
           py::arg("grid"), py::arg("block"), py::arg("args") = py::tuple(),
           py::arg("shared_bytes") = 0, py::arg("stream") = py::none(),
           py::kw_only(), py::arg("cooperative") = false,
           py::arg("cluster") = py::none())
      .def("max_active_blocks", &Kernel::max_active_blocks,
           "Blocks that fit one multiprocessor at a time.", py::arg("block"),
           py::arg("shared_bytes") = 0)
      .def(
          "suggest_block",
          [](const Kernel& self, std::size_t shared_bytes) {
            const Occupancy occupancy = self.suggest_block(shared_bytes);
            return std::pair(occupancy.min_grid, occupancy.block);
          },
          "The grid and block that keep most threads on the device.",
          py::arg("shared_bytes") = 0)
      .def("__repr__", [](const Kernel& self) {
        return "gpuos.Kernel('" + self.name() + "')";
      });
}

void register_module_info(py::module_& module) {
  py::class_<ModuleInfo> type(module, "ModuleInfo",
                              "An image that is loaded now.", py::is_final(),
                              plain_metaclass());
  type.attr("__module__") = "gpuos";
  forbid_new(type);
  type.def_readonly("name", &ModuleInfo::name, "Of the module's source.")
      .def_readonly("device", &ModuleInfo::device, "-1: the host.")
      .def_readonly("bytes", &ModuleInfo::bytes, "Of the image.")
      .def_property_readonly(
          "holders",
          [](const ModuleInfo& self) {
            py::dict holders;
            for (const ModuleHolder& holder : self.holders)
              holders[py::str(holder.what)] = holder.count;
            return holders;
          },
          "Who keeps it loaded: 'operator', 'JitModule', 'Kernel', ... to how "
          "many.")
      .def("__repr__", [](const ModuleInfo& self) {
        return "gpuos.ModuleInfo('" + self.name + "', device " +
               std::to_string(self.device) + ", " + std::to_string(self.bytes) +
               " bytes)";
      });
  module.def("modules", &ModuleRegistry::list,
             "What this process has loaded, in the order of loading.");
}

}  // namespace

void register_jit(py::module_& module) {
  py::class_<std::stop_source> stop(module, "_StopSource", py::is_final(),
                                    plain_metaclass());
  stop.def(py::init<>()).def("request", [](std::stop_source& self) {
    return self.request_stop();
  });
  register_jit_options(module);
  register_kernel(module);
  register_module_info(module);
  module.def(
      "synchronize",
      [](const py::object& stream, int device) {
        const Stream named = stream_from(stream.ptr());
        interruptible([&] { synchronize(named, device); });
      },
      "Wait until what was launched in a stream is done.\n\n"
      "Parameters\n----------\n"
      "stream : None, int or stream\n"
      "    None: the legacy default stream. Tasks of a Runtime in its own\n"
      "    streams are not waited for.\n"
      "device : int\n\n"
      "Raises\n------\nBackendUnavailable, CudaError",
      py::arg("stream") = py::none(), py::arg("device") = 0);
  py::class_<JitModule> type(
      module, "JitModule",
      "CUDA C++ that is compiled at run time.\n\n"
      "The embedded `gpuos/` headers can be included. Compiled once and kept\n"
      "in the disk cache; loaded at the first use of a kernel or a variable,\n"
      "so that compiling needs no GPU.\n\n"
      "Parameters\n----------\n"
      "source : str\n"
      "name_expressions : sequence of str\n"
      "    Templates to instantiate, 'k<float>', and variables, '&counter'.\n"
      "headers : dict\n    Headers by name, found before any file.\n"
      "include_dirs : sequence of str\n"
      "options : JitOptions or sequence of str\n"
      "    A sequence holds NVRTC's own options, as ['-DN=4', "
      "'--use_fast_math'].\n"
      "name : str\n    For messages and profilers.\n"
      "device : int\n\n"
      "Raises\n------\n"
      "InvalidArgument, CompileError, BackendUnavailable",
      py::is_final(), plain_metaclass());
  type.attr("__module__") = "gpuos";
  type.def(py::init(&make_module), py::arg("source"),
           py::arg("name_expressions") = py::tuple(),
           py::arg("headers") = py::dict(),
           py::arg("include_dirs") = py::tuple(),
           py::arg("options") = py::none(), py::kw_only(),
           py::arg("name") = "module.cu", py::arg("device") = 0,
           py::arg("_stop") = py::none())
      .def("__getitem__", &kernel_of, py::arg("name"))
      .def("kernel", &kernel_of,
           "A name expression, an extern \"C\" kernel, or the one kernel of "
           "that name.\n\n"
           "Raises\n------\n"
           "InvalidArgument\n    For a name that the module has not.\n"
           "BackendUnavailable\n    Without a GPU.",
           py::arg("name"))
      .def(
          "global_address",
          [](const JitModule& self, const std::string& name) {
            return reinterpret_cast<std::uintptr_t>(self.global_address(name));
          },
          "The address of a __device__ or __constant__ variable.",
          py::arg("name"))
      .def("global_bytes", &JitModule::global_bytes, "The size of one.",
           py::arg("name"))
      .def_property_readonly(
          "image",
          [](const JitModule& self) { return py::bytes(self.image()); },
          "CUBIN, or PTX if the device is newer than NVRTC.")
      .def_property_readonly("log", &JitModule::log, "What the compiler said.")
      .def_property_readonly("arch", &JitModule::arch,
                             "'sm_90', or 'compute_90' for PTX.")
      .def_property_readonly("name", &JitModule::name,
                             "For messages and profilers.")
      .def("__repr__", [](const JitModule& self) {
        return "gpuos.JitModule('" + self.name() + "', " + self.arch() + ")";
      });
}

}  // namespace gpuos::python
