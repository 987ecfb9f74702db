# Tests keep their compiled code here, apart from the user's cache.
set(GPUOS_TEST_CACHE "${PROJECT_BINARY_DIR}/test_cache")

# Far more than a test needs whose machine is busy with something else, as its
# own deadlines are (tests/cpp/deadlines.h): only what hangs takes as long.
set(GPUOS_TEST_TIMEOUT 1800 CACHE STRING "Seconds after which ctest ends a test")

# gpuos_add_tests(room FILES names... GPU_FILES names... [SOURCES more...]
#                 [APART names...]):
# tests/cpp/<room>/<name>.cpp as one program, <room>_tests, and one ctest each.
# GPU_FILES use a GPU where there is one, and then have it alone. APART define a
# name that another file of the room defines, so they are compiled alone.
function(gpuos_add_tests room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FILES;GPU_FILES;SOURCES;APART")
  set(sources ${arg_SOURCES})
  foreach(name IN LISTS arg_FILES arg_GPU_FILES)
    list(APPEND sources "${name}.cpp")
  endforeach()
  list(TRANSFORM sources PREPEND "cpp/${room}/")
  set(program "${room}_tests")
  add_executable(${program} ${sources})
  target_link_libraries(${program} PRIVATE gpuos_test_main)
  target_include_directories(${program} PRIVATE cpp .)
  gpuos_target(${program})
  gpuos_test_options(${program})
  target_precompile_headers(${program} REUSE_FROM gpuos_test_main)
  # A few files together read the library's headers once.
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    list(TRANSFORM arg_APART REPLACE "(.+)" "cpp/${room}/\\1.cpp")
    set_source_files_properties(${arg_APART} PROPERTIES
                                SKIP_UNITY_BUILD_INCLUSION ON)
    set_target_properties(${program} PROPERTIES UNITY_BUILD ON
                                                UNITY_BUILD_BATCH_SIZE 12)
  endif()
  foreach(name IN LISTS arg_FILES arg_GPU_FILES)
    add_test(NAME ${name} COMMAND ${program} --file ${name})
    list(FIND arg_GPU_FILES ${name} found)
    if(found EQUAL -1)
      gpuos_test_properties(${name} FALSE)
    else()
      gpuos_test_properties(${name} TRUE)
    endif()
  endforeach()
endfunction()

# gpuos_test_options(target): what gtest's macros expand to, and -O1, which takes
# half the time of -O3 to compile. Programs share one precompiled header, so all
# are built as programs are by default.
function(gpuos_test_options target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O1 -Wno-uninitialized)
  endif()
  target_compile_options(${target} PRIVATE -Wno-conversion -Wno-sign-compare
                                           -Wno-shadow)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endfunction()

# gpuos_add_program_tests(program): an example, once on each backend.
function(gpuos_add_program_tests program)
  add_test(NAME ${program}.host COMMAND ${program} --backend host)
  gpuos_test_properties(${program}.host FALSE)
  add_test(NAME ${program}.cuda COMMAND ${program} --backend cuda)
  gpuos_test_properties(${program}.cuda TRUE)
endfunction()

function(gpuos_test_properties name uses_gpu)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${GPUOS_TEST_TIMEOUT}
                                          LABELS cpu)
  if(uses_gpu)
    set_tests_properties(${name} PROPERTIES LABELS gpu RESOURCE_LOCK gpu)
  endif()
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
                                            GPUOS_CACHE_DIR=${GPUOS_TEST_CACHE})
  # With GPUOS_TEST_CUDA a machine without a working GPU is a failure.
  if(GPUOS_TEST_CUDA)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT GPUOS_TEST_CUDA=1)
  else()
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()
