// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tensoa::remote {

/// Makes models of services known to Model: `grpc://host:8001/network`, several servers
/// `grpc://a:8001,b:8001/network/3` (version 3), encrypted `grpcs://…`; without a port, 8001. The servers speak
/// KServe v2 over gRPC in Triton's form: NVIDIA Triton, or others; live, ready, metadata and infer are enough.
///
///     remote::register_engines();
///     Model<> model("grpc://farm:8001/network", remote::Options{.fallback = "network.pt2"});
///     auto plan = model.plan(metadata);
///     model.submit(queue, plan, completion);
///
/// Long columns go from their collection to the socket without a copy, answers into the bound columns with
/// one. `submit` does not wait; the completion is called by a completion thread, two for the process. `forward`
/// waits for the answer.
///
/// Columns on a GPU: the call is sent when the work that its queue has is done. They pass through pinned host
/// memory, or stay on the GPU (SharedDeviceMemory); in both cases copies are enqueued on the queue of the call until
/// its completion, in the thread of `submit` or a completion thread. Other than with a model on the GPU, work that is
/// enqueued after `submit` does not wait for the completion: let it neither write the inputs nor read the outputs before.
///
/// A call is sent again where that can help, to another server first (Retry); the server with the fewest calls
/// in flight is next. When no server answers in time the fallback runs, if there is one, else the call is a
/// ServiceError. A reply that does not fit is not an answer either. Columns are written once, or not at all; but outputs in SharedMemory
/// are written by the server, and so also by one whose reply is refused (docs/service.md).
///
/// All answers are of one model file: servers with tensoa's back-end are compared by its checksum and columns when the
/// model is loaded and in each reply, others by what they publish (platform, versions, tensors). A server that has another one gets no
/// calls; OnNewVersion is for the case that all have.
///
/// Calling it twice is harmless. Include <tensoa/remote/options.hpp> for the options.
void register_engines();

}  // namespace tensoa::remote
