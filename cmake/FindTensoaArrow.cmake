# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# Finds Arrow and Parquet for C++: an Arrow installation where Arrow_DIR is given, else the pyarrow Python package in
# TENSOA_ARROW_ROOT or TENSOA_VENV. Makes
#   TensoaArrow::parquet     headers (SYSTEM) and libraries of Arrow and Parquet
#   TensoaArrow_VERSION      for example 25.0.1

if(Arrow_DIR)
  find_package(Arrow CONFIG REQUIRED)
  find_package(Parquet CONFIG REQUIRED HINTS "${Arrow_DIR}/../Parquet")
  set(TensoaArrow_VERSION ${Arrow_VERSION})
  set(TensoaArrow_LIBRARIES Arrow::arrow_shared Parquet::parquet_shared)
  set(tensoa_arrow_where "${Arrow_DIR}")
else()
  find_path(TensoaArrow_INCLUDE_DIR arrow/api.h NO_CACHE
    PATHS ${TENSOA_ARROW_ROOT} PATH_SUFFIXES include NO_DEFAULT_PATH)
  if(NOT TENSOA_ARROW_ROOT)
    find_path(TensoaArrow_INCLUDE_DIR arrow/api.h NO_CACHE
      PATHS ${TENSOA_VENV_PACKAGES} PATH_SUFFIXES pyarrow/include NO_DEFAULT_PATH)
  endif()
  if(TensoaArrow_INCLUDE_DIR)
    get_filename_component(tensoa_arrow_where "${TensoaArrow_INCLUDE_DIR}/.." ABSOLUTE)
    file(STRINGS "${TensoaArrow_INCLUDE_DIR}/arrow/util/config.h" text REGEX "#define ARROW_VERSION_STRING ")
    string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" TensoaArrow_VERSION "${text}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${TensoaArrow_INCLUDE_DIR}/arrow/util/config.h")
    # The wheel has the libraries under their versioned names only.
    file(GLOB TensoaArrow_LIBRARIES
      "${tensoa_arrow_where}/libarrow.so.[0-9]*" "${tensoa_arrow_where}/libparquet.so.[0-9]*")
  endif()
endif()

list(LENGTH TensoaArrow_LIBRARIES tensoa_arrow_count)
if(tensoa_arrow_count EQUAL 2)
  set(TensoaArrow_BOTH TRUE)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TensoaArrow
  REQUIRED_VARS tensoa_arrow_where TensoaArrow_BOTH
  VERSION_VAR TensoaArrow_VERSION
  REASON_FAILURE_MESSAGE "run scripts/setup.sh, or set Arrow_DIR to the folder of ArrowConfig.cmake")

if(TensoaArrow_FOUND AND NOT TARGET TensoaArrow::parquet)
  add_library(TensoaArrow::parquet INTERFACE IMPORTED)
  if(Arrow_DIR)
    target_link_libraries(TensoaArrow::parquet INTERFACE ${TensoaArrow_LIBRARIES})
  else()
    target_include_directories(TensoaArrow::parquet INTERFACE "${TensoaArrow_INCLUDE_DIR}")
    foreach(path ${TensoaArrow_LIBRARIES})
      string(REGEX MATCH "lib([a-z]+)\\.so" unused "${path}")
      set(library TensoaArrow::lib${CMAKE_MATCH_1})
      add_library(${library} SHARED IMPORTED)
      set_target_properties(${library} PROPERTIES IMPORTED_LOCATION "${path}")
      target_link_libraries(TensoaArrow::parquet INTERFACE ${library})
    endforeach()
  endif()
endif()
