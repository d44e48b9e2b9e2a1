// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/result_file.hpp"
#include "tensoa/core/device.hpp"

namespace tensoa::bench {

/// The options of a benchmark.
struct BenchOptions {
  std::vector<std::string> inputs = {"generate:1"};                 ///< over events
  std::string model;                                                ///< file, over events
  std::vector<std::string> models;                                  ///< files, of `path`
  std::string of = "hits";                                          ///< what `path` runs over
  std::vector<std::size_t> batch = {1};                             ///< events of a call, of `path`
  std::vector<std::size_t> rows = {1, 1'000, 100'000, 10'000'000};  ///< of collections
  std::string packages;                                             ///< folder, of `forward`
  std::vector<int> threads = {1, 4};               ///< of `track`, `pipeline`, `path`, `forest`
  std::vector<int> events_per_thread = {1, 2, 4};  ///< of `track`
  std::vector<double> edge_room;                   ///< of `track`
  std::string features;                            ///< file, of `forest`
  std::string xgboost, xgboost_cuda, lightgbm, onnxruntime;  ///< libraries, of `forest`, `path`
  std::string fastforest, rbdt;                              ///< the same
  std::string server;                                        ///< of `service`
  std::string python, python_client;                         ///< of `service`
  std::string device = "auto";
  bool on_all_gpus = false;        ///< of `pipeline`
  std::size_t events = 1'000'000;  ///< of `latency`
  int repeats = 10;
};

/// `models` on columns where they lie (`in_place`) against the same models on packed blocks (PackingBaseline): packed by the
/// host (on the CPU `pack`, on a GPU, where the columns lie in device memory, `host_roundtrip`), and on a GPU also by the GPU
/// (`pack_on_device`). The columns are those of graphs (`of` "hits": `tensoa track`, "fragments": `tensoa merge`), each as
/// batches of equal events, or of `rows` rows. First calls as a whole (`total`), then stage by stage, with a wait at
/// the end of each stage. `saved_ms` of a way: what the same model in place takes less. On the CPU processor time of the
/// thread; `threads` run at the same time, each with its own columns, and a figure is a thread's over their number.
/// `max_abs_error`: the largest difference from the answers of the first model in place.
/// @throws LoadError for a model of another application
std::vector<ResultRow> bench_path(const BenchOptions& options);

/// The scores of the model on the CPU, and on the GPU where there is one, against a float64
/// evaluation of the same file.
std::vector<ResultRow> bench_accuracy(const BenchOptions& options);

/// Tensors over columns where they lie, made and bound again, against the bare library call and the
/// packing baseline; on the CPU, and on the GPU where there is one. Needs torch.
/// @throws ConfigError in a build without torch
std::vector<ResultRow> bench_binding(const BenchOptions& options);

/// The track pipeline on a GPU, hits in memory to tracks in memory: the graph built on the host against
/// the whole event on the device. Stages one by one, then the time per event (`total`) for numbers of
/// threads, which is the inverse of events per second: threads that block while they wait for the GPU,
/// and, as `suspended_N`, threads that work on N events in turns. `masked_X` and `masked_X_N` have room for X times the
/// edges of the largest event, and do not wait for their number; `cuda_graph_X` launch such an event as one graph. Where there are several GPUs, each way also
/// runs on 1, 2, 4 and 8 of them (`gpus`), with the same number of threads on each.
std::vector<ResultRow> bench_track(const BenchOptions& options);

/// One call of each kind of model on the same columns: through the host or packed, TorchScript with
/// its copy, packages, plain and fused; the multi-layer perceptron over `rows`, the graph network
/// over `inputs`; on the CPU, and on the GPU where there is one. With errors against float64.
std::vector<ResultRow> bench_forward(const BenchOptions& options);

/// Calls per second of fused packages, from one host thread for each queue: the multi-layer
/// perceptron over `rows`, the graph network over `inputs`; threads of the CPU, 1 to 32 queues on one
/// GPU, and several GPUs. With each its ceilings, which the help of the command explains. Then the
/// memory of a further queue, what grows over 10 000 calls, and how many calls return while their
/// queue is blocked.
std::vector<ResultRow> bench_scaling(const BenchOptions& options);

/// Tree files (`inputs`) on float32 columns, in calls of `rows` rows of `features`, other ones from call to call,
/// against the libraries that are given and a plain traversal, which get a row-major matrix that lies there already.
/// `threads` call at the same time; times are processor time of the process for each call, so that other processes do not
/// count. Answers are margins; rows of peers state how far they are from ours. Before it the time to load.
/// @throws EngineError where an answer is not XGBoost's to the last bit
std::vector<ResultRow> bench_forest(const BenchOptions& options);

/// Module graphs whose modules keep a core or a GPU busy for a given time, with `threads`. On the CPU: what the
/// scheduler itself takes, and 100 us of work against the same work without a scheduler. On a GPU: 50 us, 500 us and
/// 5 ms of one warp, so that the GPU takes all events at the same time, by each way of waiting with 1, 2 and 4 events in
/// flight a thread, against threads that block; latencies from the source to the end of the modules. With `on_all_gpus`
/// instead 100 us and 5 ms on one GPU, and on it and all after it, in turns.
std::vector<ResultRow> bench_pipeline(const BenchOptions& options);

/// Reading the events of Parquet and Arrow files (`inputs`; from the page cache, one thread, processor time) as
/// `tensoa track` does, against Arrow's own reader on the same columns: nanoseconds a byte of these columns, decoded.
/// The work of bench_pipeline where it has inputs.
std::vector<ResultRow> bench_reading(const BenchOptions& options);

/// Events of 1, 16 and 256 rows, 16 in flight, through the multi-layer perceptron of `packages`, with `threads`: a call for
/// each event against calls for all that a Batcher has gathered, of events that lie one after another and of events whose
/// rows are copied together. What bench_pipeline does where it has packages.
std::vector<ResultRow> bench_batching(const BenchOptions& options);

/// The time that one event takes, and how it scatters: models (`inputs`) over `rows` rows of columns that were bound
/// before, event after event on one thread, `events` of each, through 256 buffers with different numbers. From before
/// the call until the answer is there; the first row is the same with nothing, on a GPU with a kernel that does
/// nothing, between the two readings of the clock. min and max of all events; `jitter_us` is p99.9 without the median.
/// @throws InputError for a file that does not state which columns it reads
std::vector<ResultRow> bench_latency(const BenchOptions& options);

/// Models of servers (`server`, else the environment variable TENSOA_TEST_TRITON): columns of 1 and 16 MiB against what a
/// client with generated code does and against the official Python client, small requests against bare gRPC calls of the same
/// bytes, 64 calls in flight against prebuilt requests, and the share of each server. Stages end in `wall` and `cpu`: the wall
/// time and the processor time of all threads of the client, of the same calls.
/// @throws ConfigError without a server, and in a build without remote/
std::vector<ResultRow> bench_service(const BenchOptions& options);

/// Writes what the packages of bench_forward are made for, one binding a model: FOLDER/NAME.json.
void describe_forward(const std::string& folder);

}  // namespace tensoa::bench
