set(GPUOS_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/embed_files.cmake")

# gpuos_embed(output.cpp FILES texts... CELL text [IMAGE file] [PTX texts...]):
# implements cpp/base/embedded.h.
function(gpuos_embed output)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CELL;IMAGE" "FILES;PTX")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND
      "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DFILES=${arg_FILES}"
      "-DCELL=${arg_CELL}" "-DIMAGE=${arg_IMAGE}" "-DPTX=${arg_PTX}" -P
      "${GPUOS_EMBED_SCRIPT}"
    DEPENDS ${arg_FILES} ${arg_CELL} ${arg_IMAGE} ${arg_PTX}
            "${GPUOS_EMBED_SCRIPT}"
    COMMENT "Embedding the device sources"
    VERBATIM)
endfunction()
