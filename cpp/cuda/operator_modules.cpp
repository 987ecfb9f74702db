#include "cuda/operator_modules.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <iterator>

#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/interrupt.h"
#include "jit/compile_pool.h"
#include "jit/device_code.h"
#include "jit/operator_compiler.h"

namespace gpuos::cu {
namespace {

std::string image_name(std::span<const OperatorBuild> builds) {
  const std::string& first = builds.front().definition.name;
  const std::string& last = builds.back().definition.name;
  return first == last ? first : concat(first, "_to_", last);
}

// Returns one part for each processor.
std::vector<std::span<const OperatorBuild>> parts_of(
    std::span<const OperatorBuild> builds) {
  const std::size_t threads = jit::compile_threads();
  const std::size_t size = (builds.size() + threads - 1) / threads;
  std::vector<std::span<const OperatorBuild>> parts;
  for (std::size_t begin = 0; begin < builds.size(); begin += size)
    parts.push_back(
        builds.subspan(begin, std::min(size, builds.size() - begin)));
  return parts;
}

// Adds the objects of sessions, and the addresses of their variables.
jit::Image compile(jit::CompileRequest request,
                   std::span<const OperatorBuild> builds) {
  const auto codes =
      std::make_shared<std::vector<std::shared_ptr<const DeviceCode>>>();
  for (const OperatorBuild& build : builds) {
    const auto& code = build.definition.code;
    if (code == nullptr) continue;
    for (const jit::Object& object : code->objects) {
      const bool is_there =
          std::ranges::any_of(request.objects, [&](const jit::Object& other) {
            return other.binary == object.binary;
          });
      if (!is_there) request.objects.push_back(object);
    }
    codes->push_back(code);
  }
  jit::Image image = jit::compile_operators(request);
  for (const auto& code : *codes)
    jit::put_addresses(image.binary, code->addresses);
  if (!codes->empty()) image.keeps = codes;
  return image;
}

}  // namespace

OperatorImage build_image(std::span<const OperatorBuild> builds,
                          int compute_capability, const jit::Budget& budget) {
  OperatorImage image{.name = image_name(builds), .image = {}, .slots = {}};
  jit::CompileRequest request;
  request.file_name = concat(image_name(builds), ".cu");
  request.compute_capability = compute_capability;
  request.budget = budget;
  request.is_draft = std::ranges::any_of(builds, &OperatorBuild::is_draft);
  const auto add = [&](const OperatorBuild& build) {
    const std::string& name = build.definition.name;
    request.source +=
        concat("#include \"gpuos/operator.h\"\n", build.prelude(), "#line 1 \"",
               name, ".cu\"\n", build.source(), "\n");
    request.entries.push_back(name);
    image.slots.push_back(build.slot);
  };
  // The prelude of a checked operator is for that one alone.
  for (const OperatorBuild& build : builds) {
    if (build.checked == nullptr) add(build);
  }
  for (const OperatorBuild& build : builds) {
    if (build.checked != nullptr) add(build);
  }
  image.image = compile(std::move(request), builds);
  return image;
}

namespace {

// Linkers do not report two functions of one name in given objects, so each of
// these objects is a separate image.
std::vector<OperatorImage> build_part(std::span<const OperatorBuild> part,
                                      int compute_capability,
                                      const jit::Budget& budget) {
  std::vector<OperatorImage> images;
  std::vector<OperatorBuild> sources;
  for (const OperatorBuild& build : part) {
    if (build.definition.object)
      images.push_back(build_image({&build, 1}, compute_capability, budget));
    else
      sources.push_back(build);
  }
  if (!sources.empty())
    images.push_back(build_image(sources, compute_capability, budget));
  return images;
}

}  // namespace

std::vector<OperatorImage> build_images(std::span<const OperatorBuild> builds,
                                        int compute_capability,
                                        const jit::Budget& budget) {
  const auto build = [&](std::span<const OperatorBuild> part) {
    return build_part(part, compute_capability, budget);
  };
  const auto parts = parts_of(builds);
  std::atomic<bool> stops = false;
  const auto build_aside = [&](std::span<const OperatorBuild> part) {
    const Interrupt interrupt(
        [](void* flag) noexcept {
          return static_cast<std::atomic<bool>*>(flag)->load();
        },
        &stops);
    return build(part);
  };
  std::vector<std::future<std::vector<OperatorImage>>> others;
  for (const auto& part : std::span(parts).subspan(1))
    others.push_back(std::async(std::launch::async, build_aside, part));
  try {
    std::vector<OperatorImage> images = build(parts.front());
    for (auto& other : others) {
      while (other.wait_for(Interrupt::kPeriod) != std::future_status::ready)
        Interrupt::check("define_many");
      std::ranges::move(other.get(), std::back_inserter(images));
    }
    return images;
  } catch (...) {
    stops = true;  // letting go of the others waits for them
    throw;
  }
}

OperatorModules::OperatorModules(int ordinal, const WorkerKernel& kernel)
    : ordinal_(ordinal),
      kernel_(kernel),
      stream_(make_stream()),
      written_(make_event()) {}

OperatorModules::~OperatorModules() {
  drop([&] {
    std::vector<std::uint32_t> slots;
    for (const auto& [slot, module] : modules_) slots.push_back(slot);
    return slots;
  }());
  for (CUmodule module : dropped_) driver().cuModuleUnload(module);
}

void OperatorModules::load(std::span<const OperatorImage> images) {
  std::size_t done = 0;
  try {
    for (; done < images.size(); ++done) load_one(images[done]);
  } catch (...) {
    for (const OperatorImage& image : images.first(done)) drop(image.slots);
    throw;
  }
  loads_.fetch_add(1);
}

void OperatorModules::load_one(const OperatorImage& image) {
  const jit::Image& linked = image.image;
  CUmodule raw = nullptr;
  GPUOS_CUDA_CHECK(driver().cuModuleLoadData(&raw, linked.binary.data()));
  try {
    for (std::size_t i = 0; i < image.slots.size(); ++i) {
      CUdeviceptr pointer = 0;
      std::size_t bytes = 0;
      GPUOS_CUDA_CHECK(driver().cuModuleGetGlobal(&pointer, &bytes, raw,
                                                  linked.entries[i].c_str()));
      GPUOS_CUDA_CHECK(driver().cuMemcpyDtoDAsync(
          kernel_.entry(image.slots[i]), pointer, sizeof(OpFn), stream_.get()));
    }
    GPUOS_CUDA_CHECK(driver().cuEventRecord(written_.get(), stream_.get()));
  } catch (...) {
    driver().cuModuleUnload(raw);
    throw;
  }
  const std::shared_ptr<Module> module(new Module{
      raw, {image.name, ordinal_, linked.binary.size()}, linked.keeps});
  const std::lock_guard lock(mutex_);
  for (const std::uint32_t slot : image.slots)
    modules_[slot] = {module, "operator"};
}

void OperatorModules::put_before(CUstream stream) {
  GPUOS_CUDA_CHECK(driver().cuStreamWaitEvent(stream, written_.get(), 0));
}

void OperatorModules::wait() {
  GPUOS_CUDA_CHECK(driver().cuEventSynchronize(written_.get()));
}

void OperatorModules::drop(std::span<const std::uint32_t> slots) {
  const std::lock_guard lock(mutex_);
  for (const std::uint32_t slot : slots) {
    const auto it = modules_.find(slot);
    if (it == modules_.end()) continue;
    const bool is_last = it->second.shared().use_count() == 1;
    if (is_last) dropped_.push_back(it->second->handle);
    modules_.erase(it);
  }
}

std::size_t OperatorModules::dropped_count() const {
  const std::lock_guard lock(mutex_);
  return dropped_.size();
}

void OperatorModules::unload_dropped() {
  std::vector<CUmodule> modules;
  {
    const std::lock_guard lock(mutex_);
    modules.swap(dropped_);
  }
  for (CUmodule module : modules) {
    GPUOS_CUDA_CHECK(driver().cuModuleUnload(module));
    unloads_.fetch_add(1);
  }
}

void OperatorModules::abandon() noexcept {
  const std::lock_guard lock(mutex_);
  modules_.clear();
  dropped_.clear();
  static_cast<void>(new Stream(std::move(stream_)));
  static_cast<void>(new Event(std::move(written_)));
}

}  // namespace gpuos::cu
