#pragma once

// Marks what libgpuos.so exports. It hides everything else.
#define GPUOS_API __attribute__((visibility("default")))
// Marks a private class inside an exported one.
#define GPUOS_PRIVATE __attribute__((visibility("hidden")))
