// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "other_formats.hpp"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <exception>
#include <fstream>
#include <limits>
#include <string_view>
#include <vector>

#include "tensoa/package/archive.hpp"

namespace tensoa::package {
namespace {

namespace fs = std::filesystem;

/// The beginning of a file: nothing else of it is read, except for the tags of a protocol buffer.
struct Look {
  explicit Look(const fs::path& file)
      : path(file), bytes(fs::file_size(file)), beginning(4096, '\0') {
    std::ifstream stream(file, std::ios::binary);
    stream.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
    beginning.resize(static_cast<std::size_t>(stream.gcount()));
    if (!starts_with("PK")) return;
    try {
      names = names_in_archive(file);
    } catch (const std::exception&) {
      // Cut off.
    }
  }

  bool starts_with(std::string_view magic) const { return beginning.starts_with(magic); }
  bool has(std::string_view text, std::size_t at = 0) const {
    return beginning.find(text, at) != std::string::npos;
  }
  bool has_file(std::string_view name) const {
    return std::ranges::find(names, name) != names.end();
  }

  bool is_text() const {
    constexpr std::size_t kShortest = 4;
    return beginning.size() >= kShortest && std::ranges::none_of(beginning, [](char c) {
             const auto byte = static_cast<unsigned char>(c);
             return byte < ' ' && c != '\t' && c != '\n' && c != '\r';
           });
  }

  fs::path path;
  std::uintmax_t bytes;
  std::string beginning;
  std::vector<std::string> names;  ///< in the archive, if it is one
};

/// Which fields a file has that is one message of protocol buffers; none where it is something else.
class Fields {
 public:
  explicit Fields(const Look& look) : file_(look.path, std::ios::binary), left_(look.bytes) {
    constexpr int kMost = 10'000;
    for (int i = 0; i < kMost && left_ > 0; ++i) {
      if (skip_field()) continue;
      there_.reset();
      return;
    }
  }

  bool has(std::size_t number) const { return there_[number]; }

 private:
  std::optional<std::uint64_t> varint() {
    constexpr unsigned kBits = 7;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && left_ > 0; shift += kBits) {
      const int byte = file_.get();
      if (byte < 0) return {};
      --left_;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return {};
  }

  bool skip(std::uint64_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    file_.seekg(static_cast<std::streamoff>(bytes), std::ios::cur);
    return true;
  }

  bool skip_field() {
    constexpr std::uint64_t kVarint = 0;
    constexpr std::uint64_t kEightBytes = 1;
    constexpr std::uint64_t kLengthFirst = 2;
    constexpr std::uint64_t kFourBytes = 5;
    const auto tag = varint();
    if (!tag || *tag >> 3U == 0 || *tag >> 3U >= there_.size()) return false;
    there_.set(static_cast<std::size_t>(*tag >> 3U));
    switch (*tag & 7U) {
      case kVarint:
        return varint().has_value();
      case kEightBytes:
        return skip(8);
      case kLengthFirst: {
        const auto length = varint();
        return length && skip(*length);
      }
      case kFourBytes:
        return skip(4);
      default:
        return false;
    }
  }

