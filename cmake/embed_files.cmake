# cmake -DOUTPUT=x.cpp -DFILES=a;b -DIMAGE=file -DPTX=c;d -P embed_files.cmake
cmake_minimum_required(VERSION 3.26)

# Appends one array to `code`. The zero at its end is not counted, so a text is
# a C string too.
function(append_array name file)
  file(READ "${file}" hex HEX)
  string(REPEAT "." 32 row)
  string(REGEX REPLACE "(${row})" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND code
         "alignas(64) const unsigned char ${name}[] = {\n${bytes}0};\n")
  set(code "${code}" PARENT_SCOPE)
endfunction()

function(view_of name out)
  set(${out} "{reinterpret_cast<const char*>(${name}), sizeof(${name}) - 1}"
      PARENT_SCOPE)
endfunction()

set(code "#include \"embedded.h\"\n\nnamespace gpuos {\nnamespace {\n")
set(rows "")
set(index 0)
foreach(file IN LISTS FILES)
  append_array(file_${index} "${file}")
  view_of(file_${index} view)
  cmake_path(GET file FILENAME name)
  string(APPEND rows "    {\"${name}\", std::string_view${view}},\n")
  math(EXPR index "${index} + 1")
endforeach()
string(APPEND code "const EmbeddedFile kFiles[] = {\n${rows}};\n")

set(image "{}")
if(IMAGE)
  append_array(image "${IMAGE}")
  view_of(image image)
endif()
set(rows "")
set(index 0)
foreach(file IN LISTS PTX)
  append_array(ptx_${index} "${file}")
  view_of(ptx_${index} view)
  string(APPEND rows "    std::string_view${view},\n")
  math(EXPR index "${index} + 1")
endforeach()
set(ptx "{}")
if(PTX)
  string(APPEND code "const std::string_view kPtx[] = {\n${rows}};\n")
  set(ptx "kPtx")
endif()

string(APPEND code "}  // namespace

std::span<const EmbeddedFile> embedded_files() { return kFiles; }
std::string_view embedded_worker_image() { return ${image}; }
std::span<const std::string_view> embedded_worker_ptx() { return ${ptx}; }

}  // namespace gpuos\n")
file(WRITE "${OUTPUT}" "${code}")
