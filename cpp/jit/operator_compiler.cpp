#include "jit/operator_compiler.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "base/config.h"
#include "base/embedded.h"
#include "base/entry_names.h"
#include "gpuos/error.h"
#include "jit/cache/compile_cache.h"
#include "jit/cache/disk_cache.h"
#include "jit/cache/sha256.h"
#include "jit/given_object.h"
#include "jit/headers/source_inputs.h"
#include "jit/linker.h"
#include "jit/objects/elf_resources.h"
#include "jit/objects/ptx_text.h"
#include "jit/toolchain_key.h"
#include "jit/toolkit/compile_log.h"
#include "jit/toolkit/header_packages.h"
#include "jit/toolkit/nvjitlink_api.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/toolkit/target.h"
#include "jit/unit_compiler.h"

namespace gpuos::jit {
namespace {

// From this kernel the linker reaches an operator and all that it calls. The
// kernel calls through a pointer of the operators' type. The linker therefore
// finds the needs of the worker kernel for the neediest operator. The kernel is
// linked only to find these needs, and loaded only with an operator that calls
// others. The driver loads an image with a kernel in 84 us and one without in
// 20 us (docs/lab/jit.md).
constexpr std::string_view kRootName = "gpuos_link_root";
constexpr std::string_view kRootSource = R"(#include "gpuos/operator.h"
extern "C" __global__ void gpuos_link_root(gpuos::OpFn op, gpuos::Task task) {
  op(task, gpuos::Lane::of(0, 1));
}
)";

CompileCache<Image>& images() {
  static auto* const cache = new CompileCache<Image>;
  return *cache;
}

CompileCache<Object>& roots() {
  static auto* const cache = new CompileCache<Object>;
  return *cache;
}

std::shared_ptr<const Object> link_root(const Nvrtc& api,
                                        const Target& target) {
  return roots().get(target.arch, [&] {
    return compile_unit(
        api, {.source = kRootSource, .file_name = "link_root.cu"}, target);
  });
}

std::string bytes_text(std::uint32_t bytes) {
  return bytes == Resources::kUnbounded
             ? "a stack without a known bound (recursion?)"
             : concat(bytes, " bytes of stack");
}

// Returns why `needs` does not fit, or nothing if it fits.
std::string misfit(const Resources& needs, const Budget& budget) {
  if (needs.registers > budget.registers)
    return concat("needs ", needs.registers, " registers, the worker has ",
                  budget.registers);
  if (needs.stack_bytes > budget.stack_bytes)
    return concat("needs ", bytes_text(needs.stack_bytes), " with ",
                  budget.registers, " registers, the worker has ",
                  budget.stack_bytes, " bytes");
  if (needs.shared_bytes > 0)
    return concat("uses ", needs.shared_bytes,
                  " bytes of __shared__ memory, the worker has 0 for "
                  "operators");
  if (needs.uses_shared)
    return "uses dynamic __shared__ memory, the worker has 0 bytes for "
           "operators";
  if (needs.constant_bytes > 0)
    return concat("uses ", needs.constant_bytes,
                  " bytes of __constant__ memory, an operator can have 0; "
                  "use 'static const' or '__device__ const' data");
  if (needs.barriers > 1)
    return concat("uses ", needs.barriers,
                  " barriers, an operator can have 1, lane.barrier()");
  return "";
}

// Checks for a heap, because the driver links a heap to kernels alone.
void check_heap(const CompileRequest& request, std::string_view cubin) {
  for (const char* function : {"malloc", "free"}) {
    if (needs_symbol(cubin, function))
      throw CompileError(concat(request.file_name, ": uses ", function,
                                ", an operator has no heap"),
                         "");
  }
}

void check_entries(const CompileRequest& request, std::string_view cubin) {
  for (const std::string& entry : request.entries) {
    if (!has_symbol(cubin, concat("gpuos_entry_", entry)))
      throw CompileError(concat(request.file_name, ": expected GPUOS_OPERATOR(",
                                entry, ") { ... }, got ", operators_in(cubin)),
                         "");
  }
}

// Returns "axpy", or "axpy (expression_float32)" for one of several operators.
std::string name_of(const CompileRequest& request, const std::string& entry) {
  const std::string stem =
      request.file_name.substr(0, request.file_name.rfind('.'));
  return entry == stem ? entry : concat(stem, " (", entry, ")");
}

// Returns advice about given objects. Compiled code stays as it is. PTX is
// compiled here, so that it fits.
std::string given_hint(const CompileRequest& request, const Resources& all) {
  const bool has_cubin =
      std::ranges::any_of(request.objects, [](const Object& object) {
        return object.given && !object.is_ptx && !object.is_lto;
      });
  if (!has_cubin) return "";
  if (all.registers > request.budget.registers)
    return concat("; compile the CUBIN with -maxrregcount=",
                  request.budget.registers, ", or give PTX");
  if (all.constant_bytes > 0)
    return "; compile the CUBIN with -Xptxas --disable-optimizer-constants, or "
           "give PTX";
  return "";
}

// Refuses names that CUDA C++ has as functions, because CUDA C++ would call its
// own functions instead.
void check_called(const CompileRequest& request, const Object& object) {
  for (const Object& given : request.objects) {
    if (!given.given || given.is_lto) continue;
    bool is_called = false;
    if (object.is_ptx) {
      const auto functions = read_ptx(object.binary).functions;
      is_called = std::ranges::find(functions, given.name,
                                    &PtxFunction::name) != functions.end();
    } else {
      is_called = needs_symbol(object.binary, given.name);
    }
    if (!is_called)
      throw CompileError(concat(request.file_name,
                                ": expected a symbol that CUDA C++ does "
                                "not define, got ",
                                given.name, "; give the function another name"),
                         object.log);
  }
}

// Checks `all`, the resources that all functions of `cubin` need together.
void check_budget(const CompileRequest& request, std::string_view cubin,
                  const Resources& all) {
  const std::string problem = misfit(all, request.budget);
  if (problem.empty()) return;
  // The error names the operator, if it is known.
  std::string name = request.file_name;
  for (const std::string& entry : request.entries) {
    const Resources own = read_resources(cubin, concat("gpuos_op_", entry));
    const bool is_alone = request.entries.size() == 1;
    if (is_alone || own.registers > request.budget.registers ||
        own.stack_bytes > request.budget.stack_bytes || own.barriers > 1) {
      name = name_of(request, entry);
      break;
    }
  }
  throw CompileError(concat(name, ": ", problem, given_hint(request, all)), "");
}

// Returns whether `bare` has everything of `rooted` except the root. Without a
// kernel the linker drops functions that operators call.
bool keeps_all(const Object& root, std::string_view rooted,
               std::string_view bare) {
  const std::set<std::string> of_root = symbol_names(root.binary);
  const std::set<std::string> of_bare = symbol_names(bare);
  return std::ranges::all_of(
      symbol_names(rooted), [&](const std::string& name) {
        return of_root.contains(name) || of_bare.contains(name);
      });
}

// Returns PTX of LTO-IR, with its function as others would call it.
std::string callable(const Nvrtc& api, const Object& given,
                     const Target& target) {
  const std::string source = concat(
      "extern \"C\" __device__ void ", given.name,
      "();\nextern \"C\" { __device__ void (*gpuos_called)() = ", given.name,
      "; }\n");
  const std::array objects{
      compile_unit(api,
                   {.source = source, .file_name = "called.cu", .as_lto = true},
                   target),
      given};
  return link_time_optimized(api, objects, target).binary;
}

// Returns the code of the operators, with the LTO-IR among their objects.
Object compile_source(const Nvrtc& api, const CompileRequest& request,
                      const Target& target) {
  Unit unit{.source = request.source,
            .file_name = request.file_name,
            .options = {.max_registers = request.budget.registers,
                        .fast_compile = request.is_draft ? FastCompile::Max
                                                         : FastCompile::Off}};
  std::vector<Object> objects;
  std::ranges::copy_if(request.objects, std::back_inserter(objects),
                       &Object::is_lto);
  if (objects.empty()) return compile_unit(api, unit, target);
  unit.as_lto = true;
  const Object& source =
      *objects.insert(objects.begin(), compile_unit(api, unit, target));
  for (const Object& given : std::span(objects).subspan(1))
    check_lto(given, callable(api, given, target));
  Object linked = link_time_optimized(api, objects, target);
  linked.log = source.log;
  return linked;
}

// Links and checks the image. Leaves out the root if the image loses nothing by
// that.
Image link_operators(const Nvrtc& api, const CompileRequest& request,
                     const Target& target) {
  const std::uint32_t registers = request.budget.registers;
  for (const Object& given : request.objects) check_architecture(given, target);
  Image image;
  const Object object = compile_source(api, request, target);
  image.log = object.log;
  check_called(request, object);
  const auto link = [&](std::vector<Object> objects) {
    std::ranges::remove_copy_if(request.objects, std::back_inserter(objects),
                                &Object::is_lto);
    std::string cubin = link_objects(api, objects, target, registers);
    check_entries(request, cubin);
    check_heap(request, cubin);
    return cubin;
  };
  const auto root = link_root(api, target);
  std::string rooted = link({*root, object});
  image.needs = read_resources(rooted, kRootName);
  check_budget(request, rooted, image.needs);
  image.binary = std::move(rooted);
  // PTX would be compiled a second time.
  if (object.is_ptx || root->is_ptx) return image;
  std::string bare = link({object});
  if (keeps_all(*root, image.binary, bare)) image.binary = std::move(bare);
  return image;
}

std::atomic<std::uint64_t>& compilations() {
  static std::atomic<std::uint64_t> count = 0;
  return count;
}

Image compile_now(const Nvrtc& api, const CompileRequest& request,
                  const Target& target) {
  compilations().fetch_add(1, std::memory_order_relaxed);
  Image image = link_operators(api, request, target);
  for (const std::string& entry : request.entries)
    image.entries.push_back(concat("gpuos_entry_", entry));
  return image;
}

Image compile_and_log(const Nvrtc& api, const CompileRequest& request,
                      const Target& target) {
  const auto start = std::chrono::steady_clock::now();
  try {
    Image image = compile_now(api, request, target);
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    append_log(concat(request.file_name, ": compiled for ", target.arch, " in ",
                      spent.count(), " ms\n"));
    return image;
  } catch (const CompileError& error) {
    append_log(concat(error.what(), "\n", error.log()));
    // Headers of CUDA are not for operators, so the hint does not mention them.
    const std::string hint = standard_c_hint(missing_header(error.what()));
    if (hint.empty()) throw;
    throw CompileError(concat(error.what(), "\n", hint), error.log(),
                       error.place());
  }
}

// Returns a key of everything that can differ within one process. The embedded
// headers cannot.
std::string key_of(const CompileRequest& request, const Target& target) {
  CacheKey key;
  key.add(target.arch)
      .add(target.link_arch)
      .add(request.budget.registers)
      .add(request.budget.stack_bytes)
      .add(request.file_name)
      .add(request.source)
      .add(request.is_draft);
  for (const std::string& entry : request.entries) key.add(entry);
  for (const Object& object : request.objects)
    key.add(object.given ? sha256_hex(object.binary) : object.binary);
  return key.text();
}

// Returns a key for other processes, whose compilers may differ too.
std::string disk_key_of(const Nvrtc& api, const CompileRequest& request,
                        const Target& target) {
  CacheKey key;
  key.add(std::string("operators"))
      .add(toolchain_key(api, target))
      .add(std::string(kRootSource))
      .add(request.compute_capability)
      .add(key_of(request, target));
  return key.text();
}

Image read_or_compile(const Nvrtc& api, const CompileRequest& request,
                      const Target& target) {
  bool is_compiled = false;
  Image image = disk_cache().get({.key = disk_key_of(api, request, target),
                                  .name = request.file_name,
                                  .arch = target.link_arch,
                                  .image = {}},
                                 [&] {
                                   is_compiled = true;
                                   return compile_and_log(api, request, target);
                                 });
  if (!is_compiled)
    append_log(concat(request.file_name, ": from the disk cache for ",
                      target.arch, "\n"));
  return image;
}

Target target_of(const Nvrtc& api, int compute_capability) {
  return choose_target(api, compute_capability, config().nvrtc_arch);
}

Image compile_once(const CompileRequest& request) {
  const Nvrtc& api = nvrtc();
  const Target target = target_of(api, request.compute_capability);
  if (!stands_alone(request.source)) {
    static_cast<void>(
        include_digest(request.source, {}, {}, ""));  // or it throws
    return compile_and_log(api, request, target);
  }
  return *images().get(key_of(request, target),
                       [&] { return read_or_compile(api, request, target); });
}

Image compile_worker_now(const Nvrtc& api, const Target& target) {
  std::vector<std::future<Object>> units;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.name.ends_with(".cu")) continue;
    units.push_back(std::async(std::launch::async, [&api, &target, &file] {
      return compile_unit(api,
                          {.source = file.text,
                           .file_name = std::string(file.name),
                           .options = {.max_registers = kWorkerRegisters}},
                          target);
    }));
  }
  std::vector<Object> objects;
  for (std::future<Object>& unit : units) objects.push_back(unit.get());
  Image image;
  for (const Object& object : objects) image.log += object.log;
  image.binary = link_objects(api, objects, target, kWorkerRegisters);
  image.needs = read_resources(image.binary, "gpuos_worker");
  return image;
}

}  // namespace

