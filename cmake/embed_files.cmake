# cmake -DOUTPUT=x.cpp -DFILES=a;b -DCELL=e -DIMAGE=file -DPTX=c;d
#       -P embed_files.cmake
cmake_minimum_required(VERSION 3.26)

# Appends the bytes of a file to `code`: the assembler reads them, since to
# compile some MB of numbers takes half a minute. The zero at their end is not
# counted, so a text is a C string too.
function(append_bytes name file)
  string(APPEND code "asm(R\"(
  .section .rodata
  .balign 64
  .globl ${name}
  .hidden ${name}
${name}:
  .incbin \"${file}\"
  .byte 0
  .previous
)\");
extern \"C\" __attribute__((visibility(\"hidden\"))) const char ${name}[];
")
  set(code "${code}" PARENT_SCOPE)
endfunction()

function(view_of name file out)
  file(SIZE "${file}" size)
  set(${out} "std::string_view{${name}, ${size}}" PARENT_SCOPE)
endfunction()

set(code "#include \"base/embedded.h\"\n\n")
set(tables "")
set(rows "")
set(index 0)
foreach(file IN LISTS FILES)
  append_bytes(gpuos_file_${index} "${file}")
  view_of(gpuos_file_${index} "${file}" view)
  string(REGEX REPLACE ".*/(cpp/device|include/gpuos)/" "" name "${file}")
  string(APPEND rows "    {\"${name}\", ${view}},\n")
  math(EXPR index "${index} + 1")
endforeach()
string(APPEND tables "constexpr EmbeddedFile kFiles[] = {\n${rows}};\n")

append_bytes(gpuos_cell "${CELL}")
view_of(gpuos_cell "${CELL}" cell)
set(image "{}")
if(IMAGE)
  append_bytes(gpuos_image "${IMAGE}")
  view_of(gpuos_image "${IMAGE}" image)
endif()
set(rows "")
set(index 0)
foreach(file IN LISTS PTX)
  append_bytes(gpuos_ptx_${index} "${file}")
  view_of(gpuos_ptx_${index} "${file}" view)
  string(APPEND rows "    ${view},\n")
  math(EXPR index "${index} + 1")
endforeach()
set(ptx "{}")
if(PTX)
  string(APPEND tables "constexpr std::string_view kPtx[] = {\n${rows}};\n")
  set(ptx "kPtx")
endif()

string(APPEND code "
namespace gpuos {
namespace {
${tables}}  // namespace

std::span<const EmbeddedFile> embedded_files() { return kFiles; }
std::string_view embedded_cell_names() { return ${cell}; }
std::string_view embedded_worker_image() { return ${image}; }
std::span<const std::string_view> embedded_worker_ptx() { return ${ptx}; }

}  // namespace gpuos\n")
file(WRITE "${OUTPUT}" "${code}")
