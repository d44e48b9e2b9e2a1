// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "arrow_library.hpp"

#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/core/own_library.hpp"
#include "tensoa/core/version.hpp"

namespace tensoa::columnar {
namespace {

const ArrowLibrary& load() {
  std::string why;
  const void* const found = find_in_own_library("libtensoa_arrow.so", "tensoa_arrow_library", why);
  if (found != nullptr) {
    const auto& library = *static_cast<const ArrowLibrary*>(found);
    if (library.version == kVersion) return library;
    throw LoadError("files of columns need libtensoa_arrow.so of tensoa " + std::string(kVersion) +
                    ", the one that was found is of " + library.version +
                    "; LD_LIBRARY_PATH may name the folder of another tensoa");
  }
  const std::string version = TENSOA_ARROW_VERSION;
  const std::string release = version.substr(0, version.find('.'));
  throw LoadError("files of columns need Arrow " + release + ", which cannot be loaded: " + why +
                  "; pip install 'pyarrow==" + release +
                  ".*', or add the folder of libarrow.so to LD_LIBRARY_PATH");
}

}  // namespace

const ArrowLibrary& arrow_library() {
  static const ArrowLibrary& library = load();
  return library;
}

}  // namespace tensoa::columnar
