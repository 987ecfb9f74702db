#pragma once

#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace gpuos {

/// Sets the default floating-point state of this thread while it exists: round
/// to nearest, keep denormals, no traps. Then it restores the previous state,
/// even if other code changed it inside. Costs some cycles if nothing differs.
class UsualFloats {
 public:
  UsualFloats() noexcept : before_(read()) { change(before_, kUsual); }
  ~UsualFloats() { change(read(), before_); }
  UsualFloats(const UsualFloats&) = delete;
  UsualFloats& operator=(const UsualFloats&) = delete;

 private:
#if defined(__x86_64__)
  struct Settings {
    std::uint32_t sse;
    std::uint16_t x87;
  };
  // The rest says which exceptions there were.
  static constexpr std::uint32_t kSettingsOfSse = 0xffc0;
  static constexpr Settings kUsual{0x1f80, 0x037f};

  static Settings read() noexcept {
    Settings now;
    asm volatile("stmxcsr %0" : "=m"(now.sse));
    asm volatile("fnstcw %0" : "=m"(now.x87));
    now.sse &= kSettingsOfSse;
    return now;
  }
  static void change(const Settings& from, const Settings& to) noexcept {
    if (from.sse != to.sse) asm volatile("ldmxcsr %0" ::"m"(to.sse));
    if (from.x87 != to.x87) asm volatile("fldcw %0" ::"m"(to.x87));
  }
#elif defined(__aarch64__)
  using Settings = std::uint64_t;
  static constexpr Settings kUsual = 0;

  static Settings read() noexcept {
    Settings now;
    asm volatile("mrs %0, fpcr" : "=r"(now));
    return now;
  }
  static void change(const Settings& from, const Settings& to) noexcept {
    if (from != to) asm volatile("msr fpcr, %0" ::"r"(to));
  }
#else
  using Settings = int;
  static constexpr Settings kUsual = FE_TONEAREST;

  static Settings read() noexcept { return std::fegetround(); }
  static void change(const Settings& from, const Settings& to) noexcept {
    if (from != to) std::fesetround(to);
  }
#endif

  const Settings before_;
};

}  // namespace gpuos
