# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# Finds the C structures of DLPack 1 and of the Arrow C (device) data interface: two headers of an Arrow installation (Arrow_DIR)
# or of the pyarrow Python package in TENSOA_ARROW_ROOT or TENSOA_VENV. No library. Makes
#   TensoaInterchange::headers   arrow/c/abi.h and arrow/c/dlpack_abi.h (SYSTEM)

if(Arrow_DIR)
  set(tensoa_interchange_paths "${Arrow_DIR}/../../../include")
elseif(TENSOA_ARROW_ROOT)
  set(tensoa_interchange_paths "${TENSOA_ARROW_ROOT}/include")
else()
  list(TRANSFORM TENSOA_VENV_PACKAGES APPEND /pyarrow/include OUTPUT_VARIABLE tensoa_interchange_paths)
endif()
find_path(TensoaInterchange_INCLUDE_DIR arrow/c/dlpack_abi.h NO_CACHE PATHS ${tensoa_interchange_paths} NO_DEFAULT_PATH)

set(TensoaInterchange_ABI FALSE)
if(TensoaInterchange_INCLUDE_DIR)
  # Older ones have neither flags nor devices.
  file(STRINGS "${TensoaInterchange_INCLUDE_DIR}/arrow/c/dlpack_abi.h" tensoa_versioned REGEX "struct DLManagedTensorVersioned {")
  file(STRINGS "${TensoaInterchange_INCLUDE_DIR}/arrow/c/abi.h" tensoa_device_array REGEX "struct ArrowDeviceArray {")
  if(tensoa_versioned AND tensoa_device_array)
    set(TensoaInterchange_ABI TRUE)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TensoaInterchange
  REQUIRED_VARS TensoaInterchange_INCLUDE_DIR TensoaInterchange_ABI
  REASON_FAILURE_MESSAGE "run scripts/setup.sh, or set TENSOA_ARROW_ROOT to a folder with include/ of a recent Arrow")

if(TensoaInterchange_FOUND AND NOT TARGET TensoaInterchange::headers)
  add_library(TensoaInterchange::headers INTERFACE IMPORTED)
  target_include_directories(TensoaInterchange::headers INTERFACE "${TensoaInterchange_INCLUDE_DIR}")
endif()
