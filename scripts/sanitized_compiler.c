// The compiler that the host backend and the torch bridge run under
// scripts/sanitize: g++ with the options of a sanitizer. Linked statically,
// because the sanitizer's library is loaded into every other program, and a
// compiler is not given the addresses that it takes.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  static char* const options[] = {"g++", OPTIONS};  // of the build
  const size_t count = sizeof(options) / sizeof(options[0]);
  char** words = calloc(count + (size_t)argc, sizeof(char*));
  if (words == NULL) return 127;
  memcpy(words, options, sizeof(options));
  memcpy(words + count, argv + 1, (size_t)argc * sizeof(char*));  // and the NULL
  unsetenv("LD_PRELOAD");
  execvp(words[0], words);
  return 127;
}
