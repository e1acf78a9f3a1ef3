# hethub_proto: the stage-program format shared with the runtime.
set(hethub_proto_dir ${CMAKE_BINARY_DIR}/proto)
add_custom_command(
  OUTPUT ${hethub_proto_dir}/hethub.pb.cc ${hethub_proto_dir}/hethub.pb.h
  COMMAND ${CMAKE_COMMAND} -E make_directory ${hethub_proto_dir}
  COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR}/proto --cpp_out=${hethub_proto_dir} hethub.proto
  DEPENDS ${CMAKE_SOURCE_DIR}/proto/hethub.proto VERBATIM)
add_library(hethub_proto STATIC ${hethub_proto_dir}/hethub.pb.cc)
target_include_directories(hethub_proto SYSTEM PUBLIC ${hethub_proto_dir} ${Protobuf_INCLUDE_DIRS})
target_compile_options(hethub_proto PRIVATE -w)
target_link_libraries(hethub_proto PUBLIC protobuf::libprotobuf)
