option(GPUOS_BUILD_FUZZERS "Build the programs of libFuzzer; the preset fuzz"
       OFF)

# Without instrumented sources a fuzzer draws blindly.
if(GPUOS_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "GPUOS_BUILD_FUZZERS: expected clang, got "
                        "${CMAKE_CXX_COMPILER}; set CMAKE_CXX_COMPILER")
  endif()
  if(NOT GPUOS_SANITIZE MATCHES "fuzzer-no-link")
    message(FATAL_ERROR "GPUOS_BUILD_FUZZERS: expected 'fuzzer-no-link' in "
                        "GPUOS_SANITIZE, got '${GPUOS_SANITIZE}'; "
                        "the preset fuzz sets it")
  endif()
endif()
