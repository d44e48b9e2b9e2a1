# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# Third-party parts of a wheel and of `make dist`: the licences, and a list of it (CycloneDX, in a wheel by PEP 770).

if(TENSOA_WHEEL)
  set(tensoa_licences licenses)
  set(tensoa_lists "${SKBUILD_METADATA_DIR}/sboms")
else()
  set(tensoa_licences "${CMAKE_INSTALL_DOCDIR}/licenses")
  set(tensoa_lists "${CMAKE_INSTALL_DOCDIR}")
endif()

set(tensoa_parts "")

# tensoa_part(NAME VERSION LICENCE PURL FILE...): another project of which the wheel has code; LICENCE as SPDX names it, "" where it does not;
# FILE is where the text may be, a pattern.
function(tensoa_part name version licence purl)
  if(NOT version)
    message(FATAL_ERROR "It has code of ${name}, whose version is not known; expected its package to say it")
  endif()
  file(GLOB texts ${ARGN})
  if(texts)
    list(GET texts 0 text)
    install(FILES "${text}" DESTINATION "${tensoa_licences}" RENAME "${name}.txt")
  elseif(TENSOA_WHEEL)  # `pip install .`; what `make wheel` makes is checked for it
    message(STATUS "This is for this machine only: it has no licence text of ${name}, which is not in ${ARGN}")
  else()
    message(FATAL_ERROR "It has code of ${name} and no text of its licence; expected it in ${ARGN}. Put it there, or install the package of Debian that has it")
  endif()
  set(kind "\"id\": \"${licence}\"")
  if(NOT licence)
    set(kind "\"name\": \"see licenses/${name}.txt\"")
  endif()
  string(APPEND tensoa_parts ",
    {\"type\": \"library\", \"name\": \"${name}\", \"version\": \"${version}\", \"purl\": \"${purl}@${version}\", \"licenses\": [{\"license\": {${kind}}}]}")
  set(tensoa_parts "${tensoa_parts}" PARENT_SCOPE)
endfunction()

# tensoa_package_part(NAME LICENCE): one that is a package of PyPI.
macro(tensoa_package_part name licence)
  execute_process(COMMAND "${Python_EXECUTABLE}" -c "import importlib.metadata as m
d = m.distribution('${name}')
print(d.version, *(d.locate_file(f) for f in d.files if f.parent.name == 'licenses' and f.stem.upper() == 'LICENSE'), sep=';')"
    OUTPUT_VARIABLE tensoa_package OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  list(POP_FRONT tensoa_package tensoa_version)
  tensoa_part(${name} "${tensoa_version}" "${licence}" pkg:pypi/${name} ${tensoa_package})
endmacro()

if(TARGET tensoa_program)
  tensoa_part(oneTBB "${TBB_VERSION}" Apache-2.0 pkg:github/uxlfoundation/oneTBB /usr/share/doc/libtbb12/copyright)
  tensoa_part(fmt "${fmt_VERSION}" MIT pkg:github/fmtlib/fmt /usr/share/doc/libfmt-dev/copyright)
  tensoa_part(CLI11 "${CLI11_VERSION}" BSD-3-Clause pkg:github/CLIUtils/CLI11 /usr/share/doc/libcli11-dev/copyright)
endif()
tensoa_part(nlohmann-json "${nlohmann_json_VERSION}" MIT pkg:github/nlohmann/json /usr/share/doc/nlohmann-json3-dev/copyright)
tensoa_package_part(nanobind BSD-3-Clause)
file(STRINGS "${nanobind_DIR}/../ext/robin_map/include/tsl/robin_growth_policy.h" tensoa_robin REGEX "define TSL_RH_VERSION_[A-Z]+ [0-9]+")
string(REGEX REPLACE "[^;]* ([0-9]+)" "\\1" tensoa_robin "${tensoa_robin}")
string(REPLACE ";" "." tensoa_robin "${tensoa_robin}")
tensoa_part(robin-map "${tensoa_robin}" MIT pkg:github/Tessil/robin-map "${nanobind_DIR}/../ext/robin_map/include/tsl/robin_growth_policy.h")
tensoa_package_part(numpy BSD-3-Clause)    # headers
tensoa_package_part(pyarrow Apache-2.0)    # headers
if(TARGET tensoa_torch)  # headers; of the torch that is built with, which is not one of this Python
  tensoa_part(torch "${TensoaTorch_VERSION}" BSD-3-Clause pkg:pypi/torch "${TensoaTorch_ROOT}/../torch-*.dist-info/licenses/LICENSE"
    "${TensoaTorch_ROOT}/../torch-*.dist-info/LICENSE" "${TensoaTorch_ROOT}/LICENSE*")
endif()
if(TARGET tensoa_grpc)  # in it, or what `auditwheel repair` adds next to it; pkg-config's files have their versions
  cmake_path(GET TensoaGrpc_grpc_LIBRARY PARENT_PATH tensoa_grpc_folder)
  macro(tensoa_pkgconfig_part name file licence purl package)
    file(STRINGS "${tensoa_grpc_folder}/pkgconfig/${file}.pc" tensoa_version REGEX "^Version:")
    string(REGEX REPLACE "^Version: *" "" tensoa_version "${tensoa_version}")
    tensoa_part(${name} "${tensoa_version}" "${licence}" "${purl}" /usr/share/doc/${package}/copyright)
  endmacro()
  tensoa_part(gRPC "${TensoaGrpc_VERSION}" Apache-2.0 pkg:github/grpc/grpc /usr/share/doc/libgrpc-dev/copyright)
  tensoa_pkgconfig_part(Abseil absl_base Apache-2.0 pkg:github/abseil/abseil-cpp libabsl-dev)
  tensoa_pkgconfig_part(RE2 re2 BSD-3-Clause pkg:github/google/re2 libre2-dev)
  tensoa_pkgconfig_part(c-ares libcares MIT pkg:github/c-ares/c-ares libc-ares-dev)
endif()
if(TENSOA_CUDA_STATIC AND tensoa_device STREQUAL "cuda")
  tensoa_package_part(nvidia-cuda-runtime "")
endif()

string(SUBSTRING "${tensoa_parts}" 1 -1 tensoa_parts)
file(CONFIGURE OUTPUT tensoa.cdx.json @ONLY CONTENT [[{
  "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
  "metadata": {"component": {"type": "library", "name": "tensoa", "version": "@PROJECT_VERSION@", "purl": "pkg:pypi/tensoa@@PROJECT_VERSION@",
    "licenses": [{"license": {"id": "Apache-2.0"}}]}},
  "components": [@tensoa_parts@
  ]
}
]])
install(FILES "${PROJECT_BINARY_DIR}/tensoa.cdx.json" DESTINATION "${tensoa_lists}")
