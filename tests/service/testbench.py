# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The test bench for clients of KServe v2: real servers, a second implementation, Envoy, and a bad network. One import for all.

    with Triton(write_repository(folder / "models", ["mlp"])) as triton, ToxicProxy(triton.address) as proxy:
        proxy.set(delay=0.1)
        ...

It needs the standard library only; the servers come from the virtual environment of scripts/setup_service.sh. `missing()` says
why they cannot run.
"""

from certificates import Certificates
from envoy import Envoy
from kserve import KserveServer
from models import MODELS, write_repository
from process import Process, ServiceProblem, free_port, wait_until
from toxic_proxy import ToxicProxy
from triton import Triton
from wheels import missing

__all__ = [
    "MODELS",
    "Certificates",
    "Envoy",
    "KserveServer",
    "Process",
    "ServiceProblem",
    "ToxicProxy",
    "Triton",
    "free_port",
    "missing",
    "wait_until",
    "write_repository",
]
