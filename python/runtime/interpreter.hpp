// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

// The lock of the interpreter. An interpreter that shuts down ends a thread that wants it, up to Python 3.13 by unwinding the
// stack of the thread: Python objects there would be let go without the lock, "Fatal Python error". A thread that wants it back
// from here waits for the end of the process instead, as Python 3.14 has it (https://github.com/python/cpython/issues/87135). One
// that is ended while it runs Python code, below a call of ours, is still unwound.

namespace tensoa::python {

template <class Take>
auto take_or_wait_for_the_end(const Take& take) noexcept {
  try {
    return take();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
}

/// Without the interpreter, for as long as it lives.
class WithoutInterpreter {
 public:
  WithoutInterpreter() : state_(PyEval_SaveThread()) {}
  WithoutInterpreter(const WithoutInterpreter&) = delete;
  WithoutInterpreter& operator=(const WithoutInterpreter&) = delete;
  ~WithoutInterpreter() {
    take_or_wait_for_the_end([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* state_;
};

/// With the interpreter, for as long as it lives, whether the thread had it or not.
class WithInterpreter {
 public:
  WithInterpreter() : state_(take_or_wait_for_the_end([] { return PyGILState_Ensure(); })) {}
  WithInterpreter(const WithInterpreter&) = delete;
  WithInterpreter& operator=(const WithInterpreter&) = delete;
  ~WithInterpreter() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

}  // namespace tensoa::python
