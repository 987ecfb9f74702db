# The worker kernel and the built-in operators, compiled by nvcc.

# gpuos_find_nvcc(out): the compiler, or empty. A toolkit that cannot compile a
# relocatable C++20 unit for our architectures counts as none.
function(gpuos_find_nvcc out)
  set(${out} "" PARENT_SCOPE)
  if(NOT GPUOS_BUILD_CUDA MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "GPUOS_BUILD_CUDA: expected AUTO, ON or OFF, "
                        "got '${GPUOS_BUILD_CUDA}'")
  endif()
  if(GPUOS_BUILD_CUDA STREQUAL "OFF")
    return()
  endif()
  find_program(
    GPUOS_NVCC nvcc
    HINTS "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin"
    PATHS /usr/local/cuda/bin)
  set(why "nvcc was not found; set CUDA_HOME or GPUOS_NVCC")
  if(GPUOS_NVCC)
    set(probe "${PROJECT_BINARY_DIR}/nvcc_probe")
    file(WRITE "${probe}.cu" "__device__ int f(auto x) { return x; }\n")
    gpuos_nvcc_flags(flags)
    execute_process(
      COMMAND "${GPUOS_NVCC}" ${flags} -dc "${probe}.cu" -o "${probe}.o"
      RESULT_VARIABLE status
      ERROR_VARIABLE log
      OUTPUT_VARIABLE log)
    if(status EQUAL 0)
      set(${out} "${GPUOS_NVCC}" PARENT_SCOPE)
      return()
    endif()
    set(why "${GPUOS_NVCC} does not compile for "
            "${GPUOS_CUDA_ARCHITECTURES}:\n${log}")
  endif()
  if(GPUOS_BUILD_CUDA STREQUAL "ON")
    message(FATAL_ERROR ${why})
  endif()
  message(STATUS ${why})
endfunction()

# 64 registers are what four workers of 256 threads leave each thread;
# worker.cu's anchor turns them into the operators' budget.
function(gpuos_nvcc_flags out)
  set(flags -std=c++20 -O3 -rdc=true --maxrregcount=64
            "-I${PROJECT_SOURCE_DIR}/include")
  foreach(arch IN LISTS GPUOS_CUDA_ARCHITECTURES)
    list(APPEND flags "-gencode=arch=compute_${arch},code=sm_${arch}")
  endforeach()
  set(${out} "${flags}" PARENT_SCOPE)
endfunction()

# gpuos_build_worker(image_out ptx_out UNITS... DEPENDS headers...): one
# device-linked fat image and one relocatable PTX text for each unit. Custom
# commands, because CMake's CUDA language needs a runtime library to link and a
# toolkit from wheels has none.
function(gpuos_build_worker image_out ptx_out)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "UNITS;DEPENDS")
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/worker")
  file(MAKE_DIRECTORY "${folder}")
  gpuos_nvcc_flags(flags)
  list(SORT GPUOS_CUDA_ARCHITECTURES COMPARE NATURAL)
  list(GET GPUOS_CUDA_ARCHITECTURES 0 oldest)
  # What nvcc calls the PTX that it keeps of each architecture, or of the one.
  set(kept ".compute_${oldest}.ptx")
  if(GPUOS_CUDA_ARCHITECTURES STREQUAL oldest)
    set(kept ".ptx")
  endif()
  set(objects)
  set(ptx)
  foreach(unit IN LISTS arg_UNITS)
    cmake_path(GET unit STEM name)
    file(MAKE_DIRECTORY "${folder}/${name}")
    add_custom_command(
      OUTPUT "${folder}/${name}.o" "${folder}/${name}.ptx"
      COMMAND "${GPUOS_NVCC}" ${flags} -dc "${unit}" -o "${folder}/${name}.o"
              -keep -keep-dir "${folder}/${name}"
      COMMAND "${CMAKE_COMMAND}" -E copy "${folder}/${name}/${name}${kept}"
              "${folder}/${name}.ptx"
      DEPENDS "${unit}" ${arg_DEPENDS}
      COMMENT "nvcc ${name}"
      VERBATIM)
    list(APPEND objects "${folder}/${name}.o")
    list(APPEND ptx "${folder}/${name}.ptx")
  endforeach()
  set(image "${folder}/worker.fatbin")
  add_custom_command(
    OUTPUT "${image}"
    COMMAND "${GPUOS_NVCC}" ${flags} -dlink -fatbin ${objects} -o "${image}"
    DEPENDS ${objects}
    COMMENT "nvcc device link"
    VERBATIM)
  set(${image_out} "${image}" PARENT_SCOPE)
  set(${ptx_out} "${ptx}" PARENT_SCOPE)
endfunction()
