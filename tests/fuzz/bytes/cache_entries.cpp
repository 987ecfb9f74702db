// Entries of the cache, which any process may have written.
#include "jit/cache/cache_entry.h"

#include "jit/cache/sha256.h"
#include "target.h"

namespace gpuos::jit {
namespace {

using fuzz::expect;

constexpr std::size_t kDigestBytes = 32;

// With the checksum that makes its fields be read.
std::string sealed(std::string_view body) {
  std::string bytes(body);
  const auto digest = sha256(body);
  bytes.append(digest.begin(), digest.end());
  return bytes;
}

void check(std::string_view bytes) {
  const DecodedEntry decoded = decode(bytes);
  const bool is_good = decoded.state == EntryState::Good;
  expect(decoded.problem.empty() == is_good, "a bad entry has a problem");
  if (!is_good) return;
  expect(encode(decoded.entry) == bytes, "it is written as it was read");
  const std::string_view body = bytes.substr(0, bytes.size() - kDigestBytes);
  for (const std::size_t size : {body.size() / 2, body.size() - 1}) {
    expect(decode(body.substr(0, size)).state == EntryState::Bad,
           "what is cut is bad");
    expect(decode(sealed(body.substr(0, size))).state == EntryState::Bad,
           "what is cut is bad with a checksum too");
  }
}

}  // namespace
}  // namespace gpuos::jit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view bytes = gpuos::fuzz::text_of(data, size);
  gpuos::jit::check(bytes);
  gpuos::jit::check(gpuos::jit::sealed(bytes));
  return 0;
}
