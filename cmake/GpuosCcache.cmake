# Uses ccache, if it is installed, so that a known source is not compiled again.
if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(GPUOS_CCACHE ccache)
  if(GPUOS_CCACHE)
    # It must be told that precompiled headers are alike when their text is.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros
        "${GPUOS_CCACHE}")
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      add_compile_options(-fpch-preprocess)
    endif()
  endif()
endif()
