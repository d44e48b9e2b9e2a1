// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The code of docs/binding.md, and what the page says about it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <tensoa/tensoa.hpp>
#include <tuple>
#include <utility>
#include <vector>

#if __has_include(<Eigen/Core>)
#include <Eigen/Core>
#define TENSOA_TEST_EIGEN 1
#endif

using namespace tensoa;

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// [layouts]
template <template <class> class F>
struct Point {
  F<float> x, y, z;  // mm
};

template <template <class> class F>
struct Hit {
  F<float> x, y, z;  // mm
  F<std::int32_t> layer;
  F<Vector<float, 3>> direction, normal;  // three planes each
  F<Matrix<float, 3, 3>> covariance;      // mm^2, nine planes, column-major
  F<Scalar<float>> field, radius;         // T and mm, one value for the whole collection
};

template <template <class> class F>
struct Edge {
  F<std::int64_t> source, target;  // rows of the hits
  F<float> score;
};

template <template <class> class F>
struct Track {
  F<float> pt;  // GeV
  F<Vector<float, 3>> momentum;
  F<std::int32_t> first_hit;  // track t is the hits first_hit[t] to first_hit[t + 1]
  F<Sub<Point>> origin;       // the columns of Point, as part of this layout
};

template <template <class> class F>
struct Collision {
  F<Block<Hit>> hits;  // each with its own length
  F<Block<Edge>> edges;
  F<Block<Track>> tracks;
};
// [/layouts]

const Device device = Device::cpu();
const std::string kModels = TENSOA_TEST_MODELS;

// One pitch, P, for the float columns of the hits and tracks and for the edges' int64.
constexpr std::size_t n_hits = 100;
constexpr std::size_t n_edges = 120;
constexpr std::size_t n_tracks = 110;
constexpr std::int64_t P = 128;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class Call>
void expect_error(const std::string& message, const Call& call) {
  EXPECT_THAT(call, ThrowsMessage<BindingError>(HasSubstr(message)));
}

/// n hits at (i, 10 i, 100 i), all other columns zero.
PortableCollection<Hit> hits_of(std::size_t n) {
  PortableCollection<Hit> hits(n, device);
  std::fill_n(hits.data(), hits.bytes(), std::byte{0});
  const auto v = hits.view();
  for (std::size_t i = 0; i < n; ++i) {
    v.x[i] = static_cast<float>(i);
    v.y[i] = 10 * v.x[i];
    v.z[i] = 100 * v.x[i];
  }
  return hits;
}

// ---- 1, 2: layouts, filling, reading

TEST(BindingPage, ACollectionIsFilledByColumnsAndByRows) {
  // [collections]
  PortableCollection<Hit> hits(n_hits, device);  // room for n_hits rows, not initialised
  PortableCollection<Collision> event({n_hits, n_edges, n_tracks}, device);  // three lengths
  // [/collections]
  EXPECT_EQ(event.view().edges.size(), n_edges);

  // [fill]
  const auto v = hits.view();  // View<Hit>, trivially copyable: kernels take it by value
  for (std::size_t i = 0; i < v.size(); ++i) {
    v.x[i] = v.y[i] = static_cast<float>(i);
    v.direction[i][2] = 1.F;       // component 2 of vector i
    v.covariance[i](0, 1) = 0.5F;  // row 0, column 1 of matrix i
    auto hit = row(v, i);          // real references
    hit.z = hit.x + hit.y;
  }
  *v.field = 3.8F;
  hits.resize(n_hits - 10);  // fewer rows, same memory; views made before keep their size
  // [/fill]

  const auto c = hits.const_view();
  EXPECT_EQ(c.size(), n_hits - 10);
  EXPECT_EQ(c.z[7], 14.F);
  EXPECT_EQ(c.direction.plane(2)[7], 1.F);
  EXPECT_EQ(c.covariance.plane(0, 1)[7], 0.5F);
  EXPECT_EQ(*c.field, 3.8F);
}

