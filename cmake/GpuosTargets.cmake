# What every target of this project has in common.

# gpuos_target(name): warnings, hidden symbols, the private include root.
function(gpuos_target name)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cpp")
  # g++'s plain -Wshadow also means constructor arguments named as members.
  target_compile_options(
    ${name} PRIVATE -Wall -Wextra -Wconversion
                    $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow>)
  # g++ 12 warns of its own operator+ (gcc.gnu.org/PR105651), and of its own
  # strings where it has read them from a precompiled header.
  set(wrong restrict array-bounds stringop-overflow stringop-overread)
  list(TRANSFORM wrong PREPEND "-Wno-")
  target_compile_options(${name}
                         PRIVATE "$<$<CXX_COMPILER_ID:GNU>:${wrong}>")
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
  add_library(gpuos_${part} STATIC ${ARGN})
  add_library(gpuos::${part} ALIAS gpuos_${part})
  set_target_properties(gpuos_${part} PROPERTIES EXPORT_NAME ${part})
  gpuos_target(gpuos_${part})
endfunction()

# gpuos_cold_unit(target name FILES...): compiles files that no call runs as one
# unit with -O1, so that the compiler reads their headers once. Call it last: the
# linker takes an inline function from the first object that has it. The unit has
# no precompiled header, because g++ 12 crashes if another -O made that header.
# scripts/lint compiles each file alone, which shows a missing include.
function(gpuos_cold_unit target name)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_sources(${target} PRIVATE ${ARGN})
    return()
  endif()
  set(text "")
  foreach(file IN LISTS ARGN)
    string(APPEND text "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${file}\"\n")
  endforeach()
  set(unit "${CMAKE_CURRENT_BINARY_DIR}/cold/${name}.cpp")
  file(CONFIGURE OUTPUT "${unit}" CONTENT "${text}" @ONLY)
  set(options "$<$<CONFIG:Release>:-O1>")
  if(GPUOS_SANITIZE AND NOT GPUOS_SANITIZE_COLD)
    list(APPEND options -fno-sanitize=all)
  endif()
  set_source_files_properties(
    "${unit}" PROPERTIES COMPILE_OPTIONS "${options}"
                         SKIP_PRECOMPILE_HEADERS ON
                         SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${unit}")
endfunction()
