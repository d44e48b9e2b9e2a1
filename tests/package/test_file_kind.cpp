// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/file_kind.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/loader.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/archive.hpp"
#include "tensoa/package/engines.hpp"
#include "zip_writer.hpp"

namespace tensoa::package {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

std::string zip_of(const std::vector<std::string>& names) {
  test::ZipWriter zip;
  for (const std::string& name : names) zip.add(name, "bytes");
  return zip.finish();
}

class FileKindTest : public testing::Test {
 protected:
  FileKindTest() { register_engines(); }

  std::filesystem::path write(const std::string& name, const std::vector<std::string>& names) {
    return folder_.write(name, zip_of(names));
  }

  static void expect_refused(const std::filesystem::path& path,
                             const std::vector<std::string>& says) {
    for (const std::string& what : says) {
      EXPECT_THAT([&] { Model<>{path}; },
                  ThrowsMessage<LoadError>(AllOf(HasSubstr("model " + path.string() + ": "),
                                                 HasSubstr(what), Not(HasSubstr("\n")))));
    }
  }

  test::TemporaryFolder folder_;
};

// The names are those that torch 2.11 writes.
const std::vector<std::string> kOfPackage{"m/extra/tensoa.json", "m/data/aotinductor/x/y.so"};
const std::vector<std::string> kOfTorchScript{"m/data/0", "m/data.pkl", "m/code/__torch__/m.py",
                                              "m/constants.pkl", "m/version"};
const std::vector<std::string> kOfExport{"e/data/weights/weight_0", "e/models/model.json",
                                         "e/archive_format", "e/archive_version"};
const std::vector<std::string> kOfAotInductor{"a/data/aotinductor/model/x.wrapper.so",
                                              "a/archive_format", "a/archive_version"};
const std::vector<std::string> kOfTorchSave{"s/data.pkl", "s/byteorder", "s/data/0", "s/version"};

TEST_F(FileKindTest, DependsOnTheContentOfTheFileAndNotOnItsName) {
  EXPECT_EQ(kind_of_file(write("a.pt", kOfPackage)), FileKind::kPackage);
  EXPECT_EQ(kind_of_file(write("b.pt2", kOfTorchScript)), FileKind::kTorchScript);
  EXPECT_EQ(kind_of_file(write("c.pt2", kOfExport)), FileKind::kExportedProgram);
  EXPECT_EQ(kind_of_file(write("d.pt2", kOfAotInductor)), FileKind::kAotInductor);
  EXPECT_EQ(kind_of_file(write("e.pt", kOfTorchSave)), FileKind::kTorchSave);
  EXPECT_EQ(find_loader(write("f", kOfPackage))->name(), "package");
}

TEST_F(FileKindTest, OfWhatIsNoneOfTheseIsUnknown) {
  EXPECT_EQ(kind_of_file(write("a.pt2", {"x/readme"})), FileKind::kUnknown);
  EXPECT_EQ(kind_of_file(folder_.write("c.pt2", std::string(100'000, '\1'))), FileKind::kUnknown);
  EXPECT_EQ(kind_of_file(folder_.path()), FileKind::kUnknown);
  EXPECT_EQ(kind_of_file(folder_.path() / "none"), FileKind::kUnknown);
  const std::string whole = zip_of(kOfTorchScript);
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    EXPECT_EQ(kind_of_file(folder_.write("cut", whole.substr(0, bytes))), FileKind::kUnknown);
  }
}

TEST_F(FileKindTest, AProgramOfTorchExportIsNamedWithTheCommandThatMakesAPackage) {
  const auto path = write("model.pt2", kOfExport);
  expect_refused(path,
                 {"is a program of torch.export, and its engine, which needs torch, is not "
                  "registered: use a tensoa that is built with TENSOA_PYTORCH=ON",
                  "or make a package: tensoa compile " + path.string() + " --out PACKAGE.pt2"});
}

TEST_F(FileKindTest, APackageOfAotInductorIsNamedWithTheWayToOneOfOurs) {
  expect_refused(write("model.pt2", kOfAotInductor),
                 {"is a package of torch's AOTInductor, compiled for tensors",
                  "tensoa compile FILE.py:FACTORY --out"});
}

TEST_F(FileKindTest, TorchScriptWithoutItsEngineSaysWhatIsMissing) {
  expect_refused(write("model.pt", kOfTorchScript),
                 {"is TorchScript, and its engine, which needs torch, is not registered",
                  "TENSOA_PYTORCH=ON", "or make a package: tensoa compile"});
}

TEST_F(FileKindTest, AStateDictIsNamedWithTheWayToAModel) {
  expect_refused(write("model.pt", kOfTorchSave),
                 {"is not a TorchScript file: it is a file of torch.save, a state_dict"});
}

TEST_F(FileKindTest, AFileOfTorchSaveBeforeItWroteArchivesIsNamedAsOne) {
  const std::string magic(
      "\x80\x02\x8a\nl\xfc\x9c"
      "F\xf9 j\xa8P\x19.");
  expect_refused(folder_.write("model.pt", magic + "weights"), {"is a file of torch.save"});
}

/// A message of protocol buffers: fields 1 (a number) and `field` (bytes).
std::string message_with(char field, const std::string& bytes) {
  return std::string("\x08\x08", 2) + static_cast<char>(field * 8 + 2) +
         static_cast<char>(bytes.size()) + bytes;
}

/// Whatever its ending says.
TEST_F(FileKindTest, AFileOfAnotherProgramIsNamedWithWhatToDo) {
  const std::string to_package = " --out PACKAGE.pt2";
  for (const std::string ending : {".pt", ".pt2", ".bin", ""}) {
    const auto refused = [&](const std::string& bytes, const std::vector<std::string>& says) {
      expect_refused(folder_.write("file" + ending, bytes), says);
    };
    const std::string path = (folder_.path() / ("file" + ending)).string();
    refused(message_with(7, "graph"),
            {"is an ONNX file; make a package of it: tensoa compile " + path + to_package});
    refused("\x89HDF\r\n\x1a\n...", {"is a file of Keras", "tensoa compile " + path});
    refused(zip_of({"config.json", "model.weights.h5"}),
            {"is a file of Keras; make a package of it: tensoa compile " + path});
    refused(std::string("\x1c\0\0\0TFL3", 8), {"is a file of TensorFlow Lite", "as Keras, ONNX"});
    refused("binf\1", {"is a binary file of XGBoost", "make a package of it: tensoa compile"});
    refused("CBM1\1", {"is a model of CatBoost", "make a package of it: tensoa compile"});
    refused(std::string("\x10\0\0\0\0\0\0\0{\"w\":{\"data_offsets\":[0,1]}}", 36),
            {"is a file of safetensors, weights without the network", "FILE.py:FACTORY"});
    refused("PAR1\1", {"is a Parquet file, data and not a model: tensoa infer --model MODEL"});
    refused("ARROW1\1", {"is an Arrow file, data"});
    refused("\x93NUMPY\1", {"holds arrays of NumPy"});
    refused(zip_of({"w.npy"}), {"holds arrays of NumPy"});
    refused(
        "\x7f"
        "ELF\1",
        {"is a program or shared library"});
    refused("\x80\4\x95", {"is a pickle of Python", "tensoa compile " + path, "--trust-pickle"});
    refused("\x1f\x8b\1", {"is packed by gzip; unpack it"});
    refused("version https://git-lfs.github.com/spec/v1\n", {"`git lfs pull` brings the file"});
    refused("<?xml version=\"1.0\"?>\n<MethodSetup>", {"is a model of TMVA", "tensoa compile"});
    refused("{\"layers\": []}", {"is JSON, but no whole model of XGBoost", "LWTNN"});
    refused("<!DOCTYPE html><html>", {"is a web page", "get the file again"});
    refused("a,b\n1,2\n", {"is text and not a model"});
    refused("", {"is empty"});
  }
  expect_refused(folder_.write("net.py", "import torch\n"), {"tensoa compile", "net.py:FACTORY"});
  expect_refused(folder_.write("rows.csv", "a,b\n1,2\n"), {"is a table, data and not a model"});
  expect_refused(folder_.write("saved_model.pb", message_with(2, "graph")),
                 {"is a graph of TensorFlow", "tensoa compile " + folder_.path().string() + " "});
  expect_refused(folder_.path(), {"is a SavedModel of TensorFlow"});
}

TEST_F(FileKindTest, OfOnnxDependsOnItsFieldsAndNotOnItsFirstByte) {
  EXPECT_EQ(kind_of_file(folder_.write("a", message_with(7, "graph"))), FileKind::kOnnx);
  EXPECT_EQ(kind_of_file(folder_.write("b", message_with(7, "graph") + '\3')), FileKind::kUnknown);
  EXPECT_EQ(kind_of_file(folder_.write("c", message_with(9, "graph"))), FileKind::kUnknown);
}

TEST_F(FileKindTest, AFormatThatIsNotKnownSaysWhatIsLoaded) {
  expect_refused(folder_.write("model.bin", "\1\2\3\4"),
                 {"is in a format that is not known, or damaged; expected one of: package"});
}

TEST_F(FileKindTest, AUrlIsNamedAsOne) {
  EXPECT_THAT([] { Model<>{"grpc://host:8001/network"}; },
              ThrowsMessage<LoadError>(HasSubstr("is a URL, and no engine of this program speaks "
                                                 "grpc://")));
}

TEST(NamesInArchive, AreWithoutTheFolderOfAllAndInAnyFormat) {
  const test::TemporaryFolder folder;
  const auto names = [&](const std::string& bytes) {
    return names_in_archive(folder.write("file", bytes));
  };
  EXPECT_THAT(names(zip_of({"m/a", "m/b/c"})), ElementsAre("a", "b/c"));
  EXPECT_THAT(names(zip_of({"m/a", "b"})), ElementsAre("m/a", "b"));
  test::ZipWriter commented;
  commented.add("m/a", "bytes");
  EXPECT_THAT(names(commented.finish("tensoa sha256 0000")), ElementsAre("a"));
}

/// As it is written for more than 4 GB: the numbers are in a record before.
TEST(NamesInArchive, AreFoundByTheWideRecord) {
  test::ZipWriter zip;
  zip.add("m/a", "bytes");
  zip.finish();
  const std::size_t directory = zip.centrals[0];
  const std::size_t end = zip.end;
  const std::string last = zip.text.substr(end);
  zip.text.resize(end);
  const auto number = [&](std::size_t value, std::size_t bytes) {
    zip.text.resize(zip.text.size() + bytes);
    zip.set(zip.text.size() - bytes, value, bytes);
  };
  number(0x06064b50, 4);
  number(44, 8);
  number(0, 4);  // versions
  number(0, 8);  // disks
  number(1, 8);
  number(1, 8);
  number(end - directory, 8);
  number(directory, 8);
  number(0x07064b50, 4);
  number(0, 4);
  number(end, 8);
  number(1, 4);
  const std::size_t at = zip.text.size();
  zip.text += last;
  zip.set(at + 12, 0xFFFF'FFFF, 4);
  zip.set(at + 16, 0xFFFF'FFFF, 4);
  const test::TemporaryFolder folder;
  EXPECT_THAT(names_in_archive(folder.write("wide", zip.text)), ElementsAre("a"));
  zip.set(end + 48, std::size_t{1} << 40U, 8);
  EXPECT_THROW(names_in_archive(folder.write("wide", zip.text)), std::runtime_error);
}

}  // namespace
}  // namespace tensoa::package
