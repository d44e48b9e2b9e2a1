/* SPDX-FileCopyrightText: 2026 The tensoa authors */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSOA_H
#define TENSOA_H

#include <stddef.h>
#include <stdint.h>

/** @file
 * Models on columns where they lie, for C and for what can call C: libtensoa.so. C99 and C++; tensoa.f90 is for Fortran.
 *
 *     tensoa_model* model;
 *     tensoa_call* call;
 *     float x[1000], y[1000], score[1000];
 *     if (tensoa_load("model.pt2", "cpu", &model) || tensoa_new_call(model, NULL, &call)) return fail(tensoa_last_error());
 *     tensoa_bind(call, "x", x, TENSOA_F32, sizeof *x, 1000);
 *     tensoa_bind(call, "y", y, TENSOA_F32, sizeof *y, 1000);
 *     tensoa_bind(call, "score", score, TENSOA_F32, sizeof *score, 1000);
 *     if (tensoa_run(call)) return fail(tensoa_last_error());
 *
 * Packages, tree files, ONNX files, and models of servers ("grpc://HOST:PORT/MODEL", with the default options and without
 * authentication). TorchScript and programs of torch.export need C++ or Python, or a package: `tensoa compile MODEL --out FILE.pt2`.
 *
 * *Errors*: functions that can fail return a status, 0 for success, and leave outputs untouched (an ONNX file that fails while it
 * runs may have written a part). tensoa_last_error() returns what is wrong and what to do. No exception of C++ gets out, and none
 * ends the process.
 * *Threads*: a model and a queue may be used by any number of threads; a call belongs to one thread at a time.
 * *Handles*: NULL where one is expected is TENSOA_CONFIG_ERROR, to free NULL does nothing. In a build without NDEBUG, a handle that was
 * freed is TENSOA_CONFIG_ERROR, too; else using one is undefined.
 * *Versions*: a program works with each library of the same TENSOA_ABI; the symbols have the version TENSOA_1. */

