#include "gpuos/jit_module.h"

#include <fstream>
#include <iterator>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/compile_pool.h"
#include "jit/given_object.h"
#include "jit/module_compiler.h"
#include "modules/module_state.h"

namespace gpuos {
namespace {

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file)
    throw InvalidArgument(
        concat("JitModule: expected a file that can be read, got ", path));
  return bytes;
}

}  // namespace

JitModule::JitModule(JitSource source, int device, std::stop_token stop) {
  auto compiled = jit::compile_module(
      source, cu::try_compute_capability(device), std::move(stop));
  state_ = std::make_shared<State>(device, false, std::move(source),
                                   std::move(compiled));
}

JitModule JitModule::from_image(std::string image, std::string name,
                                int device) {
  auto given = std::make_shared<const jit::ModuleImage>(
      jit::read_image(std::move(image), name));
  return JitModule(std::make_shared<State>(
      device, true, JitSource{.name = std::move(name)}, std::move(given)));
}

JitModule JitModule::from_file(const std::string& path, int device) {
  return from_image(file_bytes(path), path.substr(path.rfind('/') + 1), device);
}

Kernel JitModule::kernel(std::string_view name) const {
  return state_->kernel(name);
}

void* JitModule::global_address(std::string_view name) const {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver gives an integer
  return reinterpret_cast<void*>(state_->variable(name).global.address);
}

std::size_t JitModule::global_bytes(std::string_view name) const {
  return state_->variable(name).global.bytes;
}

void JitModule::read(std::string_view name, void* to, std::size_t bytes) const {
  const State::Variable from = state_->variable(name);
  cu::check_bytes(from.global, bytes, concat(state_->name(), ": ", name));
  cu::read_global(from.module->context(), from.global, to);
}

void JitModule::write(std::string_view name, const void* from,
                      std::size_t bytes) const {
  const State::Variable to = state_->variable(name);
  cu::check_bytes(to.global, bytes, concat(state_->name(), ": ", name));
  cu::write_global(to.module->context(), to.global, from);
}

std::uint64_t JitModule::replace(JitReplacement replacement,
                                 std::stop_token stop) {
  return state_->replace(std::move(replacement), std::move(stop));
}

std::uint64_t JitModule::version() const { return state_->version(); }

std::string JitModule::image() const {
  return state_->compiled()->image.binary;
}

std::string JitModule::log() const { return state_->compiled()->image.log; }

std::string JitModule::arch() const { return state_->compiled()->target.arch; }

const std::string& JitModule::name() const { return state_->name(); }

std::future<JitModule> compile_async(JitSource source, int device,
                                     std::stop_token stop) {
  const auto promise = std::make_shared<std::promise<JitModule>>();
  jit::CompilePool::instance().post(
      [promise, source = std::move(source), device, stop = std::move(stop)] {
        try {
          promise->set_value(JitModule(source, device, stop));
        } catch (...) {
          promise->set_exception(std::current_exception());
        }
      });
  return promise->get_future();
}

}  // namespace gpuos
