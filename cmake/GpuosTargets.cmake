# Settings that all targets of this project share.

# gpuos_target(name): warnings, hidden symbols, the private include root.
function(gpuos_target name)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cpp")
  # Device headers include each other from there. -I would hide headers of the
  # system that have the same names, such as <complex.h>.
  target_compile_options(${name} PRIVATE
                         "SHELL:-iquote \"${PROJECT_SOURCE_DIR}/cpp/device\"")
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

# gpuos_unit(target name [COLD] FILES...): compiles files as one unit, so that the
# compiler reads their headers once. scripts/lint compiles each file alone, which
# shows a missing include.
# COLD: no call runs them, so they have -O1. Their unit has no precompiled header,
# because g++ 12 crashes if another -O made that header. Cold units come last: the
# linker takes an inline function from the first object that has it.
function(gpuos_unit target name)
  cmake_parse_arguments(PARSE_ARGV 2 unit COLD "" FILES)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_sources(${target} PRIVATE ${unit_FILES})
    return()
  endif()
  set(text "")
  foreach(file IN LISTS unit_FILES)
    string(APPEND text "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${file}\"\n")
  endforeach()
  set(unit "${CMAKE_CURRENT_BINARY_DIR}/units/${name}.cpp")
  file(CONFIGURE OUTPUT "${unit}" CONTENT "${text}" @ONLY)
  if(unit_COLD)
    set(options "$<$<CONFIG:Release>:-O1>")
    if(GPUOS_SANITIZE AND NOT GPUOS_SANITIZE_COLD)
      list(APPEND options -fno-sanitize=all)
    endif()
    set_source_files_properties(
      "${unit}" PROPERTIES COMPILE_OPTIONS "${options}"
                           SKIP_PRECOMPILE_HEADERS ON)
  endif()
  target_sources(${target} PRIVATE "${unit}")
endfunction()
