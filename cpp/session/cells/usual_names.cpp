#include "session/cells/usual_names.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "session/cells/tokens.h"

namespace gpuos::session {
namespace {

// The text has overloads, because a template would be worse for std::max of
// "using namespace std;".
constexpr std::string_view kText = R"(
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define GPUOS_PAIR(A, B, R) \
  static inline constexpr R max(A a, B b) { const R x = a, y = b; return x < y ? y : x; } \
  static inline constexpr R min(A a, B b) { const R x = a, y = b; return y < x ? y : x; }
GPUOS_PAIR(int, int, int)
GPUOS_PAIR(unsigned, unsigned, unsigned)
GPUOS_PAIR(int, unsigned, unsigned)
GPUOS_PAIR(unsigned, int, unsigned)
GPUOS_PAIR(long, long, long)
GPUOS_PAIR(unsigned long, unsigned long, unsigned long)
GPUOS_PAIR(long long, long long, long long)
GPUOS_PAIR(unsigned long long, unsigned long long, unsigned long long)
GPUOS_PAIR(float, float, float)
GPUOS_PAIR(double, double, double)
GPUOS_PAIR(float, double, double)
GPUOS_PAIR(double, float, double)
#undef GPUOS_PAIR
#define GPUOS_VECTORS(N, T, A2, A4) \
  struct N##1 { T x; }; \
  struct alignas(A2) N##2 { T x, y; }; \
  struct N##3 { T x, y, z; }; \
  struct alignas(A4) N##4 { T x, y, z, w; }; \
  static inline N##1 make_##N##1(T x) { return {x}; } \
  static inline N##2 make_##N##2(T x, T y) { return {x, y}; } \
  static inline N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; } \
  static inline N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
GPUOS_VECTORS(char, signed char, 2, 4)
GPUOS_VECTORS(uchar, unsigned char, 2, 4)
GPUOS_VECTORS(short, short, 4, 8)
GPUOS_VECTORS(ushort, unsigned short, 4, 8)
GPUOS_VECTORS(int, int, 8, 16)
GPUOS_VECTORS(uint, unsigned int, 8, 16)
GPUOS_VECTORS(long, long, 16, 16)
GPUOS_VECTORS(ulong, unsigned long, 16, 16)
GPUOS_VECTORS(longlong, long long, 16, 16)
GPUOS_VECTORS(ulonglong, unsigned long long, 16, 16)
GPUOS_VECTORS(float, float, 8, 16)
GPUOS_VECTORS(double, double, 16, 16)
#undef GPUOS_VECTORS
)";

// The headers above declare these names.
constexpr std::string_view kOthers =
    "malloc calloc realloc free exit abort abs labs llabs atoi atof atol rand "
    "srand getenv system qsort strtol strtod RAND_MAX EXIT_SUCCESS "
    "EXIT_FAILURE NULL size_t uint ushort printf fprintf sprintf snprintf puts "
    "putchar fflush fopen fclose fread fwrite fgets scanf stdin stdout stderr "
    "FILE memset memcpy memmove memcmp strlen strcmp strncmp strcpy strcat "
    "clock clock_t CLOCKS_PER_SEC time time_t difftime sqrt sqrtf cbrt cbrtf "
    "pow powf exp expf exp2 exp2f log logf log2 log2f log10 log10f sin sinf "
    "cos cosf tan tanf asin acos atan atanf atan2 atan2f sinh cosh tanh tanhf "
    "fabs fabsf floor floorf ceil ceilf round roundf trunc fmod fmodf fmin "
    "fminf fmax fmaxf hypot hypotf erf erff isnan isinf isfinite INFINITY NAN "
    "M_PI HUGE_VAL max min";

constexpr std::string_view kHint =
    "; a session has no CUDA runtime, but of its names those of memory "
    "(cudaMalloc, cudaMallocManaged, cudaMallocHost, cudaMallocPitch, "
    "cudaMemcpy, cudaMemcpy2D, cudaMemset and their like), symbols, events, "
    "streams, cudaGetDeviceProperties, cudaDeviceSynchronize, "
    "cudaGetLastError, cudaGetErrorString, cudaError_t and dim3";

const std::set<std::string>& names() {
  static const std::set<std::string> all = [] {
    std::set<std::string> found = identifiers_of(kOthers);
    for (const char* type :
         {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong",
          "longlong", "ulonglong", "float", "double"}) {
      for (const char* count : {"1", "2", "3", "4"}) {
        found.insert(std::string(type) + count);
        found.insert(std::string("make_") + type + count);
      }
    }
    return found;
  }();
  return all;
}

// Calls `visit` for each name between quotes, until it returns true.
template <typename Visit>
bool visit_quoted(std::string_view error, Visit visit) {
  const std::string_view line = error.substr(0, error.find('\n'));
  for (std::size_t at = line.find('\''); at != line.npos;) {
    const std::size_t end = line.find('\'', at + 1);
    if (end == line.npos) return false;
    if (visit(line.substr(at + 1, end - at - 1))) return true;
    at = line.find('\'', end + 1);
  }
  return false;
}

}  // namespace

bool is_usual_name(std::string_view name) {
  return names().contains(std::string(name));
}

bool lacks_usual_name(std::string_view error) {
  return visit_quoted(error, is_usual_name);
}

std::string_view usual_text() { return kText; }

std::string_view hint_for(std::string_view error) {
  if (error.find("non-local lambda") != error.npos)
    return "; write [] instead, because variables of a session are global";
  const bool is_of_cuda = error.find("declared") != error.npos ||
                          error.find("name a") != error.npos;
  return is_of_cuda &&
                 visit_quoted(error,
                              [](std::string_view name) {
                                return name.starts_with("cuda") &&
                                       name.size() > 4 &&
                                       name.find(':') == name.npos &&
                                       (std::isupper(static_cast<unsigned char>(
                                            name[4])) != 0);
                              })
             ? kHint
             : "";
}

}  // namespace gpuos::session
