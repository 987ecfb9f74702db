# What tests compile is kept here, not where the user's own is.
set(GPUOS_TEST_CACHE "${PROJECT_BINARY_DIR}/test_cache")

# Far more than a test needs whose machine is busy with something else, as its
# own deadlines are (tests/cpp/deadlines.h): only what hangs takes as long.
set(GPUOS_TEST_TIMEOUT 1800 CACHE STRING "Seconds after which ctest ends a test")

# gpuos_add_test(name [CUDA] [SOURCES more...]): tests/cpp/<name>.cpp as one
# program and one ctest. CUDA: it uses a GPU where there is one, and then has it
# alone.
function(gpuos_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CUDA" "" "SOURCES")
  add_executable(${name} cpp/${name}.cpp ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE gpuos::core GTest::gtest_main
                                        gpuos_test_cache_dir)
  target_include_directories(${name} PRIVATE cpp)
  target_compile_definitions(
    ${name} PRIVATE GPUOS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gpuos_target(${name})
  # What gtest's macros expand to.
  target_compile_options(${name} PRIVATE -Wno-conversion -Wno-sign-compare
                                         -Wno-shadow)
  add_test(NAME ${name} COMMAND ${name})
  gpuos_test_properties(${name} ${arg_CUDA})
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