/// The columns "native" and "ours" of the page's table, and what is wrong at run time.
TEST(BindingPage, NativeAndOursAreTheSame) {
  PortableCollection<Hit> hits = hits_of(n_hits);
  PortableCollection<Hit> other(n_hits, device);
  const Queue queue(device);
  const auto v = hits.view();
  const std::size_t n = v.size();
  const std::size_t pitch = P;
  float* x = v.x.data();
  float* y = x + pitch;
  float* z = y + pitch;
  float* covariance = v.covariance.data();
  for (const std::size_t i : {0U, 7U, 99U}) {
    EXPECT_EQ(&x[i], &v.x[i]);
    const std::array native{x[i], y[i], z[i]};
    const auto hit = row(v, i);
    EXPECT_EQ(native, (std::array{hit.x, hit.y, hit.z}));
    const std::size_t r = 2;
    const std::size_t c = 1;
    EXPECT_EQ(&covariance[(r + 3 * c) * pitch + i], &v.covariance[i](r, c));
  }
  EXPECT_EQ(x + 10, slice(v, 10, 30).x.data());

  copy(queue, hits, other);
  std::vector<float> column(n);
  std::memcpy(column.data(), x, n * sizeof(float));
  EXPECT_TRUE(std::equal(column.begin(), column.end(), other.const_view().x.data()));

  const auto hit = v.records();
  SoAMetadata<Hit> inputs(n);
  inputs.append_block("x", hit.x(), hit.y(), hit.z());
  const TensorView& tensor = inputs.blocks()[0].tensor;
  EXPECT_EQ(tensor.data, x);
  EXPECT_THAT(tensor.sizes(), ElementsAre(n, 3));
  EXPECT_THAT(tensor.strides(), ElementsAre(1, pitch));
  inputs.append_block(Repack{DType::kF32}, "mixed", hit.z(), hit.layer());

  expect_error("slice: 30 rows from row 80 on are not in a view of 100 rows",
               [&] { (void)slice(v, 80, 30); });
  expect_error("the columns lie -512 bytes apart; one tensor needs equal, ascending distances",
               [&] { inputs.append_block("yx", hit.y(), hit.x()); });
  expect_error("the columns of a block must be of one kind, dtype and shape",
               [&] { inputs.append_block("zl", hit.z(), hit.layer()); });
}

// ---- 3: columns of the caller's own memory

TEST(BindingPage, ViewsOverForeignMemory) {
  const std::size_t n = 10;
  const std::size_t pitch = 12;
  std::vector<float> block(3 * pitch);
  float* memory = block.data();
  // [foreign]
  // a vector for each column, or any mixture of ranges and pointers
  std::vector<float> x(n), y(n), z(n);
  const auto points = foreign_view<Point>(n, device, x, y, z.data());

  // one allocation with a pitch of your own
  const auto planes = foreign_view<Point>(n, device, memory, memory + pitch, memory + 2 * pitch);
  // [/foreign]
  EXPECT_EQ(points.y.data(), y.data());
  const auto point = planes.records();
  SoAMetadata<Point> inputs(n);
  inputs.append_block("points", point.x(), point.y(), point.z());
  EXPECT_EQ(inputs.blocks()[0].tensor.data, memory);
  EXPECT_THAT(inputs.blocks()[0].tensor.strides(), ElementsAre(1, pitch));
}

template <template <class> class F>
struct Jet {
  F<float> pt;
  F<Vector<float, 3>> momentum;
};

TEST(BindingPage, ViewsOverEigenMatrices) {
#ifdef TENSOA_TEST_EIGEN
  const std::int64_t n = 10;
  // [eigen]
  Eigen::VectorXf pt(n);
  Eigen::MatrixX3f momentum(n, 3);  // column-major, as Eigen's default is
  const auto jets = foreign_view<Jet>(n, device, pt, momentum);
  // [/eigen]
  EXPECT_EQ(&jets.momentum[7][2], &momentum(7, 2));
#else
  GTEST_SKIP() << "no Eigen";
#endif
}

/// Columns as CMSSW's SoATemplate describes them, by the names of their members.
enum class SoAColumnType { scalar, column, eigen };
template <class T>
struct CmsColumn {
  static constexpr SoAColumnType columnType = SoAColumnType::column;
  using ValueType = T;
  const T* addr_;
};

class CmsRecords {
 public:
  CmsRecords(const std::vector<float>& memory, std::size_t n) : memory_(memory), n_(n) {}
  auto x() const { return column(0); }
  auto y() const { return column(1); }
  auto z() const { return column(2); }

 private:
  std::tuple<CmsColumn<float>, std::size_t> column(std::size_t plane) const {
    return {{memory_.data() + plane * 32}, n_};
  }

  const std::vector<float>& memory_;
  std::size_t n_;
};

