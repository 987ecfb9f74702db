# The worker kernel and the built-in operators, as nvcc compiles them.

# cmake/worker/ keeps the image and its PTX, so that a build needs no nvcc.
set(GPUOS_KEPT_WORKER "${PROJECT_SOURCE_DIR}/cmake/worker")

# gpuos_find_nvcc(): sets GPUOS_NVCC. A toolkit that cannot compile a relocatable
# C++20 unit for our architectures is an error.
function(gpuos_find_nvcc)
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
      return()
    endif()
    set(why "${GPUOS_NVCC} does not compile for "
            "${GPUOS_CUDA_ARCHITECTURES}:\n${log}")
  endif()
  message(FATAL_ERROR ${why})
endfunction()

# 64 registers are what four workers of 256 threads leave each thread;
# worker.cu's anchor turns them into the operators' budget.
set(GPUOS_NVCC_OPTIONS -std=c++20 -O3 -rdc=true --maxrregcount=64)

function(gpuos_nvcc_flags out)
  set(flags ${GPUOS_NVCC_OPTIONS} "-I${PROJECT_SOURCE_DIR}/include"
            -Xcompiler "-iquote,${PROJECT_SOURCE_DIR}/cpp/device")
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
  # The suffix that nvcc gives to the PTX that it keeps of an architecture.
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

# gpuos_digest_worker(out FILES...): changes with the files and with how nvcc
# compiles them. A changed file configures the build again.
function(gpuos_digest_worker out)
  list(SORT ARGN)
  set(text "${GPUOS_NVCC_OPTIONS}")
  foreach(file IN LISTS ARGN)
    file(SHA256 "${file}" hash)
    string(APPEND text ";${hash}")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN}
                                         "${GPUOS_KEPT_WORKER}/sources.sha256")
  string(SHA256 text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# gpuos_unpack_worker(image_out ptx_out DIGEST text): the kept worker, or nothing
# if it was compiled from other sources.
function(gpuos_unpack_worker image_out ptx_out digest)
  file(STRINGS "${GPUOS_KEPT_WORKER}/sources.sha256" kept)
  if(NOT kept STREQUAL digest)
    return()
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/worker")
  file(ARCHIVE_EXTRACT INPUT "${GPUOS_KEPT_WORKER}/worker.tar.xz" DESTINATION
       "${folder}")
  file(GLOB ptx "${folder}/*.ptx")
  set(${image_out} "${folder}/worker.fatbin" PARENT_SCOPE)
  set(${ptx_out} "${ptx}" PARENT_SCOPE)
endfunction()

# gpuos_keep_worker(image DIGEST text PTX files...): the target keep_worker writes
# what this build compiled to cmake/worker/, for the GPUs that are kept.
function(gpuos_keep_worker image digest)
  if(NOT GPUOS_CUDA_ARCHITECTURES STREQUAL "80;90")
    return()
  endif()
  set(names)
  foreach(file IN LISTS ARGN ITEMS "${image}")
    cmake_path(GET file FILENAME name)
    list(APPEND names "${name}")
  endforeach()
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/sources.sha256" "${digest}\n")
  add_custom_target(
    keep_worker
    COMMAND "${CMAKE_COMMAND}" -E tar cJf "${GPUOS_KEPT_WORKER}/worker.tar.xz"
            --mtime=2000-01-01 ${names}
    COMMAND "${CMAKE_COMMAND}" -E copy
            "${CMAKE_CURRENT_BINARY_DIR}/sources.sha256" "${GPUOS_KEPT_WORKER}/"
    DEPENDS "${image}" ${ARGN}
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/worker"
    VERBATIM)
endfunction()
