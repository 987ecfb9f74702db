#include "session/device/device.h"

#include "gpuos/error.h"
#include "jit/objects/object_symbols.h"

namespace gpuos::session {

const cu::Context& Device::context() const {
  if (!refusal_.empty()) throw BackendUnavailable(refusal_);
  return cu::device_context(ordinal_);
}

std::shared_ptr<cu::LoadedModule> Device::load_image(
    const std::string& name, std::string image, cu::LoadedModule::Keeps keeps) {
  context();
  ++loaded_;
  return cu::LoadedModule::load(
      ordinal_, name, std::make_shared<const std::string>(std::move(image)),
      std::move(keeps));
}

std::shared_ptr<const cu::LoadedKernel> Device::load(
    const std::shared_ptr<const Linked>& linked, Linker& linker) {
  const Definition& root = *linked->root;
  Loaded& kept = kernels_[linked.get()];
  if (kept.linked.expired()) {
    context();
    std::vector<jit::SymbolAddress> addresses;
    cu::LoadedModule::Keeps storages;
    for (const DefinitionPtr& variable : linked->closure.variables) {
      addresses.push_back(
          {variable->symbol, storage(variable, linker).address});
      storages.push_back(owner(variable, "session"));
    }
    std::string image = linked->image;
    jit::put_addresses(image, addresses);
    kept = {linked,
            {load_image(root.title(), std::move(image), std::move(storages)),
             "session"}};
  }
  return std::make_shared<const cu::LoadedKernel>(
      ModuleUse<cu::LoadedModule>(kept.module.shared(), "Kernel"),
      root.item.name, root.symbol);
}

cu::DeviceGlobal Device::storage(const DefinitionPtr& variable,
                                 Linker& linker) {
  Storage& kept = storages_[variable.get()];
  if (kept.variable.expired()) {
    std::shared_ptr<cu::LoadedModule> module =
        load_image(variable->title(), linker.link_storage(*variable));
    kept = {variable, {std::move(module), "session"}};
  }
  return kept.module->global(variable->storage_symbol);
}

std::shared_ptr<const void> Device::owner(const DefinitionPtr& variable,
                                          std::string what) const {
  return std::make_shared<ModuleUse<cu::LoadedModule>>(
      storages_.at(variable.get()).module.shared(), std::move(what));
}

void Device::read(const cu::DeviceGlobal& from, void* to) const {
  cu::read_global(context(), from, to);
}

void Device::write(const cu::DeviceGlobal& to, const void* from) const {
  cu::write_global(context(), to, from);
}

void Device::synchronize() const { gpuos::synchronize({}, ordinal_); }

void Device::collect() {
  std::erase_if(kernels_, [](const auto& entry) {
    return entry.second.linked.expired();
  });
  std::erase_if(storages_, [](const auto& entry) {
    return entry.second.variable.expired();
  });
}

}  // namespace gpuos::session
