#include "jit/compile_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/c_text.h"
#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos::jit {
namespace {

constexpr std::array<std::string_view, 5> kStandards{"c++11", "c++14", "c++17",
                                                     "c++20", "c++23"};
constexpr std::uint32_t kLeastRegisters = 16;
constexpr std::uint32_t kMostRegisters = 255;

// Names an option that gpuos passes itself, and the field that sets it.
struct Taken {
  std::string_view option;
  std::string_view field;
};
constexpr std::array<Taken, 18> kTaken{{
    {"--gpu-architecture", "arch"},
    {"-arch", "arch"},
    {"--std", "std"},
    {"-std", "std"},
    {"--define-macro", "defines"},
    {"-D", "defines"},
    {"--include-path", "include_dirs"},
    {"-I", "include_dirs"},
    {"--maxrregcount", "max_registers"},
    {"-maxrregcount", "max_registers"},
    {"--use_fast_math", "fast_math"},
    {"-use_fast_math", "fast_math"},
    {"--generate-line-info", "line_info"},
    {"-lineinfo", "line_info"},
    {"--device-debug", "debug"},
    {"-G", "debug"},
    {"--Ofast-compile", "fast_compile"},
    {"-Ofc", "fast_compile"},
}};

// These options read a file that no key of a cache contains.
constexpr std::array kFiles = std::to_array<std::string_view>(
    {"--pre-include", "-include", "--options-file", "-optf", "--pch",
     "--create-pch", "-create-pch", "--use-pch", "-use-pch", "--pch-dir",
     "-pch-dir", "-pch"});

// Returns whether `given` is this option. -D and -I also take their value
// without a space or an equals sign.
bool is_same_option(std::string_view given, std::string_view option) {
  if (!given.starts_with(option)) return false;
  return given.size() == option.size() || given[option.size()] == '=' ||
         given[option.size()] == ' ' || option == "-D" || option == "-I";
}

void check_extra(const std::string& option) {
  if (option.size() < 2 || option.front() != '-')
    throw InvalidArgument(
        concat("JitOptions: extra: expected options that begin with '-', got '",
               option, "'"));
  for (const Taken& taken : kTaken) {
    if (is_same_option(option, taken.option))
      throw InvalidArgument(concat("JitOptions: extra: expected the field '",
                                   taken.field, "' for this option, got '",
                                   option, "'"));
  }
  for (const std::string_view file : kFiles) {
    if (is_same_option(option, file))
      throw InvalidArgument(concat(
          "JitOptions: extra: expected an #include in the source, so that a "
          "changed file is compiled again, got '",
          option, "'"));
  }
}

std::string_view name_of(FastCompile level) {
  switch (level) {
    case FastCompile::Min:
      return "min";
    case FastCompile::Mid:
      return "mid";
    case FastCompile::Max:
      return "max";
    default:
      return "0";
  }
}

// Returns the value after the option: "4" of "--maxrregcount=4".
std::string_view value_of(std::string_view flag, std::string_view option) {
  flag.remove_prefix(option.size());
  if (flag.starts_with('=')) flag.remove_prefix(1);
  const std::size_t begin = flag.find_first_not_of(' ');
  return flag.substr(std::min(begin, flag.size()));
}

[[noreturn]] void refuse(const Taken& taken, std::string_view wanted,
                         std::string_view value) {
  throw InvalidArgument(concat("JitOptions: ", taken.field, ": expected ",
                               wanted, ", got '", value, "'"));
}

std::uint32_t number_of(const Taken& taken, std::string_view value) {
  std::uint32_t number = 0;
  const std::string text(value);
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || last != end) refuse(taken, "a number", value);
  return number;
}

bool truth_of(const Taken& taken, std::string_view value) {
  if (value.empty() || value == "true") return true;
  if (value != "false") refuse(taken, "true or false", value);
  return false;
}

FastCompile level_of(const Taken& taken, std::string_view value) {
  for (const FastCompile level : {FastCompile::Off, FastCompile::Min,
                                  FastCompile::Mid, FastCompile::Max}) {
    if (value == name_of(level)) return level;
  }
  refuse(taken, "0, min, mid or max", value);
}

void set_define(JitOptions& options, std::string_view macro) {
  const std::size_t end = std::min(macro.find('='), macro.size());
  options.defines.emplace_back(
      macro.substr(0, end), end == macro.size() ? "1" : macro.substr(end + 1));
}

