# plica_layer(NAME DIRS dir... [LINK target...]): a static library plica_NAME of all sources and headers in those folders,
# relative to the project's root, but for cuda_*. A file put into a folder is found at the next build.
function(plica_layer name)
  cmake_parse_arguments(ARG "" "" "DIRS;LINK" ${ARGN})
  set(sources "")
  set(headers "")
  foreach(dir IN LISTS ARG_DIRS)
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${dir}/*.cpp)
    list(APPEND sources ${found})
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${dir}/*.h)
    list(APPEND headers ${found})
  endforeach()
  list(FILTER sources EXCLUDE REGEX "/cuda_[^/]*$")
  list(FILTER headers EXCLUDE REGEX "/cuda_[^/]*$")
  add_library(plica_${name} STATIC ${sources})
  target_sources(plica_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  target_link_libraries(plica_${name} PUBLIC ${ARG_LINK})
  plica_warnings(plica_${name})
endfunction()

# Warnings as errors, for our own code only. The two that are off are false with GCC 12 at -O3 (text + std::string; vectors
# that end in an inlined destructor). Sanitizers' code gives false -Wmaybe-uninitialized too.
function(plica_warnings target)
  set(cxx -Wall -Wextra -Wpedantic -Wshadow -Wno-restrict -Wno-free-nonheap-object -Werror)
  if(PLICA_SANITIZE)
    list(APPEND cxx -Wno-maybe-uninitialized)
  endif()
  set(cuda -Werror=all-warnings -diag-suppress=2810 -expt-relaxed-constexpr
      -Xcompiler=-Wall,-Wextra,-Werror,-Wno-restrict,-Wno-free-nonheap-object,-Wno-parentheses,-Wno-missing-field-initializers)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${cxx}>" "$<$<COMPILE_LANGUAGE:CUDA>:${cuda}>")
endfunction()