TEST(BindingPage, ViewsOverCmsswColumns) {
  const std::size_t n = 10;
  const std::vector<float> memory(96);
  const CmsRecords records(memory, n);
  // [cmssw]
  // const auto records = soa_view.records();
  const auto points = foreign_const_view<Point>(n, device, records.x(), records.y(), records.z());
  // [/cmssw]
  EXPECT_EQ(points.z.data(), memory.data() + 64);
}

// ---- 4: blocks to tensors

/// "[n_hits, 3] (1, P)": sizes and strides in the words of the page; the stride of a dimension of
/// one element has no meaning.
std::string shape_of(const TensorView& tensor) {
  const auto size = [](std::int64_t value) {
    return value == n_hits     ? "n_hits"
           : value == n_edges  ? "n_edges"
           : value == n_tracks ? "n_tracks"
                               : std::to_string(value);
  };
  const auto stride = [&](std::size_t dim) {
    const std::int64_t value = tensor.stride_of_dim[dim];
    if (tensor.size_of_dim[dim] == 1) return std::string("-");
    if (value == 0 || value % P != 0) return std::to_string(value);
    return value == P ? "P" : std::to_string(value / P) + " P";
  };
  std::string sizes;
  std::string strides;
  for (std::size_t dim = 0; dim < tensor.rank; ++dim) {
    sizes += (dim > 0 ? ", " : "") + size(tensor.size_of_dim[dim]);
    strides += (dim > 0 ? ", " : "") + stride(dim);
  }
  return "[" + sizes + "] (" + strides + ")";
}

TEST(BindingPage, ShapesInTheCommentsAreThoseOfTheTensors) {
  PortableCollection<Collision> event({n_hits, n_edges, n_tracks + 1}, device);
  event.resize({n_hits, n_edges, n_tracks});
  // clang-format off
  // [tensors]
  const auto v = event.const_view();
  const auto hit = v.hits.records();
  const auto edge = v.edges.records();
  const auto track = v.tracks.records();

  SoAMetadata<Hit, Edge, Track> inputs(n_hits, n_edges, n_tracks);                        // sizes           (strides)
  inputs.append_block("plain", hit.x(), hit.y(), hit.z());                                // [n_hits, 3]     (1, P)
  inputs.append_block("every second", hit.x(), hit.z());                                  // [n_hits, 2]     (1, 2 P)
  inputs.append_block("one", hit.layer());                                                // [n_hits, 1]     (1, -)
  inputs.append_block("vector", hit.direction());                                         // [n_hits, 3]     (1, P)
  inputs.append_block("vectors", hit.direction(), hit.normal());                          // [n_hits, 2, 3]  (1, 3 P, P)
  inputs.append_block("matrix", hit.covariance());                                        // [n_hits, 3, 3]  (1, P, 3 P)
  inputs.append_block("scalar", hit.field());                                             // [n_hits, 1]     (0, -)
  inputs.append_block("scalars", hit.field(), hit.radius());                              // [n_hits, 2]     (0, 32)
  inputs.append_block("sub", track.origin.x(), track.origin.y());                         // [n_tracks, 2]   (1, P)
  inputs.append_block(BlockShape::kColumns, "edge_index", edge.source(), edge.target());  // [2, n_edges]    (P, 1)
  // [/tensors]
  // clang-format on

  const std::string page = text_of(TENSOA_TEST_PAGE);
  for (const BoundBlock& block : inputs.blocks()) {
    EXPECT_NE(block.tensor.data, nullptr);
    const std::regex line("append_block\\(.*\"" + block.name +
                          R"(".*\); *// (\[.*\]) +(\(.*\))\n)");
    std::smatch comment;
    ASSERT_TRUE(std::regex_search(page, comment, line)) << block.name;
    EXPECT_EQ(comment.str(1) + ' ' + comment.str(2), shape_of(block.tensor)) << block.name;
  }
}

// ---- 5: copies

