// Under scripts/sanitize the host backend and the torch bridge run this
// compiler. It is g++ with the options of a sanitizer. Its link is static,
// because every other program loads the sanitizer's library. A compiler's
// memory limit does not have enough addresses for that library.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  static char* const options[] = {"g++", OPTIONS};  // from the build
  const size_t count = sizeof(options) / sizeof(options[0]);
  char** words = calloc(count + (size_t)argc, sizeof(char*));
  if (words == NULL) return 127;
  memcpy(words, options, sizeof(options));
  memcpy(words + count, argv + 1, (size_t)argc * sizeof(char*));  // and NULL
  unsetenv("LD_PRELOAD");
  execvp(words[0], words);
  return 127;
}
