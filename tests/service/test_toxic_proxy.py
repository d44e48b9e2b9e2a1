# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The faults of the proxy, seen by the official Python client; the server behind it is kserve_server.py."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
import tritonclient.grpc as client

from conftest import fails, infer, works
from testbench import KserveServer, ToxicProxy


@pytest.fixture
def proxy(kserve: KserveServer) -> Iterator[ToxicProxy]:
    with ToxicProxy(kserve.address) as proxy:
        yield proxy


def seconds_of(address: str, megabytes: float = 0.0) -> float:
    """Sends an array to the model `identity`, which must return it; returns the seconds."""
    array = np.arange(max(1, int(megabytes * 2**18)), dtype="f4")
    start = time.monotonic()
    np.testing.assert_array_equal(infer(address, "identity", {"x": array}, 10.0)["y"], array)
    return time.monotonic() - start


def test_passes_all_bytes_on(proxy: ToxicProxy, kserve: KserveServer) -> None:
    assert seconds_of(proxy.address, megabytes=4) < 5
    assert proxy.accepted == 1 and min(proxy.forwarded) > 2**22


def test_delay(proxy: ToxicProxy) -> None:
    proxy.set(delay=0.2)
    assert seconds_of(proxy.address) >= 0.4


def test_bandwidth(proxy: ToxicProxy) -> None:
    proxy.set(bandwidth=2e6)
    assert 1.0 <= seconds_of(proxy.address, megabytes=1) < 6


def test_slow_reader(proxy: ToxicProxy) -> None:
    proxy.set(slow_reader=200e3)
    assert seconds_of(proxy.address, megabytes=0.2) >= 1.0


def test_reset_after_some_bytes(proxy: ToxicProxy) -> None:
    proxy.set(reset_after=100_000)
    works(proxy.address)
    with pytest.raises(client.InferenceServerException) as caught:
        seconds_of(proxy.address, megabytes=1)
    assert caught.value.status() == "StatusCode.UNAVAILABLE"


def test_half_open_ends_at_the_deadline(proxy: ToxicProxy) -> None:
    proxy.set(half_open=True)
    start = time.monotonic()
    fails("DEADLINE_EXCEEDED", proxy.address, seconds=0.5)
    assert time.monotonic() - start < 3
    proxy.set()
    proxy.cut()
    works(proxy.address)


def test_cut_ends_a_call_in_flight(proxy: ToxicProxy) -> None:
    threading.Timer(0.3, proxy.cut).start()
    start = time.monotonic()
    fails("UNAVAILABLE", proxy.address, name="mlp.delay-3")
    assert time.monotonic() - start < 2
    works(proxy.address)


def test_refuse_closes_the_port_and_accept_opens_it_again(proxy: ToxicProxy) -> None:
    with contextlib.closing(client.InferenceServerClient(proxy.address)) as connection:
        assert connection.is_server_live()
        proxy.refuse()
        assert connection.is_server_live()  # the old connection stays
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", proxy.port))
        proxy.accept()
        socket.create_connection(("127.0.0.1", proxy.port)).close()


def test_toxics_as_text(proxy: ToxicProxy) -> None:
    proxy.set_text("delay=0.1 reset_after=5")
    assert (proxy.toxics.delay, proxy.toxics.reset_after) == (0.1, 5)
    with pytest.raises(ValueError, match="unknown toxic speed"):
        proxy.set_text("speed=3")
