include(${CMAKE_CURRENT_LIST_DIR}/plicaTargets.cmake)
