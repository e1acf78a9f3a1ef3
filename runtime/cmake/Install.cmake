# find_package(HetHubRuntime) for emitted stage programs: headers, libraries, hh-run and a config file.
include(CMakePackageConfigHelpers)
set(package_directory lib/cmake/HetHubRuntime)

install(TARGETS hethub_runtime EXPORT HetHubRuntimeTargets LIBRARY DESTINATION lib)
if(TARGET hethub_runtime_cuda)
  install(TARGETS hethub_runtime_cuda EXPORT HetHubRuntimeTargets LIBRARY DESTINATION lib)
endif()
install(TARGETS hh-run RUNTIME DESTINATION bin)
install(DIRECTORY include/hethub DESTINATION include FILES_MATCHING PATTERN "*.h")
install(EXPORT HetHubRuntimeTargets NAMESPACE HetHub:: DESTINATION ${package_directory})
configure_package_config_file(cmake/HetHubRuntimeConfig.cmake.in ${CMAKE_BINARY_DIR}/HetHubRuntimeConfig.cmake
                              INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/HetHubRuntimeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/HetHubRuntimeConfig.cmake ${CMAKE_BINARY_DIR}/HetHubRuntimeConfigVersion.cmake
              cmake/LibTorch.cmake DESTINATION ${package_directory})