void set_field(JitOptions& options, const Taken& taken,
               std::string_view value) {
  if (taken.field == "arch")
    options.arch = value;
  else if (taken.field == "std")
    options.std = value;
  else if (taken.field == "defines")
    set_define(options, value);
  else if (taken.field == "include_dirs")
    options.include_dirs.emplace_back(value);
  else if (taken.field == "max_registers")
    options.max_registers = number_of(taken, value);
  else if (taken.field == "fast_math")
    options.fast_math = truth_of(taken, value);
  else if (taken.field == "line_info")
    options.line_info = truth_of(taken, value);
  else if (taken.field == "debug")
    options.debug = truth_of(taken, value);
  else
    options.fast_compile = level_of(taken, value);
}

// Checks levels, because the assembler refuses them without naming the field.
void check_levels(const JitOptions& options) {
  const int level = options.optimization;
  if (level != 3 && options.fast_compile != FastCompile::Off)
    throw InvalidArgument(
        concat("JitOptions: optimization: expected 3 with fast_compile='",
               name_of(options.fast_compile), "', got ", level));
  if (level != 3 && level != 0 && options.debug)
    throw InvalidArgument(concat(
        "JitOptions: optimization: expected 0 or 3 with debug, got ", level));
}

}  // namespace

void check_options(const JitOptions& options) {
  if (std::ranges::find(kStandards, options.std) == kStandards.end())
    throw InvalidArgument(
        concat("JitOptions: std: expected c++11, c++14, c++17, c++20 or c++23, "
               "got '",
               options.std, "'"));
  const std::uint32_t registers = options.max_registers;
  if (registers != 0 &&
      (registers < kLeastRegisters || registers > kMostRegisters))
    throw InvalidArgument(concat("JitOptions: max_registers: expected 0 or ",
                                 kLeastRegisters, " to ", kMostRegisters,
                                 ", got ", registers));
  if (options.optimization < 0 || options.optimization > 3)
    throw InvalidArgument(
        concat("JitOptions: optimization: expected 0 to 3, got ",
               options.optimization));
  check_levels(options);
  for (const auto& [name, text] : options.defines) {
    if (!is_identifier(name))
      throw InvalidArgument(
          concat("JitOptions: defines: expected a name, got '", name, "'"));
    if (text.find('\n') != text.npos)
      throw InvalidArgument(concat("JitOptions: defines: ", name,
                                   ": expected one line, got more"));
  }
  for (const std::string& option : options.extra) check_extra(option);
}

void check_options(const JitOptions& options, const Nvrtc& api) {
  if (options.fast_compile != FastCompile::Off &&
      (api.major < 12 || (api.major == 12 && api.minor < 8)))
    throw InvalidArgument(concat(
        "JitOptions: fast_compile: expected NVRTC 12.8 or newer for '",
        name_of(options.fast_compile), "', got ", api.major, ".", api.minor));
}

std::vector<std::string> option_flags(const JitOptions& options) {
  std::vector<std::string> flags{concat("--std=", options.std)};
  for (const auto& [name, text] : options.defines)
    flags.push_back(concat("--define-macro=", name, "=", text));
  if (options.max_registers != 0)
    flags.push_back(concat("--maxrregcount=", options.max_registers));
  if (options.fast_math) flags.emplace_back("--use_fast_math");
  if (options.line_info) flags.emplace_back("--generate-line-info");
  if (options.debug) flags.emplace_back("--device-debug");
  if (options.optimization != 3)
    flags.push_back(concat("--ptxas-options=-O", options.optimization));
  if (options.fast_compile != FastCompile::Off)
    flags.push_back(concat("--Ofast-compile=", name_of(options.fast_compile)));
  for (const std::string& option : options.extra) flags.push_back(option);
  return flags;
}

}  // namespace gpuos::jit

namespace gpuos {

JitOptions jit_options_of(std::span<const std::string> flags) {
  JitOptions options;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const std::string& flag = flags[i];
    const auto taken =
        std::ranges::find_if(jit::kTaken, [&](const jit::Taken& one) {
          return jit::is_same_option(flag, one.option);
        });
    if (taken == jit::kTaken.end()) {
      options.extra.push_back(flag);
      continue;
    }
    std::string_view value = jit::value_of(flag, taken->option);
    const bool has_next =
        i + 1 < flags.size() && !flags[i + 1].starts_with('-');
    if (value.empty() && has_next) value = flags[++i];
    jit::set_field(options, *taken, value);
  }
  return options;
}

}  // namespace gpuos
