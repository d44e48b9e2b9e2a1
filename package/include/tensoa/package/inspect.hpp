// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensoa/engine/describe.hpp"
#include "tensoa/engine/loader.hpp"
#include "tensoa/engine/row_dependence.hpp"
#include "tensoa/package/manifest.hpp"

/// @file
/// The content of a model file, of which nothing runs.

namespace tensoa::package {

/// One argument or result of a model.
struct ArgumentDescription {
  std::string name;  ///< empty for a result of TorchScript that has none
  std::string type;  ///< "float32[n0, 3]"; of TorchScript as its file spells it: "Tensor"

  /// The columns that it is made for, or that it can be tried with; absent in TorchScript, which does not store them.
  std::optional<BlockDescription> block;

  /// With `block`: the input collection with the same number of rows, the first where several must have
  /// equal numbers; outputs without one always have `rows`.
  std::optional<std::size_t> collection;
  std::size_t rows = 0;

  /// Inputs: whether a call may write it, so that the caller's column is copied first.
  bool may_be_written = false;
};

/// Expected results of a package, recorded when it was made.
struct RecordedResults {
  struct Case {
    std::size_t rows = 0;  ///< of input collection 0; collection c has (1 + 2 c) times this number
    std::vector<std::vector<std::byte>> inputs;  ///< of each block its planes, one after another
    std::vector<std::vector<double>> outputs;    ///< the module's in float64, where it can do that
    std::string numbers = "normal";  ///< in the inputs: docs/ahead_of_time.md names them
    /// Of the planes of each output block, the largest error that is right; empty: `tolerance`.
    std::vector<std::vector<double>> tolerances;
  };
  double tolerance = 0;  ///< the largest ||a - b|| / ||b|| of a plane that is right
  std::vector<Case> cases;
};

struct ModelDescription {
  CompilationType compilation = CompilationType::kJustInTime;
  /// By a server, which reports only its names, dtypes and shapes, and with tensoa's back-end its columns and its file.
  bool is_served = false;
  std::string checksum;  ///< of the file that a server runs: SHA-256; empty: not reported

  std::uintmax_t bytes = 0;    ///< of the file
  std::string machine;         ///< "x86_64"; empty in TorchScript
  std::string torch;           ///< that wrote it; empty in TorchScript, which does not store it
  std::string format;          ///< version of the file format
  Match match = Match::kAuto;  ///< how blocks find arguments and results

  /// Where it runs, one at least; of a package with its programs, and how they were checked.
  std::vector<TargetDescription> targets{TargetDescription{}};
  std::vector<ArgumentDescription> inputs;
  std::vector<ArgumentDescription> outputs;

  /// Whether rows of a call depend on each other. Unknown for TorchScript, where it depends on the columns, too:
  /// Model::row_dependence.
  RowDependence row_dependence;

  /// Whether a call changes the model itself; such a TorchScript file is refused when it is loaded.
  bool keeps_state = false;

  /// Of a program of torch.export: its operators, "aten.linear.default", and how many nodes call each.
  std::vector<std::pair<std::string, std::size_t>> operators;

  /// TorchScript and torch.export: numbers in parameters and buffers, and their bytes. In a package they are part of
  /// the programs.
  std::optional<std::size_t> weights;
  std::optional<std::size_t> weight_bytes;

  /// Of trees: "objective", "binary:logistic".
  std::vector<std::pair<std::string, std::string>> forest_facts;
  /// Of a package: the columns that it is made for. Of a tree file: float32 columns that it can be tried with.
  std::optional<BindingDescription> binding;

  /// Why columns that are only read are safe: how `may_be_written` was found.
  std::string proof;
};

/// An argument or result of these columns.
/// @param collection, rows as in ArgumentDescription
ArgumentDescription argument_of(const BlockDescription& block,
                                std::optional<std::size_t> collection, std::size_t rows = 0);

/// A loader that describes its files.
class InspectingLoader : public EngineLoader {
 public:
  /// @param location accepted @param options accepted @throws LoadError
  virtual ModelDescription inspect(const ModelLocation& location,
                                   const ModelOptions& options) const = 0;
};

/// Asks the loader that accepts what is there. Packages: also one for another machine or torch version; no code
/// is unpacked or loaded, its checksum is verified. TorchScript: data flow through its frozen graph is followed,
/// nothing else. Trees: the file is read. URLs: a server is asked.
/// @param options as those of a Model: how a server is reached
/// @throws LoadError as find_loader, and where its loader does not describe it
ModelDescription inspect(const ModelLocation& location, const ModelOptions& options = {});

/// As a JSON object in one line: what `tensoa inspect --json` writes, but for the name of the file. A model of servers has
/// "checksum" (null: not reported), and no "bytes", "programs" and "checks". With several targets, what each of them
/// has is in "targets".
std::string to_json(const ModelDescription& model);

/// The device of a name, as parse_device(). "auto" is a GPU for a model that runs on nothing else, and the CPU for all others.
/// @throws as parse_device()
Device device_for(const std::string& name, const ModelDescription& model);

/// The results recorded in the package `path` for devices of a kind; nothing where it has none. Reads as inspect().
/// @throws LoadError
std::optional<RecordedResults> recorded_results(const std::filesystem::path& path, DeviceKind kind);

}  // namespace tensoa::package
