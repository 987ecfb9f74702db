# What every target of this project has in common.

# gpuos_target(name): warnings, hidden symbols, the private include root.
function(gpuos_target name)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cpp")
  # g++'s plain -Wshadow also means constructor arguments named as members.
  target_compile_options(
    ${name} PRIVATE -Wall -Wextra -Wconversion
                    $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow>)
  if(GPUOS_WERROR)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
  set_target_properties(
    ${name}
    PROPERTIES CXX_EXTENSIONS OFF
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON)
  gpuos_sanitize(${name})
endfunction()

# gpuos_library(part SOURCES...): the static library gpuos::<part>.
function(gpuos_library part)
  gpuos_present_files(sources ${ARGN})
  if(NOT sources)
    set(sources "${CMAKE_CURRENT_BINARY_DIR}/empty.cpp")
    file(TOUCH "${sources}")
  endif()
  add_library(gpuos_${part} STATIC ${sources})
  add_library(gpuos::${part} ALIAS gpuos_${part})
  set_target_properties(gpuos_${part} PROPERTIES EXPORT_NAME ${part})
  gpuos_target(gpuos_${part})
endfunction()

# Until every listed file is written.
function(gpuos_present_files out)
  set(present)
  foreach(file IN LISTS ARGN)
    if(IS_ABSOLUTE "${file}")
      list(APPEND present "${file}")
      continue()
    endif()
    file(GLOB found CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
    if(found)
      list(APPEND present "${file}")
    else()
      message(WARNING "not written yet: ${file}")
    endif()
  endforeach()
  set(${out} "${present}" PARENT_SCOPE)
endfunction()
