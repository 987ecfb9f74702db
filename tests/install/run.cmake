# Installs the build into a fresh prefix, then builds strangers' projects
# against it: the README's, a shared library, and one by pkg-config.
cmake_minimum_required(VERSION 3.26)

set(root "${SOURCE}/../..")
set(folder "${BUILD}/install_test")
set(prefix "${folder}/prefix")
set(program "${SOURCE}/main.cpp")
file(REMOVE_RECURSE "${folder}")

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# configure(source name ARGUMENTS...): in a folder of that name.
function(configure source name)
  step("${CMAKE_COMMAND}" -S "${source}" -B "${folder}/${name}" -G
       "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${prefix}"
       "-DCMAKE_CXX_COMPILER=${COMPILER}" ${ARGN})
endfunction()

step("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}" --component
     development)
if(NOT EXISTS "${prefix}/share/licenses/gpuos/LICENSE")
  message(FATAL_ERROR "expected the licence to be installed")
endif()

file(READ "${root}/README.md" readme)
if(NOT readme MATCHES "```cmake\n([^`]+)```")
  message(FATAL_ERROR "expected a block of CMake in the README")
endif()
file(WRITE "${folder}/readme/CMakeLists.txt" "${CMAKE_MATCH_1}")
file(COPY "${program}" DESTINATION "${folder}/readme")
configure("${folder}/readme" by_readme)
step("${CMAKE_COMMAND}" --build "${folder}/by_readme")
step("${folder}/by_readme/program")

configure("${SOURCE}" plugin)
step("${CMAKE_COMMAND}" --build "${folder}/plugin")
foreach(kind gpuos static)
  set(library "${folder}/plugin/libplugin_${kind}.so")
  execute_process(
    COMMAND nm -D -C --defined-only "${library}"
    OUTPUT_VARIABLE symbols
    COMMAND_ERROR_IS_FATAL ANY)
  if(symbols MATCHES "gpuos")
    message(FATAL_ERROR "${kind}: expected no symbol of gpuos, got\n${symbols}")
  endif()
endforeach()

configure("${SOURCE}" inside "-DGPUOS_SOURCE=${root}")

execute_process(
  COMMAND "${COMPILER}" -std=c++17 -fsyntax-only "-I${prefix}/include"
          "${program}"
  ERROR_VARIABLE said)
string(REGEX MATCH "error: [^\n]*" first "${said}")
if(NOT first MATCHES "expected C..20")
  message(FATAL_ERROR "expected C++20 in the first error, got ${said}")
endif()

find_program(pkg_config pkg-config)
if(pkg_config)
  file(GLOB_RECURSE file "${prefix}/*/gpuos.pc")
  cmake_path(GET file PARENT_PATH path)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${path}"
            "${pkg_config}" --cflags --libs gpuos
    OUTPUT_VARIABLE words
    COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(words UNIX_COMMAND "${words}")
  step("${COMPILER}" -std=c++20 "${program}" ${words} -o
       "${folder}/by_pkg_config")
  cmake_path(GET path PARENT_PATH libraries)
  step("${CMAKE_COMMAND}" -E env "LD_LIBRARY_PATH=${libraries}"
       "${folder}/by_pkg_config")
endif()