TEST(BindingPage, ReportsSayWhatWasCopiedAndWhy) {
  PortableCollection<Hit> hits = hits_of(n_hits);
  PortableCollection<Edge> edges(n_edges, device);
  const Queue queue(device);
  const auto e = edges.view();
  for (std::size_t i = 0; i < n_edges; ++i) {
    e.source[i] = static_cast<std::int64_t>(i % n_hits);
    e.target[i] = 0;
  }
  // [forward]
  auto model = Model<CompilationType::kJustInTime>(kModels + "edge_score.pt");
  model.to(queue);

  const auto hit = hits.const_view().records();
  const auto edge = edges.view().records();
  SoAMetadata<Hit, Edge> inputs(n_hits, n_edges);
  inputs.append_block("x", hit.x(), hit.y(), hit.z());
  inputs.append_block(BlockShape::kColumns, "edge_index", edge.source(), edge.target());
  SoAMetadata<Edge> outputs(n_edges);
  outputs.append_block("score", edge.score());

  const CopyReport report = model.forward(ModelMetadata(inputs, outputs));
  EXPECT_EQ(to_string(report), "0 bytes in, 480 bytes out (the engine allocates its outputs)");
  // [/forward]
  for (std::size_t i = 0; i < n_edges; ++i) {
    EXPECT_EQ(e.score[i], 111.F * static_cast<float>(i % n_hits));
  }

  // [repack]
  SoAMetadata<Hit, Edge> repacked(n_hits, n_edges);
  repacked.append_block(Repack{DType::kF32}, "x", hit.z(), hit.x(), hit.layer());
  repacked.append_block(BlockShape::kColumns, "edge_index", edge.source(), edge.target());

  EXPECT_EQ(to_string(model.forward(ModelMetadata(repacked, outputs))),
            "1200 bytes in, 480 bytes out (a block is repacked, the engine allocates its outputs)");
  // [/repack]
  EXPECT_EQ(e.score[7], 101.F * 7.F);
}

TEST(BindingPage, AModelThatWritesItsInputWorksOnACopy) {
  PortableCollection<Hit> hits = hits_of(n_hits);
  PortableCollection<Point> points(n_hits, device);
  const Queue queue(device);
  Model<> model(kModels + "doubles.pt");
  model.to(queue);
  const auto hit = hits.const_view().records();
  const auto point = points.view().records();
  SoAMetadata<Hit> inputs(n_hits);
  inputs.append_block("x", hit.x());
  SoAMetadata<Point> outputs(n_hits);
  outputs.append_block("twice", point.y());
  EXPECT_EQ(to_string(model.forward(ModelMetadata(inputs, outputs))),
            "400 bytes in, 400 bytes out (the model may write an input, the engine allocates its "
            "outputs)");
  EXPECT_EQ(hits.const_view().x[7], 7.F);
  EXPECT_EQ(points.const_view().y[7], 14.F);
}

// ---- 6, 9: ragged data, results by name

/// Hits 0 to 8; three tracks, of 3, 0 and 5 of them.
struct Tracks {
  Tracks() {
    tracks.resize(3);
    const auto t = tracks.view();
    for (const auto& [g, first] : {std::pair{0, 0}, {1, 3}, {2, 3}, {3, 8}}) {
      t.first_hit[static_cast<std::size_t>(g)] = first;
    }
  }

  PortableCollection<Hit> hits = hits_of(8);
  PortableCollection<Track> tracks{3 + 1, device};
};

TEST(BindingPage, AGroupIsAView) {
  Tracks event;
  auto& hits = event.hits;
  auto& tracks = event.tracks;
  // [group]
  const auto h = hits.const_view();
  const auto t = tracks.view();
  for (std::size_t i = 0; i < t.size(); ++i) {
    const auto hits_of_track = group(h, t.first_hit, i);  // ConstView<Hit>, nothing copied
    t.pt[i] = static_cast<float>(hits_of_track.size());
  }
  // [/group]
  EXPECT_EQ(std::vector(t.pt.data(), t.pt.data() + 3), (std::vector{3.F, 0.F, 5.F}));
  EXPECT_EQ(group(h, t.first_hit, 2).x[0], 3.F);
}

