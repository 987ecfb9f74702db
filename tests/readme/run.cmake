cmake_minimum_required(VERSION 3.26)
file(READ "${EXPECTED}" expected)
execute_process(
  COMMAND "${PROGRAM}"
  OUTPUT_VARIABLE printed
  COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed STREQUAL expected)
  message(FATAL_ERROR "expected\n${expected}printed\n${printed}")
endif()
