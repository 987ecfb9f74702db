# The extension modules of the wheel.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
find_package(pybind11 CONFIG REQUIRED)

# gpuos_python_module(name folder SOURCES...): one extension module, in that
# folder of the wheel.
function(gpuos_python_module name folder)
  pybind11_add_module(${name} MODULE NO_EXTRAS ${ARGN})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_options(${name} PRIVATE -Wall -Wextra -fno-plt)
  if(GPUOS_WERROR)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
  # A compiler may link its C++ runtime in. Seen from outside, its symbols would
  # mix with those of the copy that NumPy has loaded, which may be older.
  target_link_options(${name} PRIVATE "LINKER:--exclude-libs,ALL"
                      "LINKER:--enable-new-dtags")
  install(TARGETS ${name} DESTINATION "${folder}" COMPONENT python)
endfunction()
