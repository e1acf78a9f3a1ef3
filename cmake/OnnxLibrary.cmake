# The ONNX library, built from the C++ sources that the onnx Python package carries (Debian's libonnx is too old).
# Target: onnx. It throws, so only Import, Export and the inference adapter link against it with exceptions on.
find_package(Protobuf REQUIRED)

execute_process(COMMAND ${HETHUB_PYTHON} -c "import onnx, os; print(os.path.dirname(onnx.__file__))"
                OUTPUT_VARIABLE ONNX_PACKAGE OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(onnx_generated ${CMAKE_BINARY_DIR}/onnx-library)
set(onnx_proto_sources)
foreach(name onnx-ml onnx-operators-ml onnx-data)
  set(onnx_proto ${onnx_generated}/onnx/${name}.pb.cc)
  add_custom_command(
    OUTPUT ${onnx_proto} ${onnx_generated}/onnx/${name}.pb.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${onnx_generated}/onnx
    COMMAND protobuf::protoc --proto_path=onnx=${ONNX_PACKAGE} --cpp_out=${onnx_generated} ${ONNX_PACKAGE}/${name}.proto
    DEPENDS ${ONNX_PACKAGE}/${name}.proto VERBATIM)
  list(APPEND onnx_proto_sources ${onnx_proto})
endforeach()
# Named target: generated headers must exist before anything that includes them compiles.
add_custom_target(onnx_proto_headers DEPENDS ${onnx_proto_sources})

file(GLOB_RECURSE onnx_sources ${ONNX_PACKAGE}/*.cc)
list(FILTER onnx_sources EXCLUDE REGEX "/(backend|test|cpp2py_export|onnx_cpp2py)")
add_library(onnx STATIC ${onnx_sources} ${onnx_proto_sources})
get_filename_component(onnx_parent ${ONNX_PACKAGE} DIRECTORY)
file(MAKE_DIRECTORY ${onnx_generated}/include)
file(CREATE_LINK ${ONNX_PACKAGE} ${onnx_generated}/include/onnx SYMBOLIC)
target_include_directories(onnx SYSTEM PUBLIC ${onnx_generated} ${onnx_generated}/include ${Protobuf_INCLUDE_DIRS})
target_compile_definitions(onnx PUBLIC ONNX_NAMESPACE=onnx ONNX_ML=1)
target_compile_options(onnx PRIVATE -w -O1)
target_link_libraries(onnx PUBLIC protobuf::libprotobuf)
