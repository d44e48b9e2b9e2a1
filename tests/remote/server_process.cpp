// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>

#include "device_server.hpp"
#include "transport_double.hpp"

namespace tensoa::test {
namespace {

/// Text, with its length before it, over a socket. @return whether the other side is there
bool send_text(int socket, const std::string& text) {
  const std::uint64_t size = text.size();
  if (write(socket, &size, sizeof(size)) != sizeof(size)) return false;
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(socket, text.data() + done, text.size() - done);
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

bool receive_all(int socket, void* to, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got = read(socket, static_cast<char*>(to) + done, bytes - done);
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

bool receive_text(int socket, std::string& text) {
  std::uint64_t size = 0;
  if (!receive_all(socket, &size, sizeof(size))) return false;
  text.resize(size);
  return receive_all(socket, text.data(), size);
}

/// Until the other side is gone.
void serve(int socket) {
  DeviceServer server;
  std::string method;
  std::string request;
  while (receive_text(socket, method) && receive_text(socket, request)) {
    FakeReply reply;
    try {
      reply = server(method, request);
    } catch (const std::exception& error) {
      reply.status = {.code = 13, .message = error.what()};
    }
    if (!send_text(socket, std::to_string(reply.status.code)) ||
        !send_text(socket, reply.status.message) || !send_text(socket, reply.message)) {
      return;
    }
  }
}

FakeReply ask(int socket, const std::string& method, const std::string& request) {
  std::string code;
  FakeReply reply;
  if (!send_text(socket, method) || !send_text(socket, request) || !receive_text(socket, code) ||
      !receive_text(socket, reply.status.message) || !receive_text(socket, reply.message)) {
    return {.status = {.code = 14, .message = "the server has ended"}};
  }
  reply.status.code = std::stoi(code);
  return reply;
}

}  // namespace
}  // namespace tensoa::test

/// The server is another process, as CUDA opens no memory in the process that has exported it.
int main(int argc, char** argv) {
  using namespace tensoa::test;
  testing::InitGoogleTest(&argc, argv);
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return 1;
  const pid_t child = fork();  // before this process touches a GPU
  if (child == 0) {
    close(ends[1]);
    serve(ends[0]);
    _exit(0);
  }
  close(ends[0]);
  set_answers([socket = ends[1]](const std::string& method, const std::string& request) {
    return ask(socket, method, request);
  });
  const int code = RUN_ALL_TESTS();
  close(ends[1]);
  waitpid(child, nullptr, 0);
  return code;
}
