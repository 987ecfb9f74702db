// The functions of which operators are made, in C.
#include <stdint.h>

float axpy(float x, float y, float alpha) { return alpha * x + y; }

double cube(double x) { return x * x * x; }

int64_t steps(int64_t n) {
  int64_t count = 0;
  for (; n > 1; ++count) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  return count;
}

uint8_t wrapped(uint8_t x, uint8_t y) { return x * y; }

int16_t lowered(int16_t x, int8_t by) { return x - by; }

_Bool differ(_Bool x, _Bool y) { return x != y; }

void backwards(float* out, const float* x, float factor, int64_t count,
               int64_t lane, int64_t lanes) {
  for (int64_t i = lane; i < count; i += lanes)
    out[i] = factor * x[count - 1 - i];
}