#ifdef __cplusplus
extern "C" {
#endif

/** Of this header. Functions are only added while it stays the same. */
#define TENSOA_ABI 1

typedef enum tensoa_status {
  TENSOA_OK = 0,
  TENSOA_CONFIG_ERROR = 1,      /**< a call that can never work: an unknown name, a NULL handle, name or place, an index out of range */
  TENSOA_INPUT_ERROR = 2,       /**< data that cannot be used */
  TENSOA_OUTPUT_ERROR = 3,      /**< a file that cannot be written */
  TENSOA_LOAD_ERROR = 4,        /**< a model that is absent, damaged, or of another kind */
  TENSOA_BINDING_ERROR = 5,     /**< columns that do not fit the model */
  TENSOA_DEVICE_ERROR = 6,      /**< a device that is not there or failed */
  TENSOA_DEVICE_FULL_ERROR = 7, /**< its memory does not suffice; it works on */
  TENSOA_DEVICE_LOST_ERROR = 8, /**< the process can use it no more */
  TENSOA_ENGINE_ERROR = 9,      /**< a model that failed while it ran */
  TENSOA_MEMORY_ERROR = 10,     /**< the host's memory does not suffice */
  TENSOA_BUG = 11               /**< please report it */
} tensoa_status;

typedef enum tensoa_dtype {
  TENSOA_BOOL = 1, /**< a byte, 0 or 1 */
  TENSOA_U8 = 2,
  TENSOA_I8 = 3,
  TENSOA_I16 = 4,
  TENSOA_I32 = 5,
  TENSOA_I64 = 6,
  TENSOA_F16 = 7,
  TENSOA_BF16 = 8,
  TENSOA_F32 = 9,
  TENSOA_F64 = 10
} tensoa_dtype;

typedef struct tensoa_model tensoa_model; /**< a model on a device */
typedef struct tensoa_call tensoa_call;   /**< what one thread calls it with */
typedef struct tensoa_queue tensoa_queue; /**< work on a device, in order: a CUDA stream */

/** The release of the library, "0.1.0". */
const char* tensoa_version(void);

/** The message of the last function that failed in this thread, "" where none has. Valid until the next failure there. */
const char* tensoa_last_error(void);

/* ---- models */

/** Loads a model. One that this process has already on the device is not shared: load it once, and make a call for each thread.
 * @param path of a package, tree file or ONNX file, or the URL of a model of a server
 * @param device "cpu", "cuda:0", …; "auto": a GPU for a package that is for GPUs alone, else the CPU
 * @param abi TENSOA_ABI: another one is TENSOA_CONFIG_ERROR
 * @param model set to a handle, which tensoa_free_model() frees */
tensoa_status tensoa_load_abi(const char* path, const char* device, int abi, tensoa_model** model);

/** The same for the library of this header. */
static inline tensoa_status tensoa_load(const char* path, const char* device, tensoa_model** model) {
  return tensoa_load_abi(path, device, TENSOA_ABI, model);
}

/** Frees a model. Free its calls first: a call uses its model until it is freed. Waits for what is enqueued on its device. */
void tensoa_free_model(tensoa_model* model);

/** One column that a model reads or writes. */
typedef struct tensoa_column_info {
  const char* name;  /**< as tensoa_bind() accepts it; valid as long as the model */
  const char* block; /**< the argument or result that it is in; likewise */
  tensoa_dtype dtype;
  int32_t is_scalar; /**< has one element for all rows of its collection */
  /** Columns of one collection have the same number of rows. -1: always `rows` rows. */
  int32_t collection;
  int64_t rows;
} tensoa_column_info;

/** How many columns a model reads, or writes; 0 for NULL. */
size_t tensoa_inputs(const tensoa_model* model);
size_t tensoa_outputs(const tensoa_model* model);

/** Describes an input, or output. @param index from 0 on */
tensoa_status tensoa_describe_input(const tensoa_model* model, size_t index, tensoa_column_info* info);
tensoa_status tensoa_describe_output(const tensoa_model* model, size_t index, tensoa_column_info* info);

/** All that is known of the model, as JSON: what `tensoa inspect --json` writes. Valid as long as the model; NULL for NULL. */
const char* tensoa_describe(const tensoa_model* model);

/* ---- queues */

/** Makes a queue on a device: on a GPU a new stream. "auto" is the first GPU where there is one, else the CPU. @param queue set to a handle, which tensoa_free_queue() frees */
tensoa_status tensoa_new_queue(const char* device, tensoa_queue** queue);

/** Makes a queue of a stream of the caller's, `cudaStream_t` or `hipStream_t`, which outlives it. */
tensoa_status tensoa_borrow_stream(const char* device, void* stream, tensoa_queue** queue);

/** Waits for all work of a queue. The status is an error where it failed. */
tensoa_status tensoa_wait(const tensoa_queue* queue);

/** Calls `done(context, failure)` once, when all work that was enqueued so far is done (`failure` is NULL) or has failed (its
 * message, valid during the call). On the CPU immediately, in this thread; on a GPU in a thread of the driver: `done` must
 * not block, call the GPU's runtime or this library there, only hand over to a scheduler. */
tensoa_status tensoa_when_done(const tensoa_queue* queue, void (*done)(void* context, const char* failure), void* context);

/** Frees a queue; calls on it keep what they need. */
void tensoa_free_queue(tensoa_queue* queue);

/* ---- calls */

/** Makes a call: what a thread needs to run a model on a queue. Its memory grows with the largest
 * number of rows, and stays.
 * @param queue that may be freed before; NULL: the call's own queue
 * @param call set to a handle, which tensoa_free_call() frees, before its model */
tensoa_status tensoa_new_call(const tensoa_model* model, const tensoa_queue* queue, tensoa_call** call);

/** Sets where a column lies, from now on: element i begins at `data` + i * `stride`. Nothing is copied or read now.
 * @param name of an input or an output, as of tensoa_describe_input() and tensoa_describe_output()
 * @param data on the device of the call; memory of inputs is only read
 * @param stride bytes, of any sign; on a GPU a multiple of the element's size, 0 or more
 * @param count rows; of a scalar 1
 * @return TENSOA_CONFIG_ERROR for a name that the model does not have; TENSOA_BINDING_ERROR for another dtype (trees read any numbers,
 * and write float32 or float64), a negative count, NULL with rows, elements that overlap (a stride nearer to 0 than their size; inputs
 * may have 0), a count other than 1 of a scalar, on a GPU an address or a stride that is not a multiple of the element's size. What
 * was bound before stays. */
tensoa_status tensoa_bind(tensoa_call* call, const char* name, const void* data, tensoa_dtype dtype, int64_t stride, int64_t count);

/** The same by number, without looking for the name. @param index of tensoa_describe_input(), tensoa_describe_output() */
tensoa_status tensoa_bind_input(tensoa_call* call, size_t index, const void* data, tensoa_dtype dtype, int64_t stride, int64_t count);
tensoa_status tensoa_bind_output(tensoa_call* call, size_t index, void* data, tensoa_dtype dtype, int64_t stride, int64_t count);

/** Gives a scalar that the model reads its number, which lies in the host's memory and is copied now. */
tensoa_status tensoa_bind_number(tensoa_call* call, const char* name, const void* number, tensoa_dtype dtype);

/** Runs the model on the columns that are bound, where they lie. Trees read columns anywhere; a package those of an argument that lie
 * at equal distances in its order, as the columns of one array do, their elements side by side. Of others it works on copies, which
 * tensoa_last_copies() counts.
 * On the CPU the outputs are there when it returns. On a GPU the work is enqueued: the columns outlive it, and the outputs are
 * there when the queue has done it (tensoa_wait(), or the stream's own order). Columns may be bound again as soon as this returns.
 * @return TENSOA_BINDING_ERROR where a column is not bound, or columns of one collection differ in their rows */
tensoa_status tensoa_run(tensoa_call* call);

/** Waits for the queue of a call. */
tensoa_status tensoa_wait_for_call(const tensoa_call* call);

/** Bytes that the last run of a call copied to the model and back. */
tensoa_status tensoa_last_copies(const tensoa_call* call, size_t* bytes_in, size_t* bytes_out);

/** Frees a call. What it enqueued goes on. */
void tensoa_free_call(tensoa_call* call);

#ifdef __cplusplus
}
#endif

#endif
