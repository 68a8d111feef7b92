# The ONNX standard's own node tests: none may run and differ, and no fewer may pass than do.
#   cmake -DPROGRAM=plica -DARCHIVES=folder -DWORK=folder -P run.cmake
set(least_passed 1326)

file(GLOB archives ${ARCHIVES}/onnx-node-tests-*.tar.gz)
if(NOT archives)
  message("no conformance tests in ${ARCHIVES}")
  return()
endif()
if(NOT EXISTS ${WORK}/unpacked)
  file(ARCHIVE_EXTRACT INPUT ${archives} DESTINATION ${WORK})
  file(TOUCH ${WORK}/unpacked)
endif()
execute_process(COMMAND ${PROGRAM} --threads 1 test-onnx ${WORK}
                        --expected-failures ${CMAKE_CURRENT_LIST_DIR}/expected_failures.txt
                OUTPUT_VARIABLE listing ERROR_VARIABLE messages RESULT_VARIABLE code)
string(REGEX MATCHALL "(FAILED|SKIPPED|PASSED)[^\n]*\n" notable "${listing}")
string(JOIN "" notable ${notable})
if(NOT listing MATCHES "([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped\n$")
  message(FATAL_ERROR "test-onnx ended with ${code} and without counts: ${messages}")
endif()
message("${notable}${CMAKE_MATCH_0}")
if(NOT code EQUAL 0 OR CMAKE_MATCH_1 LESS least_passed)
  message(FATAL_ERROR "wanted 0 failed and at least ${least_passed} passed")
endif()
