# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# Functions for the folders' CMakeLists.txt.

include(GNUInstallDirs)
include(TensoaAtNeed)

# Libraries of others that are installed with ours, and that no other program is to find.
set(tensoa_private_dir "${CMAKE_INSTALL_LIBDIR}/tensoa")

# -Wrestrict: g++ 12 warns of std::string's own copying (GCC bug 105651). -Wsubobject-linkage: a unity build includes sources, which
# g++ takes for headers.
set(TENSOA_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wshadow $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>
    $<$<BOOL:${TENSOA_WERROR}>:-Werror>)

# Common properties of all our compiled targets. RUNPATH and not RPATH: LD_LIBRARY_PATH then leads a program to another torch.
function(tensoa_configure_target target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${TENSOA_WARNINGS}>")
  target_link_options(${target} PRIVATE LINKER:--enable-new-dtags)
endfunction()

# tensoa_add_library(NAME [SOURCES file...] [PUBLIC target...] [PRIVATE target...])
#
# The layer NAME in this folder: target tensoa::NAME, static, or header-only without SOURCES. Every header under include/ is
# public: it is installed, as the component NAME of find_package(tensoa), and must compile alone (files of impl/ are installed too,
# but need the header that includes them).
# PUBLIC targets are used by the headers, PRIVATE ones by the sources only.
function(tensoa_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  set(target tensoa_${name})
  if(arg_SOURCES)
    # Tests link other implementations of a seam: each is a separate object in the archive.
    file(GLOB_RECURSE seams "${CMAKE_CURRENT_SOURCE_DIR}/src/*_none.cpp")
    set_source_files_properties(${seams} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    add_library(${target} STATIC ${arg_SOURCES})
    tensoa_configure_target(${target})
    target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${arg_PUBLIC})
    set(scope INTERFACE)
  endif()
  add_library(tensoa::${name} ALIAS ${target})
  target_compile_features(${target} ${scope} cxx_std_20)

  set(include "${CMAKE_CURRENT_SOURCE_DIR}/include")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${include}/*.hpp")
  set(impl ${headers})
  list(FILTER headers EXCLUDE REGEX "/impl/")
  list(FILTER impl INCLUDE REGEX "/impl/")
  target_sources(${target}
    ${scope} FILE_SET headers TYPE HEADERS BASE_DIRS "${include}" FILES ${headers}
    ${scope} FILE_SET impl TYPE HEADERS BASE_DIRS "${include}" FILES ${impl})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name} VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY headers)
  if(TENSOA_INSTALL)
    install(TARGETS ${target} EXPORT tensoa-${name} FILE_SET headers FILE_SET impl)
    set(layers ${arg_PUBLIC} ${arg_PRIVATE})
    list(FILTER layers INCLUDE REGEX "^tensoa::")
    list(TRANSFORM layers REPLACE "^tensoa::" "")
    set_property(GLOBAL APPEND PROPERTY TENSOA_LAYERS ${name})
    set_property(GLOBAL PROPERTY TENSOA_LAYERS_OF_${name} ${layers})
  endif()
endfunction()

# tensoa_add_test(NAME SOURCES file... LINK target... [ENVIRONMENT NAME=value...])
#
# One GoogleTest program test_NAME, and a CTest case NAME; TENSOA_SHARED_DATA is a string in the sources.
function(tensoa_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;ENVIRONMENT")
  set(target test_${name})
  set(needs_torch FALSE)
  if(arg_LINK MATCHES "tensoa::(pytorch|tensoa)|TensoaTorch")
    set(needs_torch ${TENSOA_PYTORCH})
  endif()
  add_executable(${target} ${arg_SOURCES})
  tensoa_configure_target(${target})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${target} PRIVATE TENSOA_SHARED_DATA="${TENSOA_SHARED_DATA}")
  target_link_libraries(${target} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest_main)
  if(TENSOA_TESTS STREQUAL "torch" AND NOT needs_torch)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  else()
    add_test(NAME ${name} COMMAND ${target} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
endfunction()

# tensoa_add_python_tests(PREFIX file... [TIMEOUT seconds] [ENVIRONMENT NAME=value...])
#
# A CTest case PREFIX.NAME for each file test_NAME.py, run by pytest with the Python of TENSOA_VENV and the tree's own package.
function(tensoa_add_python_tests prefix)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "ENVIRONMENT")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  foreach(file IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(GET file STEM name)
    string(REGEX REPLACE "^test_" "" name "${name}")
    add_test(NAME ${prefix}.${name} COMMAND "${TENSOA_VENV}/bin/python" -m pytest -q -p no:cacheprovider "${file}")
    set_tests_properties(${prefix}.${name} PROPERTIES TIMEOUT ${arg_TIMEOUT}
      ENVIRONMENT "PYTHONPATH=${PROJECT_SOURCE_DIR}/python;TENSOA_BUILD=${PROJECT_BINARY_DIR};TENSOA_SHARED_DATA=${TENSOA_SHARED_DATA};${arg_ENVIRONMENT}")
  endforeach()
endfunction()

# tensoa_add_service_test(NAME COMMAND program argument... [TRITON model...] [SERVERS n] [REPOSITORY folder]
#                         [BACKENDS name=library...] [UPDATE] [RESTRICTED] [ENVOY] [KSERVE] [TLS] [PROXY] [TIMEOUT seconds])
#
# A CTest case NAME that runs the command with real servers around it: tests/service/run.py says which environment variables it
# finds them in. It is skipped where scripts/setup_service.sh has not installed the servers. One such case runs at a time. The logs
# of the servers are in the build folder, service_logs/NAME.
function(tensoa_add_service_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "UPDATE;RESTRICTED;ENVOY;KSERVE;TLS;PROXY" "SERVERS;REPOSITORY;TIMEOUT" "COMMAND;TRITON;BACKENDS")
  set(options --logs "${PROJECT_BINARY_DIR}/service_logs/${name}")
  foreach(option IN ITEMS UPDATE RESTRICTED ENVOY KSERVE TLS PROXY)
    if(arg_${option})
      string(TOLOWER "--${option}" flag)
      list(APPEND options ${flag})
    endif()
  endforeach()
  if(arg_SERVERS)
    list(APPEND options --servers ${arg_SERVERS})
  endif()
  if(arg_REPOSITORY)
    list(APPEND options --repository "${arg_REPOSITORY}")
  endif()
  if(arg_TRITON)
    list(APPEND options --triton ${arg_TRITON})
  endif()
  foreach(backend IN LISTS arg_BACKENDS)
    list(APPEND options --backend "${backend}")
  endforeach()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  list(PREPEND arg_COMMAND "${program}")
  add_test(NAME ${name} COMMAND "${PROJECT_SOURCE_DIR}/tests/service/run.py" ${options} -- ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77 RESOURCE_LOCK service
    ENVIRONMENT "TENSOA_SERVICE_VENV=${TENSOA_SERVICE_VENV}")
endfunction()

# tensoa_exporter_sources(VARIABLE)
#
# The files that make a package: the Python files and kernel texts of the exporter, for DEPENDS.
function(tensoa_exporter_sources variable)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/python/tensoa/*.py"
    "${PROJECT_SOURCE_DIR}/python/tensoa/*.hpp"
    "${PROJECT_SOURCE_DIR}/python/tensoa/*.cuh"
    "${PROJECT_SOURCE_DIR}/python/tensoa/*.json")
  list(FILTER sources EXCLUDE REGEX "/python/tensoa/(models/|(tracking|merging)/(train|evaluate)|graph_training|edge_metrics)")
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# tensoa_add_benchmark(NAME SOURCES file... LINK target...)
#
# One Google Benchmark program bench_NAME; `make bench` runs it. TENSOA_SHARED_DATA is a string in the sources.
function(tensoa_add_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  set(target bench_${name})
  add_executable(${target} ${arg_SOURCES})
  tensoa_configure_target(${target})
  target_compile_definitions(${target} PRIVATE TENSOA_SHARED_DATA="${TENSOA_SHARED_DATA}")
  target_link_libraries(${target} PRIVATE ${arg_LINK} benchmark::benchmark_main)
endfunction()