  std::ifstream file_;
  std::uintmax_t left_;
  std::bitset<1024> there_;
};

bool is_onnx(const Look& look) {
  constexpr std::size_t kIrVersion = 1;  // of ModelProto
  constexpr std::size_t kGraph = 7;
  constexpr char kTagOfIrVersion = 8;
  if (look.beginning.empty() || look.beginning[0] != kTagOfIrVersion) return false;
  const Fields fields(look);
  return fields.has(kIrVersion) && fields.has(kGraph);
}

bool is_tensorflow(const Look& look) {
  constexpr std::size_t kNodes = 1;       // of GraphDef; in SavedModel the version of its schema
  constexpr std::size_t kMetaGraphs = 2;  // of SavedModel, the library of GraphDef
  if (look.path.extension() != ".pb") return false;
  const Fields fields(look);
  return fields.has(kNodes) || fields.has(kMetaGraphs);
}

std::string package_of(const std::string& file) {
  return "make a package of it: tensoa compile " + file + " --out PACKAGE.pt2";
}
std::string package_of(const Look& look) { return package_of(look.path.string()); }

/// How a format is known, and what is said of a file in it.
struct Format {
  bool (*is_it)(const Look& look);
  std::string (*says)(const Look& look);
};

const std::string& of_weights() {
  static const std::string text =
      "weights without the network that they are of: make that in Python, and "
      "tensoa compile FILE.py:FACTORY --weights WEIGHTS --out PACKAGE.pt2";
  return text;
}

const std::string& of_data() {
  static const std::string text =
      "data and not a model: tensoa infer --model MODEL --input DATA --output ANSWERS runs a model "
      "over it";
  return text;
}

/// The first that fits is it; what is text comes last.
constexpr Format kFormats[] = {
    {[](const Look& look) { return look.bytes == 0; },
     [](const Look&) -> std::string { return "is empty; write or copy it again"; }},
    {is_onnx, [](const Look& look) { return "is an ONNX file; " + package_of(look); }},
    {[](const Look& look) {
       return look.starts_with("\x89HDF\r\n\x1a\n") || look.has_file("model.weights.h5");
     },
     [](const Look& look) {
       return "is a file of Keras" +
              std::string(look.names.empty() ? ", or other data in HDF5" : "") + "; " +
              package_of(look);
     }},
    {is_tensorflow,
     [](const Look& look) {
       const bool is_saved_model = look.path.filename() == "saved_model.pb";
       const fs::path folder = fs::absolute(look.path).parent_path();
       return "is a graph of TensorFlow; " +
              package_of((is_saved_model ? folder : look.path).string());
     }},
    {[](const Look& look) {
       return look.beginning.size() >= 8 && look.beginning.substr(4, 4) == "TFL3";
     },
     [](const Look&) -> std::string {
       return "is a file of TensorFlow Lite, which is not read; export the model that it was made "
              "of, as Keras, ONNX or a SavedModel: tensoa compile FILE --out PACKAGE.pt2";
     }},
    {[](const Look& look) { return look.starts_with("binf"); },
     [](const Look& look) { return "is a binary file of XGBoost; " + package_of(look); }},
    {[](const Look& look) { return look.starts_with("CBM1"); },
     [](const Look& look) {
       return "is a model of CatBoost; where catboost is installed, " + package_of(look);
     }},
    {[](const Look& look) {
       constexpr std::size_t kLengthOfHeader = 8;
       return look.beginning.find("{\"") == kLengthOfHeader && look.has("\"data_offsets\"");
     },
     [](const Look&) { return "is a file of safetensors, " + of_weights(); }},
    {[](const Look& look) { return look.starts_with("PAR1"); },
     [](const Look&) { return "is a Parquet file, " + of_data(); }},
    {[](const Look& look) { return look.starts_with("ARROW1") || look.starts_with("FEA1"); },
     [](const Look&) { return "is an Arrow file, " + of_data(); }},
    {[](const Look& look) {
       return look.starts_with("\x93NUMPY") ||
              std::ranges::any_of(look.names,
                                  [](const auto& name) { return name.ends_with(".npy"); });
     },
     [](const Look&) -> std::string {
       return "holds arrays of NumPy: of weights, make the network in Python, and tensoa "
              "compile FILE.py:FACTORY --out PACKAGE.pt2; of data, "
              "write them as Parquet for tensoa infer --model MODEL --input DATA";
     }},
    {[](const Look& look) { return look.starts_with("root") && !look.is_text(); },
     [](const Look&) { return "is a ROOT file, " + of_data() + ", written as Parquet"; }},
    {[](const Look& look) {
       return look.starts_with(
           "\x7f"
           "ELF");
     },
     [](const Look&) -> std::string {
       return "is a program or shared library and not a model; a package holds one: tensoa "
              "compile makes it";
     }},
    {[](const Look& look) {
       return look.beginning.size() > 1 && look.beginning[0] == '\x80' && look.beginning[1] >= 2 &&
              look.beginning[1] <= 5;
     },
     [](const Look& look) {
       return "is a pickle of Python: of a network or its weights, tensoa compile "
              "FILE.py:FACTORY --out PACKAGE.pt2 with a function that loads it; of decision trees "
              "of scikit-learn, " +
              package_of(look) + " --trust-pickle";
     }},
    {[](const Look& look) { return look.starts_with("\x1f\x8b"); },
     [](const Look& look) {
       return "is packed by gzip; unpack it, or, of decision trees or weights of Exa.TrkX, " +
              package_of(look);
     }},
    {[](const Look& look) { return look.starts_with("version https://git-lfs"); },
     [](const Look&) -> std::string {
       return "is what Git LFS keeps instead of a large file; `git lfs pull` brings the file";
     }},
    {[](const Look& look) { return look.is_text() && look.has("<MethodSetup"); },
     [](const Look& look) { return "is a model of TMVA; " + package_of(look); }},
    {[](const Look& look) { return look.is_text() && look.starts_with("{"); },
     [](const Look& look) {
       return "is JSON, but no whole model of XGBoost that is read here; of trees of CatBoost or "
              "conifer, or a network of LWTNN or Keras, " +
              package_of(look);
     }},
    {[](const Look& look) {
       return look.is_text() && (look.has("<html") || look.has("<!DOCTYPE html"));
     },
     [](const Look&) -> std::string {
       return "is a web page and not a model, perhaps what a failed download left; get the file "
              "again";
     }},
    {[](const Look& look) { return look.is_text() && look.path.extension() == ".py"; },
     [](const Look& look) {
       return "is a program in Python; " + package_of(look.path.string() + ":FACTORY") +
              ", where FACTORY is a function in it that gives the network";
     }},
    {[](const Look& look) {
       const fs::path ending = look.path.extension();
       return look.is_text() && (ending == ".csv" || ending == ".tsv");
     },
     [](const Look&) { return "is a table, " + of_data(); }},
    {[](const Look& look) { return look.is_text(); },
     [](const Look&) -> std::string {
       return "is text and not a model, or a model in a format that is not read; "
              "docs/models_of_others.md lists those that are";
     }},
};

}  // namespace

bool is_onnx(const fs::path& file) { return is_onnx(Look(file)); }

std::optional<std::string> what_other_format(const fs::path& path) {
  if (fs::is_directory(path)) {
    if (!fs::exists(path / "saved_model.pb")) return {};
    return "is a SavedModel of TensorFlow; " + package_of(path.string());
  }
  if (!fs::is_regular_file(path)) return {};
  const Look look(path);
  for (const Format& format : kFormats) {
    if (format.is_it(look)) return format.says(look);
  }
  return {};
}

}  // namespace tensoa::package