TEST(BindingPage, RaggedDataIsPaddedAndResultsGoByName) {
  Tracks event;
  auto& hits = event.hits;
  auto& tracks = event.tracks;
  const Queue queue(device);
  // [padded]
  const auto hit = hits.const_view().records();
  const auto track = tracks.view().records();
  SoAMetadata<Hit, Track> inputs(hits.size(), tracks.size());
  inputs.append_mask("mask", track.first_hit(), 4);                               // [3, 4] bool
  inputs.append_padded("hits", track.first_hit(), 4, hit.x(), hit.y(), hit.z());  // [3, 4, 3]
  SoAMetadata<Track> outputs(tracks.size());
  outputs.append_block("momentum", track.momentum());  // [3, 3]
  outputs.append_block("pt", track.pt());              // [3, 1]; takes [3] too

  Model<> model(kModels + "track_fit.pt");
  model.to(queue);
  EXPECT_EQ(to_string(model.forward(ModelMetadata(inputs, outputs, Match::kByName))),
            "156 bytes in, 48 bytes out (ragged data is made dense, the engine allocates its "
            "outputs)");
  // [/padded]
  EXPECT_EQ(inputs.blocks()[0].tensor.rank, 2);
  EXPECT_THAT(inputs.blocks()[1].tensor.sizes(), ElementsAre(3, 4, 3));
  const auto t = tracks.const_view();
  EXPECT_EQ(t.pt[0], 10.F);           // of 0, 1, 2
  EXPECT_EQ(t.pt[2], 45.F);           // of 3, 4, 5, 6, the first four
  EXPECT_EQ(t.momentum[2][1], 45.F);  // 10 times as far
}

TEST(BindingPage, RaggedDataIsSegmentedForModelsThatSum) {
  Tracks event;
  const Queue queue(device);
  auto& hits = event.hits;
  auto& tracks = event.tracks;
  const auto t = tracks.view();
  for (std::size_t i = 0; i < 3; ++i) t.origin.x[i] = t.origin.y[i] = t.origin.z[i] = 1.F;
  const auto hit = hits.const_view().records();
  const auto track = tracks.view().records();
  SoAMetadata<Hit, Track> inputs(hits.size(), tracks.size());
  inputs.append_block("x", hit.x(), hit.y(), hit.z());
  // [segments]
  inputs.append_segments<Hit>("batch", track.first_hit());  // [n_hits] int64: 0 0 0 2 2 2 2 2
  // [/segments]
  inputs.append_block("start", track.origin.x(), track.origin.y(), track.origin.z());
  SoAMetadata<Track> outputs(tracks.size());
  outputs.append_block("sum", track.momentum());
  Model<> model(kModels + "track_sum.pt");
  model.to(queue);
  const CopyReport report = model.forward(ModelMetadata(inputs, outputs));
  EXPECT_EQ(report.bytes_in, 8 * sizeof(std::int64_t));
  EXPECT_EQ(t.momentum[0][0], 1.F + 0.F + 1.F + 2.F);
  EXPECT_EQ(t.momentum[1][0], 1.F);
  EXPECT_EQ(t.momentum[2][0], 1.F + 3.F + 4.F + 5.F + 6.F + 7.F);
}

// ---- 7, 8: batches, plans

TEST(BindingPage, BatchesAndPlans) {
  PortableCollection<Hit> hits = hits_of(n_hits);
  PortableCollection<Point> points(n_hits, device);
  const Queue queue(device);
  Model<> model(kModels + "doubles.pt");
  const auto hit = hits.const_view().records();
  const auto point = points.view().records();
  SoAMetadata<Hit> inputs(n_hits);
  inputs.append_block("x", hit.x(), hit.y());
  SoAMetadata<Point> outputs(n_hits);
  outputs.append_block("twice", point.x(), point.y());
  const ModelMetadata metadata(inputs, outputs);

  // [batches]
  auto plan = model.plan(metadata);
  model.forward_batches(queue, plan, 32);  // rows 0 to 31, 32 to 63, 64 to 95, 96 to 99
  // [/batches]
  EXPECT_EQ(points.const_view().y[99], 2 * 990.F);

  std::vector<PortableCollection<Hit>> events;
  for (const std::size_t rows : {5U, 0U, 80U}) events.push_back(hits_of(rows));
  std::vector<float> last;
  // [slices]
  const std::size_t first = 31;  // any row, no alignment is requested
  plan.rebind(slice(hits.const_view(), first, 3), slice(points.view(), 0, 3));
  model.forward(queue, plan);
  // [/slices]
  EXPECT_EQ(points.const_view().x[2], 2 * 33.F);
  // [plan]
  for (const auto& event : events) {
    points.resize(event.size());
    plan.rebind(event.const_view(), points.view());  // one view for each layout, inputs first
    model.forward(queue, plan);
    // [/plan]
    last.push_back(event.size() == 0 ? -1.F : points.const_view().x[event.size() - 1]);
    // [plan]
  }
  // [/plan]
  EXPECT_THAT(last, ElementsAre(2 * 4.F, -1.F, 2 * 79.F));

  const std::string new_weights = kModels + "doubles.pt";
  // [reload]
  model.reload(new_weights);
  model.forward(queue, plan);  // the same plan, with the new weights
  // [/reload]
  EXPECT_EQ(points.const_view().x[79], 2 * 79.F);
}