Image compile_operators(const CompileRequest& request) {
  if (request.is_draft) {
    try {
      return compile_once(request);
    } catch (const CompileError&) {
      // Unoptimised code takes more registers and stack, and NVRTC before 12.8
      // does not know the option.
      CompileRequest again = request;
      again.is_draft = false;
      return compile_once(again);
    }
  }
  return compile_once(request);
}

void prepare_compiler(int compute_capability) {
  const Nvrtc& api = nvrtc();
  const Target target = target_of(api, compute_capability);
  const std::array objects{*link_root(api, target)};
  link_objects(api, objects, target, 0);
}

CompilerStats compiler_stats() noexcept {
  return {.compiled = compilations(),
          .cached = images().hits(),
          .from_disk = disk_cache().hits()};
}

std::string compile_worker(int compute_capability) {
  const Nvrtc& api = nvrtc();
  const Target target =
      choose_target(api, compute_capability, config().nvrtc_arch);
  CacheKey key;
  key.add(std::string("worker"))
      .add(toolchain_key(api, target))
      .add(kWorkerRegisters);
  return disk_cache()
      .get({.key = key.text(),
            .name = "worker.cu",
            .arch = target.link_arch,
            .image = {}},
           [&] { return compile_worker_now(api, target); })
      .binary;
}

}  // namespace gpuos::jit
