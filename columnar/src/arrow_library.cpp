// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "arrow_library.hpp"

#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/core/own_library.hpp"

namespace tensoa::columnar {
namespace {

const ArrowLibrary& load() {
  std::string why;
  const void* const found = find_in_own_library("libtensoa_arrow.so", "tensoa_arrow_library", why);
  if (found != nullptr) return *static_cast<const ArrowLibrary*>(found);
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