// ---- 11: errors

class BindingPageErrors : public testing::Test {
 protected:
  PortableCollection<Hit> hits_ = hits_of(n_hits);
  PortableCollection<Edge> edges_{n_edges, device};
  PortableCollection<Track> tracks_{n_tracks, device};
  Records<Hit> hit_ = hits_.view().records();
  Records<Edge> edge_ = edges_.view().records();
  Records<Track> track_ = tracks_.view().records();
  SoAMetadata<Hit> inputs_{n_hits};
  SoAMetadata<Edge> outputs_{n_edges};
};

TEST_F(BindingPageErrors, OfAppendBlock) {
  expect_error("the columns of a block must be of one kind, dtype and shape",
               [&] { inputs_.append_block("x", hit_.x(), hit_.field()); });
  expect_error("only plain columns can be the rows of a [k, n] tensor",
               [&] { inputs_.append_block(BlockShape::kColumns, "direction", hit_.direction()); });
  expect_error("130 rows are requested, the collection has room for 120", [&] {
    SoAMetadata<Edge> metadata(130);
    metadata.append_block("score", edge_.score());
  });
  expect_error("x and y come from two collections; all columns of a block come from one", [&] {
    PortableCollection<Hit> other(n_hits, device);
    inputs_.append_block("x", hit_.x(), other.view().records().y());
  });
  inputs_.append_block("x", hit_.x());
  expect_error("a block of this name is there already",
               [&] { inputs_.append_block("x", hit_.y()); });
}

TEST_F(BindingPageErrors, OfRaggedForms) {
  SoAMetadata<Hit, Track> inputs(n_hits, n_tracks);
  expect_error("the offsets pt are plain float32; expected a plain column of int32 or int64",
               [&] { inputs.append_mask("mask", track_.pt(), 4); });
  expect_error("the collection has room for 110; make it one row larger",
               [&] { inputs.append_mask("mask", track_.first_hit(), 4); });

  Tracks event;
  const Queue queue(device);
  const auto hit = event.hits.view().records();
  const auto track = event.tracks.view().records();
  event.tracks.view().first_hit[3] = 9;
  SoAMetadata<Hit, Track> padded(8, 3);
  padded.append_padded("hits", track.first_hit(), 4, hit.x());
  padded.append_mask("mask", track.first_hit(), 4);
  SoAMetadata<Track> outputs(3);
  outputs.append_block("pt", track.pt());
  outputs.append_block("momentum", track.momentum());
  Model<> model(kModels + "track_fit.pt");
  expect_error(
      "the offset first_hit[3] is 9; expected ascending offsets from 0 to the 8 rows of the "
      "collection",
      [&] { model.forward(queue, model.plan(ModelMetadata(padded, outputs))); });
}

TEST_F(BindingPageErrors, OfTheMetadata) {
  inputs_.append_block("x", hit_.x());
  expect_error("an output is bound to a const view; use view() instead of const_view()", [&] {
    outputs_.append_block("score", edges_.const_view().records().score());
    const ModelMetadata metadata(inputs_, outputs_);
  });
  expect_error("an output is bound to a scalar, which cannot hold 100 rows; use a column", [&] {
    SoAMetadata<Hit> outputs(n_hits);
    outputs.append_block("field", hit_.field());
    const ModelMetadata metadata(inputs_, outputs);
  });
  expect_error("all blocks of a call lie on one device", [&] {
    float* const on_the_gpu = hits_.view().x.data();  // as the caller says; nothing is read
    const auto points =
        foreign_view<Point>(3, Device::cuda(0), on_the_gpu, on_the_gpu + 3, on_the_gpu + 6);
    SoAMetadata<Point> outputs(3);
    outputs.append_block("points", points.records().x());
    const ModelMetadata metadata(inputs_, outputs);
  });
}

