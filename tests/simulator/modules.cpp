#include "modules.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "device.h"

namespace gpuos::sim {
namespace {

// Reads variables and kernels of a CUBIN. The file is trusted.
class ImageReader {
 public:
  explicit ImageReader(const void* image)
      : bytes_(static_cast<const char*>(image)) {
    if (std::memcmp(bytes_, ELFMAG, SELFMAG) != 0) return;
    const auto header = read<Elf64_Ehdr>(0);
    for (unsigned i = 0; i < header.e_shnum; ++i)
      sections_.push_back(
          read<Elf64_Shdr>(header.e_shoff + i * header.e_shentsize));
    names_ = header.e_shstrndx;
  }

  template <typename OnVariable>
  void variables(OnVariable on_variable) const {
    for (const Elf64_Shdr& table : sections_) {
      if (table.sh_type != SHT_SYMTAB) continue;
      for (std::uint64_t at = 0; at < table.sh_size; at += sizeof(Elf64_Sym)) {
        const auto symbol = read<Elf64_Sym>(table.sh_offset + at);
        const bool is_variable = ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT;
        if (!is_variable || symbol.st_shndx >= sections_.size()) continue;
        const Elf64_Shdr& section = sections_[symbol.st_shndx];
        std::vector<char> value(symbol.st_size, 0);
        if (section.sh_type != SHT_NOBITS)
          std::memcpy(value.data(),
                      bytes_ + section.sh_offset + symbol.st_value,
                      value.size());
        on_variable(text(sections_[table.sh_link], symbol.st_name),
                    std::move(value));
      }
    }
  }

  // Records {format, attribute, size or value}. Format 4 has `size` bytes.
  template <typename OnKernel>
  void kernels(OnKernel on_kernel) const {
    constexpr std::string_view kInfo = ".nv.info.";
    constexpr std::uint8_t kSized = 4, kParameter = 0x17;
    for (const Elf64_Shdr& section : sections_) {
      const std::string name = text(sections_[names_], section.sh_name);
      if (!name.starts_with(kInfo)) continue;
      std::map<std::uint16_t, std::size_t> sizes;
      for (std::uint64_t at = 0; at + 4 <= section.sh_size;) {
        const std::uint64_t record = section.sh_offset + at;
        const auto size = read<std::uint16_t>(record + 2);
        if (read<std::uint8_t>(record) == kSized) {
          if (read<std::uint8_t>(record + 1) == kParameter)
            sizes[read<std::uint16_t>(record + 8)] =
                read<std::uint32_t>(record + 12) >> 18;
          at += size;
        }
        at += 4;
      }
      std::vector<std::size_t> bytes;
      for (const auto& [index, size] : sizes) bytes.push_back(size);
      on_kernel(name.substr(kInfo.size()), std::move(bytes));
    }
  }

 private:
  template <typename T>
  T read(std::uint64_t at) const {
    T value;
    std::memcpy(&value, bytes_ + at, sizeof value);
    return value;
  }
  std::string text(const Elf64_Shdr& table, std::uint32_t at) const {
    return bytes_ + table.sh_offset + at;
  }

  const char* const bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::size_t names_ = 0;
};

}  // namespace

Modules& Modules::instance() {
  static auto* const modules = new Modules;
  return *modules;
}

cu::CUmodule Modules::load(const void* image) {
  const ImageReader reader(image);
  Loaded loaded;
  reader.variables([&](std::string name, std::vector<char> value) {
    loaded.variables.insert_or_assign(std::move(name), std::move(value));
  });
  reader.kernels([&](std::string name, std::vector<std::size_t> bytes) {
    loaded.kernels.insert_or_assign(std::move(name), std::move(bytes));
  });
  const std::lock_guard lock(mutex_);
  loaded.number = ++counts_.loads;
  const auto module = reinterpret_cast<cu::CUmodule>(0x100000 + loaded.number);
  loaded_.emplace(module, std::move(loaded));
  return module;
}

void Modules::unload(cu::CUmodule module, bool waits) {
  const std::lock_guard lock(mutex_);
  const auto found = loaded_.find(module);
  if (found == loaded_.end()) {
    faults_.emplace_back("a module that is not loaded was unloaded");
    return;
  }
  ++counts_.unloads;
  if (waits && found->second.is_launched) ++counts_.waiting_unloads;
  if (found->second.is_captured)
    faults_.push_back("module " + std::to_string(found->second.number) +
                      " was unloaded, which a graph has captured");
  loaded_.erase(found);
}

std::optional<cu::CUfunction> Modules::function(cu::CUmodule module,
                                                const std::string& name) {
  const std::lock_guard lock(mutex_);
  ModuleFunction found{.module = module, .name = name};
  const Loaded& loaded = loaded_.at(module);
  const auto kernel = loaded.kernels.find(name);
  if (kernel != loaded.kernels.end())
    found.parameter_bytes = kernel->second;
  else if (!loaded.kernels.empty())
    return std::nullopt;
  const auto function =
      reinterpret_cast<cu::CUfunction>(0x1000 + 16 * functions_.size());
  functions_.emplace(function, std::move(found));
  return function;
}

std::optional<ModuleVariable> Modules::variable(cu::CUmodule module,
                                                const std::string& name) {
  const std::lock_guard lock(mutex_);
  auto& variables = loaded_.at(module).variables;
  const auto found = variables.find(name);
  if (found == variables.end()) return std::nullopt;
  return ModuleVariable{found->second.data(), found->second.size()};
}

bool Modules::launch(cu::CUfunction function, cu::CUstream stream,
                     unsigned int grid, unsigned int block, void** parameters) {
  KernelLaunch launch{.grid = grid, .block = block};
  launch.is_captured = Device::instance().captures(stream);
  {
    const std::lock_guard lock(mutex_);
    const ModuleFunction& known = functions_.at(function);
    if (known.name.starts_with("gpuos_")) return false;
    launch.name = known.name;
    const auto module = loaded_.find(known.module);
    if (module == loaded_.end()) {
      faults_.push_back(known.name + " was launched, which is unloaded");
    } else {
      launch.module = module->second.number;
      (launch.is_captured ? module->second.is_captured
                          : module->second.is_launched) = true;
    }
    for (const std::size_t bytes : known.parameter_bytes)
      launch.arguments.emplace_back(
          static_cast<const char*>(parameters[launch.arguments.size()]), bytes);
  }
  Device::instance().note_kernel(std::move(launch));
  return true;
}

std::vector<std::size_t> Modules::parameter_bytes(
    cu::CUfunction function) const {
  const std::lock_guard lock(mutex_);
  const auto found = functions_.find(function);
  return found == functions_.end() ? std::vector<std::size_t>{}
                                   : found->second.parameter_bytes;
}

ModuleCounts Modules::counts() const {
  const std::lock_guard lock(mutex_);
  ModuleCounts counts = counts_;
  counts.captured = 0;
  for (const auto& [module, loaded] : loaded_)
    counts.captured += loaded.is_captured ? 1 : 0;
  return counts;
}

std::vector<std::string> Modules::faults() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

}  // namespace gpuos::sim
