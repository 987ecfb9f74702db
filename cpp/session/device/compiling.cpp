#include "session/device/compiling.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>

#include "base/concat.h"
#include "base/interruptible.h"
#include "gpuos/error.h"
#include "gpuos/interrupt.h"
#include "jit/compile_pool.h"
#include "jit/headers/cuda_headers.h"
#include "jit/headers/source_inputs.h"
#include "jit/objects/object_symbols.h"
#include "jit/symbols.h"

namespace gpuos::session {
namespace {

// Calls `work` in `threads` threads, including the caller's. An interrupt of
// the caller interrupts the others too.
template <typename Work>
void run_beside(std::size_t threads, const Work& work) {
  std::atomic<bool> stops = false;
  const auto work_aside = [&] {
    const Interrupt interrupt(
        [](void* flag) noexcept {
          return static_cast<std::atomic<bool>*>(flag)->load();
        },
        &stops);
    work();
  };
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < threads; ++i) {
    others.push_back(is_interruptible()
                         ? std::async(std::launch::async, work_aside)
                         : std::async(std::launch::async, work));
  }
  work();
  for (std::future<void>& other : others) {
    while (other.wait_for(Interrupt::kPeriod) != std::future_status::ready)
      stops = Interrupt::is_asked_for();
  }
}

constexpr std::string_view kStorage = "gpuos_storage_";

// With this value the linker stores the variable in the file, and the address
// replaces it.
constexpr std::string_view kPointerValue = "0x6770756f73ull";

// Returns the symbol that the Itanium ABI gives the item in its namespaces.
std::string variable_symbol(const Item& item) {
  std::string path;
  for (const std::string& scope : item.scopes) {
    if (scope.starts_with("extern")) return item.name;
    std::string_view names = scope;
    names.remove_prefix(names.find("namespace") + 9);
    for (std::size_t at = 0; at < names.size();) {
      const std::size_t begin = names.find_first_not_of(": ", at);
      if (begin == names.npos) break;
      at = std::min(names.find_first_of(": ", begin), names.size());
      path += concat(at - begin, names.substr(begin, at - begin));
    }
  }
  if (path.empty()) return item.name;
  return concat("_ZN", path, item.name.size(), item.name, "E");
}

std::vector<Dependency> dependencies_of(const Selection& selection) {
  std::vector<Dependency> found;
  for (const EntryPtr& entry : selection.entries) {
    // A macro is text. Code that was compiled with it does not change.
    if (entry->item.kind != ItemKind::Directive)
      found.push_back({entry->item.key, entry->version});
  }
  return found;
}

const jit::ObjectSymbol& only_symbol(const jit::ObjectSymbols& symbols,
                                     const CompileJob& job) {
  const bool wants_function = job.item.kind != ItemKind::Variable;
  const auto found = std::ranges::find(symbols.defined, wants_function,
                                       &jit::ObjectSymbol::is_function);
  if (found == symbols.defined.end())
    throw CompileError(
        concat(job.cell, ":", job.item.line, ": expected ", job.item.name,
               " to be a symbol of its object, got none"),
        "");
  return *found;
}

DefinitionPtr finish(const CompileJob& job, std::span<jit::Object> objects) {
  auto definition = std::make_shared<Definition>();
  definition->item = job.item;
  definition->cell = job.cell;
  definition->dependencies = job.dependencies;
  definition->object = std::move(objects[0]);
  jit::ObjectSymbols symbols = jit::object_symbols(definition->object.binary);
  const jit::ObjectSymbol& own = only_symbol(symbols, job);
  if (job.item.kind == ItemKind::Variable) {
    definition->pointer = std::move(objects[1]);
    definition->storage_symbol = own.name;
    definition->bytes = own.bytes;
    definition->symbol = variable_symbol(job.item);
    if (!symbols.undefined.empty())
      throw CompileError(
          concat(job.cell, ":", job.item.line, ": expected a value of ",
                 job.item.name, " without addresses of functions, got ",
                 jit::demangled(symbols.undefined.front()),
                 "; let a kernel store it"),
          "");
  } else {
    definition->symbol = own.name;
    for (const jit::ObjectSymbol& symbol : symbols.defined) {
      if (symbol.is_function && symbol.name != own.name)
        definition->more_symbols.push_back(symbol.name);
    }
  }
  definition->undefined = std::move(symbols.undefined);
  return definition;
}

CompileJob make_variable_job(const Item& item, const std::string& cell,
                             const Header& header) {
  const Selection selection = header.select(identifiers_of(item.text), &item);
  std::string text = item.text;
  text.insert(item.name_at, kStorage);
  CompileJob job{.item = item,
                 .cell = cell,
                 .sources = {},
                 .dependencies = dependencies_of(
                     header.select(identifiers_of(item.header), &item)),
                 .included = selection.entries};
  // This compiles the declaration for later cells, because a file or the
  // compiler may already use the name.
  job.sources.push_back({concat(selection.text, placed(item.header, item, cell),
                                placed(text, item, cell)),
                         cell});
  job.sources.push_back(
      {concat("extern \"C\" __device__ unsigned long long ",
              variable_symbol(item), " = ", kPointerValue, ";\n"),
       cell});
  return job;
}

}  // namespace

