# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# Finds gRPC for C++, 1.51 or later, without protobuf, which gRPC's own configuration requests and we do not use. Makes
#   TensoaGrpc::grpc         headers (SYSTEM) and libraries
#   TensoaGrpc::hidden       the same, with gRPC itself from static libraries where they are there
#   TensoaGrpc_VERSION       for example 1.51.1

find_path(TensoaGrpc_INCLUDE_DIR grpcpp/generic/generic_stub.h)
mark_as_advanced(TensoaGrpc_INCLUDE_DIR)
foreach(library grpc++ grpc gpr)
  find_library(TensoaGrpc_${library}_LIBRARY ${library})
  mark_as_advanced(TensoaGrpc_${library}_LIBRARY)
  list(APPEND TensoaGrpc_LIBRARIES "${TensoaGrpc_${library}_LIBRARY}")
endforeach()
# Headers of gRPC lock a mutex of Abseil inline.
find_library(TensoaGrpc_absl_LIBRARY absl_synchronization)
mark_as_advanced(TensoaGrpc_absl_LIBRARY)
if(TensoaGrpc_absl_LIBRARY)
  list(APPEND TensoaGrpc_LIBRARIES "${TensoaGrpc_absl_LIBRARY}")
endif()
if(EXISTS "${TensoaGrpc_INCLUDE_DIR}/grpcpp/version_info.h")
  file(READ "${TensoaGrpc_INCLUDE_DIR}/grpcpp/version_info.h" text)
  string(REGEX MATCH "GRPC_CPP_VERSION_STRING \"([0-9.]+)" unused "${text}")
  set(TensoaGrpc_VERSION "${CMAKE_MATCH_1}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TensoaGrpc
  REQUIRED_VARS TensoaGrpc_grpc++_LIBRARY TensoaGrpc_grpc_LIBRARY TensoaGrpc_gpr_LIBRARY TensoaGrpc_INCLUDE_DIR
  VERSION_VAR TensoaGrpc_VERSION
  REASON_FAILURE_MESSAGE "install libgrpc++-dev, or configure with -DTENSOA_REMOTE=OFF")

if(TensoaGrpc_FOUND AND NOT TARGET TensoaGrpc::grpc)
  add_library(TensoaGrpc::grpc INTERFACE IMPORTED)
  target_include_directories(TensoaGrpc::grpc SYSTEM INTERFACE "${TensoaGrpc_INCLUDE_DIR}")
  target_link_libraries(TensoaGrpc::grpc INTERFACE ${TensoaGrpc_LIBRARIES})
endif()

# Abseil stays shared: Debian's has its own namespace (absl::debian3), and its static libraries cannot go into a shared one.
if(TensoaGrpc_FOUND AND NOT TARGET TensoaGrpc::hidden)
  add_library(TensoaGrpc::hidden INTERFACE IMPORTED)
  target_include_directories(TensoaGrpc::hidden SYSTEM INTERFACE "${TensoaGrpc_INCLUDE_DIR}")
  cmake_path(GET TensoaGrpc_grpc_LIBRARY PARENT_PATH tensoa_grpc_folder)
  set(tensoa_grpc_static "")
  foreach(library grpc++ grpc gpr upb address_sorting)
    if(EXISTS "${tensoa_grpc_folder}/lib${library}.a")
      list(APPEND tensoa_grpc_static "${tensoa_grpc_folder}/lib${library}.a")
    endif()
  endforeach()
  list(LENGTH tensoa_grpc_static tensoa_grpc_count)
  file(GLOB tensoa_grpc_absl "${tensoa_grpc_folder}/libabsl_*.so")
  if(tensoa_grpc_count EQUAL 5 AND tensoa_grpc_absl)
    target_link_libraries(TensoaGrpc::hidden INTERFACE -Wl,--start-group ${tensoa_grpc_static} -Wl,--end-group
      -Wl,--push-state,--as-needed ${tensoa_grpc_absl} -lre2 -lcares -lssl -lcrypto -lz -Wl,--pop-state)
  else()
    target_link_libraries(TensoaGrpc::hidden INTERFACE ${TensoaGrpc_LIBRARIES})
  endif()
endif()
