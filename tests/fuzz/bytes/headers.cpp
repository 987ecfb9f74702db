// The includes of a source, with a list of headers. The input has the source,
// then the name and the text of each header, separated by zero bytes.
#include "gpuos/error.h"
#include "jit/headers/source_inputs.h"
#include "jit/toolkit/header_packages.h"
#include "target.h"

namespace gpuos::jit {
namespace {

using fuzz::expect;

void check_names(const std::string& source) {
  const auto names = includes_of(source);
  if (!names) return;
  for (const std::string& name : *names) {
    // A condition may test less than a name: #if "("/**/""
    const bool is_plain =
        source.find('\\') == source.npos && name.find(' ') == name.npos;
    expect(!is_plain || source.find(name) != source.npos,
           "a name stands in the source");
    package_hint(name, 12);
    standard_hint(name);
    is_embedded(name);
  }
}

void check(const std::string& source, std::vector<JitHeader> headers) {
  check_names(source);
  for (const JitHeader& header : headers) check_names(header.text);
  const auto digest = include_digest(source, headers, {}, "");
  expect(digest == include_digest(source, headers, {}, ""),
         "a list of headers has one digest");
  if (!digest) return;
  // A header that is included decides it, and no other one.
  const auto names = includes_of(source);
  expect(names.has_value(), "what has a digest can be read");
  for (JitHeader& header : headers) {
    if (std::ranges::find(*names, header.name) == names->end()) continue;
    header.text += "\nint changed;\n";
    expect(digest != include_digest(source, headers, {}, ""),
           "another text has another digest");
    return;
  }
}

}  // namespace
}  // namespace gpuos::jit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::vector<std::string> parts =
      gpuos::fuzz::parts_of(gpuos::fuzz::text_of(data, size));
  std::vector<gpuos::JitHeader> headers;
  for (std::size_t i = 1; i + 1 < parts.size(); i += 2)
    headers.push_back({parts[i], parts[i + 1]});
  gpuos::jit::check(parts[0], std::move(headers));
  return 0;
}
