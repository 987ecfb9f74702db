#include "jit/cache/cache_entry.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/concat.h"
#include "jit/cache/sha256.h"

namespace gpuos::jit {
namespace {

constexpr std::string_view kMagic = "gpuosjit";
constexpr std::size_t kDigestBytes = 32;

std::string digest_of(std::string_view bytes) {
  const auto digest = sha256(bytes);
  return {digest.begin(), digest.end()};
}

class Writer {
 public:
  // Writes the low byte first, on every machine.
  template <typename T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_ += static_cast<char>(std::uint64_t{value} >> (8 * i) & 0xff);
  }
  void raw(std::string_view text) { bytes_ += text; }
  void text(std::string_view text) {
    number(std::uint64_t{text.size()});
    raw(text);
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads the fields of an entry. Once something is missing, it returns zeros
/// and is_good() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T number() {
    std::uint64_t value = 0;
    const std::string_view bytes = raw(sizeof(T));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return static_cast<T>(value);
  }
  std::string_view raw(std::uint64_t bytes) {
    if (bytes > rest_.size()) {
      is_good_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  std::string text() { return std::string(raw(number<std::uint64_t>())); }

  bool is_good() const { return is_good_; }
  bool is_at_end() const { return is_good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool is_good_ = true;
};

void write(Writer& writer, const Resources& needs) {
  for (const std::uint32_t number :
       {needs.registers, needs.stack_bytes, needs.shared_bytes,
        needs.constant_bytes, needs.barriers,
        std::uint32_t{needs.uses_shared ? 1u : 0u}})
    writer.number(number);
}

// Returns empty resources for a state that encode() does not write.
std::optional<Resources> read_needs(Reader& reader) {
  Resources needs;
  for (std::uint32_t* number :
       {&needs.registers, &needs.stack_bytes, &needs.shared_bytes,
        &needs.constant_bytes, &needs.barriers})
    *number = reader.number<std::uint32_t>();
  const auto uses_shared = reader.number<std::uint32_t>();
  if (uses_shared > 1) return std::nullopt;
  needs.uses_shared = uses_shared == 1;
  return needs;
}

std::optional<CacheEntry> read_fields(Reader& reader) {
  CacheEntry entry;
  entry.key = reader.text();
  entry.name = reader.text();
  entry.arch = reader.text();
  const std::optional<Resources> needs = read_needs(reader);
  if (!needs) return std::nullopt;
  entry.image.needs = *needs;
  // The code reserves no memory, because a wrong count must not ask for it.
  for (auto count = reader.number<std::uint32_t>();
       count > 0 && reader.is_good(); --count)
    entry.image.entries.push_back(reader.text());
  for (auto count = reader.number<std::uint32_t>();
       count > 0 && reader.is_good(); --count) {
    std::string name = reader.text();
    entry.image.symbols.push_back({std::move(name), reader.text()});
  }
  entry.image.log = reader.text();
  entry.image.binary = reader.text();
  if (!reader.is_at_end()) return std::nullopt;
  return entry;
}

DecodedEntry wrong(EntryState state, std::string problem) {
  return {.state = state, .problem = std::move(problem), .entry = {}};
}

}  // namespace

std::string encode(const CacheEntry& entry) {
  Writer writer;
  writer.raw(kMagic);
  writer.number(kCacheSchema);
  writer.text(entry.key);
  writer.text(entry.name);
  writer.text(entry.arch);
  write(writer, entry.image.needs);
  writer.number(static_cast<std::uint32_t>(entry.image.entries.size()));
  for (const std::string& name : entry.image.entries) writer.text(name);
  writer.number(static_cast<std::uint32_t>(entry.image.symbols.size()));
  for (const LoweredName& symbol : entry.image.symbols) {
    writer.text(symbol.name);
    writer.text(symbol.symbol);
  }
  writer.text(entry.image.log);
  writer.text(entry.image.binary);
  writer.raw(digest_of(writer.bytes()));
  return std::move(writer.bytes());
}

DecodedEntry decode(std::string_view bytes) {
  Reader reader(bytes);
  if (reader.raw(kMagic.size()) != kMagic)
    return wrong(EntryState::Bad, "no entry of a cache, or cut short");
  const auto schema = reader.number<std::uint32_t>();
  if (!reader.is_good() || bytes.size() < kDigestBytes)
    return wrong(EntryState::Bad,
                 concat("cut short at ", bytes.size(), " bytes"));
  const std::string_view body = bytes.substr(0, bytes.size() - kDigestBytes);
  // The digest is the last field of every schema.
  if (digest_of(body) != bytes.substr(body.size()))
    return wrong(EntryState::Bad, "the checksum differs");
  if (schema != kCacheSchema)
    return wrong(
        EntryState::OtherSchema,
        concat("schema ", schema, ", this gpuos writes ", kCacheSchema));
  Reader fields(body);
  fields.raw(kMagic.size() + sizeof(schema));
  std::optional<CacheEntry> entry = read_fields(fields);
  if (!entry)
    return wrong(EntryState::Bad, "its fields are none that are written");
  return {.state = EntryState::Good, .problem = {}, .entry = *std::move(entry)};
}

}  // namespace gpuos::jit
