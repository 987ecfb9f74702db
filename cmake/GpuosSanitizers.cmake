set(GPUOS_SANITIZE "" CACHE STRING
    "Sanitizers, such as 'address,undefined' or 'thread'; empty for none")

option(GPUOS_SANITIZE_COLD "Sanitize the cold units of gpuos_unit() too" ON)

# gpuos_sanitize(target): what links a sanitized library must be sanitized too,
# so the options are public inside the build.
function(gpuos_sanitize target)
  if(NOT GPUOS_SANITIZE)
    return()
  endif()
  set(options -fsanitize=${GPUOS_SANITIZE} -fno-omit-frame-pointer)
  target_compile_options(${target} PUBLIC "$<BUILD_INTERFACE:${options}>")
  target_link_options(${target} PUBLIC
                      "$<BUILD_INTERFACE:-fsanitize=${GPUOS_SANITIZE}>")
endfunction()
