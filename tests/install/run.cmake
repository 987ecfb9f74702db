# Installs the build into a fresh prefix, then builds and runs a stranger's
# project against it.
cmake_minimum_required(VERSION 3.26)

set(folder "${BUILD}/install_test")
set(prefix "${folder}/prefix")
file(REMOVE_RECURSE "${folder}")

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

step("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}" --component
     development)
step("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${folder}/build" -G "${GENERATOR}"
     "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${COMPILER}")
step("${CMAKE_COMMAND}" --build "${folder}/build")
step("${folder}/build/consumer")