jit::Object Compiler::compile_one(const Source& source) const {
  jit::Unit unit{.source = source.text,
                 .file_name = source.cell,
                 .options = settings_.options,
                 .include_dirs = settings_.include_dirs,
                 .name_expressions = source.name_expressions};
  if (!jit::stands_alone(source.text))
    jit::add_cuda_headers(api_, unit.include_dirs, unit.headers);
  try {
    return jit::compile_unit(api_, unit, settings_.target);
  } catch (const CompileError& error) {
    jit::throw_with_header_hint(error, api_);
    throw;
  }
}

void Compiler::add_include_dir(const std::string& dir) {
  std::vector<std::string>& dirs = settings_.include_dirs;
  if (std::ranges::find(dirs, dir) == dirs.end()) dirs.push_back(dir);
}

std::vector<jit::Object> Compiler::compile(std::span<const Source> sources) {
  std::vector<jit::Object> objects(sources.size());
  std::vector<std::exception_ptr> errors(sources.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++) {
      try {
        Interrupt::check("compile");
        objects[i] = compile_one(sources[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  run_beside(std::min(sources.size(), jit::compile_threads()), work);
  Interrupt::check("compile");
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  compiled_ += sources.size();
  return objects;
}

CompileJob make_job(const Item& item, const std::string& cell,
                    const Header& header) {
  if (item.kind == ItemKind::Variable)
    return make_variable_job(item, cell, header);
  const Selection selection = header.select(identifiers_of(item.text), &item);
  CompileJob job{.item = item,
                 .cell = cell,
                 .sources = {},
                 .dependencies = dependencies_of(selection),
                 .included = selection.entries};
  job.sources.push_back({selection.text + placed(item.text, item, cell), cell});
  return job;
}

std::vector<DefinitionPtr> build(std::span<const CompileJob> jobs,
                                 Compiler& compiler, std::string& log) {
  std::vector<Source> sources;
  for (const CompileJob& job : jobs)
    sources.insert(sources.end(), job.sources.begin(), job.sources.end());
  std::vector<jit::Object> objects = compiler.compile(sources);
  std::vector<DefinitionPtr> built;
  std::size_t at = 0;
  for (const CompileJob& job : jobs) {
    log += objects[at].log;
    built.push_back(
        finish(job, std::span(objects).subspan(at, job.sources.size())));
    at += job.sources.size();
  }
  return built;
}

DefinitionPtr build_instance(const std::string& name, const Header& header,
                             Compiler& compiler) {
  const Selection selection = header.select(identifiers_of(name), nullptr);
  const Source source{selection.text, name, {name}};
  std::vector<jit::Object> objects = compiler.compile({&source, 1});
  auto definition = std::make_shared<Definition>();
  definition->item.kind = ItemKind::Kernel;
  definition->item.name = name;
  definition->cell = "an instance of a template";
  definition->symbol = objects[0].symbols.at(0).symbol;
  definition->undefined = jit::object_symbols(objects[0].binary).undefined;
  definition->object = std::move(objects[0]);
  definition->dependencies = dependencies_of(selection);
  return definition;
}

Source make_check(std::span<const EntryPtr> entries, const std::string& cell,
                  const Header& header) {
  std::set<std::string> roots;
  for (const EntryPtr& entry : entries) {
    roots.insert(entry->item.names.begin(), entry->item.names.end());
    roots.insert(entry->mentions.begin(), entry->mentions.end());
  }
  Selection selection = header.select(roots, nullptr);
  // The loop adds the entries that no code can name.
  for (const EntryPtr& entry : entries) {
    if (std::ranges::find(selection.entries, entry) == selection.entries.end())
      selection.text += placed(entry->item.header, entry->item, entry->cell);
  }
  return {std::move(selection.text), cell};
}

}  // namespace gpuos::session
