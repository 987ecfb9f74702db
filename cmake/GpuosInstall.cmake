include(CMakePackageConfigHelpers)

set(folder "${CMAKE_INSTALL_LIBDIR}/cmake/gpuos")
install(
  TARGETS gpuos gpuos_core gpuos_headers
  EXPORT gpuosTargets
  ARCHIVE COMPONENT development
  LIBRARY COMPONENT development
  FILE_SET HEADERS COMPONENT development)
install(
  EXPORT gpuosTargets
  NAMESPACE gpuos::
  DESTINATION "${folder}"
  COMPONENT development)
configure_package_config_file(
  cmake/gpuosConfig.cmake.in "${PROJECT_BINARY_DIR}/gpuosConfig.cmake"
  INSTALL_DESTINATION "${folder}")
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/gpuosConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/gpuosConfig.cmake"
        "${PROJECT_BINARY_DIR}/gpuosConfigVersion.cmake"
  DESTINATION "${folder}"
  COMPONENT development)

# Seen from its own folder, so that the prefix may be moved.
set(folder "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH include "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig"
     "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file(cmake/gpuos.pc.in "${PROJECT_BINARY_DIR}/gpuos.pc" @ONLY)
install(
  FILES "${PROJECT_BINARY_DIR}/gpuos.pc"
  DESTINATION "${folder}"
  COMPONENT development)
install(
  FILES LICENSE
  DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/licenses/gpuos"
  COMPONENT development)