TEST_F(BindingPageErrors, OfCalls) {
  const Queue queue(device);
  Model<> model(kModels + "edge_score.pt");
  SoAMetadata<Hit, Edge> inputs(n_hits, n_edges);
  inputs.append_block("x", hit_.x(), hit_.y(), hit_.z());
  outputs_.append_block("score", edge_.score());
  expect_error("takes 2 inputs (x, edge_index), got 1 blocks",
               [&] { model.forward(queue, model.plan(ModelMetadata(inputs, outputs_))); });
  SoAMetadata<Hit, Edge> misnamed(n_hits, n_edges);
  misnamed.append_block("hits", hit_.x(), hit_.y(), hit_.z());
  misnamed.append_block(BlockShape::kColumns, "x", edge_.source(), edge_.target());
  expect_error("takes 2 inputs (x, edge_index), got block \"x\" as number 2; name all blocks",
               [&] { model.forward(queue, model.plan(ModelMetadata(misnamed, outputs_))); });

  std::fill_n(edges_.data(), edges_.bytes(), std::byte{0});
  inputs.append_block(BlockShape::kColumns, "edge_index", edge_.source(), edge_.target());
  expect_error(
      "gives float32[120] on cpu for output block \"x\" (columns x, y, z), which is "
      "float32[100, 3] on cpu",
      [&] {
        SoAMetadata<Hit> outputs(n_hits);
        outputs.append_block("x", hit_.x(), hit_.y(), hit_.z());
        model.forward(queue, model.plan(ModelMetadata(inputs, outputs)));
      });
  expect_error("batches need blocks of equal length", [&] {
    model.forward_batches(queue, model.plan(ModelMetadata(inputs, outputs_)), 32);
  });

  const Plan plan = model.plan(ModelMetadata(inputs, outputs_));
  {
    SoAMetadata<Edge> twice = outputs_;
    twice.append_block("again", edge_.score());
    expect_error("are written to the same memory; outputs need columns of their own",
                 [&] { ModelMetadata(inputs, twice); });
  }
  outputs_.append_block("target", edge_.target());
  expect_error("gives 1 outputs, got 2 output blocks",
               [&] { model.forward(queue, model.plan(ModelMetadata(inputs, outputs_))); });
  Plan half = plan;
  EXPECT_THROW(half.rebind(hits_.view(), edges_.view(), edges_.const_view()), BindingError);
  expect_error("the last rebind of this plan failed; rebind it before the next call",
               [&] { model.forward(queue, half); });
  hits_.resize(n_hits - 1);
  expect_error("its collection was resized after it was bound",
               [&] { model.forward(queue, plan); });
  expect_error("the collection of its columns was resized after the view was made",
               [&] { inputs_.append_block("x", hit_.x()); });
  hits_ = hits_of(n_hits);
  expect_error(
      "the collection that it was bound to is gone (destroyed, or another was moved into it)",
      [&] { model.forward(queue, plan); });
  expect_error("the collection of its columns is gone; make the view again",
               [&] { inputs_.append_block("x", hit_.x()); });
}

TEST_F(BindingPageErrors, OfResultsByName) {
  Tracks event;
  const Queue queue(device);
  const auto hit = event.hits.view().records();
  const auto track = event.tracks.view().records();
  SoAMetadata<Hit, Track> inputs(8, 3);
  inputs.append_padded("hits", track.first_hit(), 4, hit.x(), hit.y(), hit.z());
  inputs.append_mask("mask", track.first_hit(), 4);
  SoAMetadata<Track> outputs(3);
  outputs.append_block("charge", track.pt());
  outputs.append_block("momentum", track.momentum());
  Model<> model(kModels + "track_fit.pt");
  expect_error(
      "gives an output called \"pt\", got output blocks called charge, momentum; name them as the "
      "outputs",
      [&] { model.forward(queue, model.plan(ModelMetadata(inputs, outputs, Match::kByName))); });
}

TEST_F(BindingPageErrors, OfViews) {
  std::vector<float> x(9);
  std::vector<float> y(10);
  expect_error("column x (plain float32): the source holds 9 rows; 10 needed",
               [&] { (void)foreign_view<Point>(10, device, x, y, y); });
  expect_error("the source is a null pointer",
               [&] { (void)foreign_view<Point>(10, device, static_cast<float*>(nullptr), y, y); });
  expect_error("overlaps column x", [&] { (void)foreign_view<Point>(10, device, y, y, y); });
#ifdef TENSOA_TEST_EIGEN
  Eigen::VectorXf pt(3);
  Eigen::Matrix<float, 3, 3, Eigen::RowMajor> momentum;
  expect_error("the source is row-major; tensoa's planes are column-major",
               [&] { (void)foreign_view<Jet>(3, device, pt, momentum); });
#endif
}

}  // namespace
