# The installed library: one shared object of all layers that exports the public API and nothing else, found by
# find_package(plica) as plica::plica.
include(CMakePackageConfigHelpers)

add_library(plica SHARED $<TARGET_OBJECTS:plica_core> $<TARGET_OBJECTS:plica_api>)
target_link_libraries(plica PRIVATE plica_api)
target_include_directories(plica INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>
                                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(plica INTERFACE cxx_std_20)
set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
target_link_options(plica PRIVATE -Wl,--version-script=${exports} -Wl,--no-undefined)
set_target_properties(plica PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${exports})

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/plica)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/plicaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(TARGETS plica EXPORT plicaTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/plica DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT plicaTargets NAMESPACE plica:: DESTINATION ${config_folder})
install(FILES ${PROJECT_SOURCE_DIR}/cmake/plicaConfig.cmake ${PROJECT_BINARY_DIR}/plicaConfigVersion.cmake
        DESTINATION ${config_folder})
