# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""tensoa deploy: Triton model repositories, an Envoy configuration and a Helm chart."""

import ast
import hashlib
import json
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ.get("TENSOA_PROGRAM", ROOT / "build" / "tensoa"))
PACKAGES = Path(os.environ.get("TENSOA_FUSED_PACKAGES", ROOT / "build" / "tests" / "package" / "packages"))
FUSED = PACKAGES / "fused.pt2"
TREES = ROOT / "tests" / "fuzz" / "seeds" / "tree_file" / "xgboost.json"
SERVICE = Path(os.environ.get("TENSOA_SERVICE_VENV", ROOT / ".venv-service"))


def tensoa(*arguments, cwd=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False, cwd=cwd)


def deploy(*arguments):
    done = tensoa("deploy", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def refuse(*arguments, says):
    done = tensoa("deploy", *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    for part in says:
        assert part in done.stderr


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def repository(tmp_path):
    return tmp_path / "models"


def test_a_package_for_several_targets_is_deployed_as_one(repository):
    for name in ("both", "both_ways"):
        deploy(PACKAGES / f"{name}.pt2", "--to", repository)
        assert (repository / name / "1" / "model.pt2").read_bytes() == (PACKAGES / f"{name}.pt2").read_bytes()


@pytest.fixture
def torchscript(tmp_path):
    """A file that is a TorchScript archive by the names in it: deploy copies it."""
    file = tmp_path / "net.pt"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("net/constants.pkl", "")
    return file


def test_a_package(repository):
    printed = deploy(FUSED, "--to", repository)
    assert "models/fused: version 1, 2 files" in printed
    assert files_in(repository) == ["fused/1/model.pt2", "fused/config.pbtxt"]
    config = (repository / "fused" / "config.pbtxt").read_text()
    assert config.startswith("# Written by tensoa deploy")
    assert printed.endswith(
        "  for this host alone; without the addresses Triton listens on all interfaces, without authentication (docs/service.md)\n"
    )
    assert f"start: tritonserver --model-repository={repository} --backend-directory=" in printed
    for part in [
        'name: "fused"\nbackend: "tensoa"\nmax_batch_size: 256\n',
        'input [ { name: "features" data_type: TYPE_FP32 dims: [ 3, -1 ] allow_ragged_batch: true } ]',
        'output [ { name: "preds" data_type: TYPE_FP32 dims: [ 2, -1 ] } ]',
        "dynamic_batching { }",
        "version_policy: { all { } }",
        hashlib.sha256(FUSED.read_bytes()).hexdigest(),
    ]:
        assert part in config
    assert (repository / "fused" / "1" / "model.pt2").read_bytes() == FUSED.read_bytes()


def test_versions_of_a_model_are_kept_and_one_is_replaced(repository):
    deploy(FUSED, "--to", repository, "--name", "net")
    deploy(PACKAGES / "fused_variants.pt2", "--to", repository, "--name", "net", "--version", 7)
    deploy(PACKAGES / "fused_variants.pt2", "--to", repository, "--name", "net", "--version", 1)
    assert files_in(repository) == ["net/1/model.pt2", "net/7/model.pt2", "net/config.pbtxt"]
    assert (repository / "net" / "1" / "model.pt2").read_bytes() == (PACKAGES / "fused_variants.pt2").read_bytes()


def test_all_versions_that_are_kept_are_served(repository):
    assert "served: 1\n" in deploy(FUSED, "--to", repository, "--name", "net")
    assert "version 10, 2 files; served: 1, 10\n" in deploy(FUSED, "--to", repository, "--name", "net", "--version", 10)
    assert "version 2, 2 files; served: 1, 2, 10\n" in deploy(FUSED, "--to", repository, "--name", "net", "--version", 2)


@pytest.mark.parametrize(
    ("policy", "served", "text"),
    [
        ("all", "1, 3", "{ all { } }"),
        ("latest", "3", "{ latest { num_versions: 1 } }"),
        ("1", "1", "{ specific { versions: [ 1 ] } }"),
        ("3,1", "1, 3", "{ specific { versions: [ 3,1 ] } }"),
    ],
)
def test_versions_are_served_as_the_policy_says(repository, policy, served, text):
    deploy(FUSED, "--to", repository, "--version", 1)
    assert f"served: {served}\n" in deploy(FUSED, "--to", repository, "--version", 3, "--version-policy", policy)
    assert f"version_policy: {text}\n" in (repository / "fused" / "config.pbtxt").read_text()


def test_policies_that_no_server_could_follow_are_refused(repository):
    for policy in ["newest", "", "1,,2", "-1", "1;2", "1 ] } } backend: \"x\"", "9" * 30]:
        refuse(FUSED, "--to", repository, "--version-policy", policy, says=["--version-policy", "expected all, latest"])
    refuse(FUSED, "--to", repository, "--version-policy", "1,2", says=["version 2", "those that are there: 1"])
    assert not repository.exists()


def test_a_version_with_other_tensors_is_not_served_with_the_others(repository):
    """A Triton that finds it does not start."""
    other = TREES
    deploy(FUSED, "--to", repository, "--name", "net")
    before = (repository / "net" / "config.pbtxt").read_text()
    again = [other, "--to", repository, "--name", "net", "--version", 2]
    refuse(*again, says=["other inputs or outputs", "versions 1, 2", "--version-policy 2", "--name"])
    assert (repository / "net" / "config.pbtxt").read_text() == before
    assert files_in(repository) == ["net/1/model.pt2", "net/config.pbtxt"]
    assert "served: 2\n" in deploy(*again, "--version-policy", 2)
    assert "served: 2\n" in deploy(*again, "--version-policy", "latest")


def test_what_another_program_wrote_stays(repository):
    (repository / "fused").mkdir(parents=True)
    (repository / "fused" / "config.pbtxt").write_text('backend: "python"\n')
    refuse(FUSED, "--to", repository, says=["models/fused", "did not write", "--name"])
    assert files_in(repository) == ["fused/config.pbtxt"]
    (repository / "file").write_text("x")
    refuse(FUSED, "--to", repository, "--name", "file", says=["models/file"])
    (repository / "envoy.yaml").write_text("x")
    refuse(FUSED, "--to", repository, "--name", "m", "--envoy", "a:1", says=["envoy.yaml"])
    chart = repository.parent / "chart"
    chart.mkdir()
    refuse(FUSED, "--to", repository, "--name", "m", "--helm", chart, says=["chart", "did not write"])
    assert not (repository / "m").exists(), "nothing is written where a part of it cannot be"


def test_bad_input(repository, tmp_path, torchscript):
    refuse(tmp_path / "none.pt2", "--to", repository, says=["none.pt2", "no such file"])
    broken = tmp_path / "broken.pt2"
    broken.write_bytes(b"hello")
    refuse(broken, "--to", repository, says=["broken.pt2"])
    weights = tmp_path / "weights.pt"
    with zipfile.ZipFile(weights, "w") as archive:
        archive.writestr("weights/data.pkl", "")
    refuse(weights, "--to", repository, says=["weights.pt", "is a file of torch.save, a state_dict", "FILE.py:FACTORY"])
    (tmp_path / "net.onnx").write_text("no model")
    refuse(tmp_path / "net.onnx", "--to", repository, says=["net.onnx", "is text and not a model"])
    refuse(PACKAGES / "inductor.pt2", "--to", repository, says=["kind inductor", "without torch", "pytorch"])
    refuse(torchscript, "--to", repository, says=["net.pt", "--binding"])
    refuse(torchscript, "--to", repository, "--binding", broken, says=["broken.pt2"])
    refuse(FUSED, "--to", repository, "--variant", "python", says=["native code", "leave --variant out"])
    refuse(FUSED, "--to", repository, "--binding", PACKAGES / "mlp.json", says=["leave --binding out"])
    for name in ["a b", ".hidden", "../up", "x" * 65]:
        refuse(FUSED, "--to", repository, "--name", name, says=["name of the Triton model"])
    for server in ["host", ":8001", "host:0", "host:70000", "host:x", "a b:1", "1:2:3", 'a":1']:
        refuse(FUSED, "--to", repository, "--envoy", server, says=["expected HOST:PORT"])
    refuse(FUSED, "--to", repository, "--helm", repository / "chart", says=["outside"])
    for listen in ["localhost", "0.0.0.0:0", "0.0.0.0:70000", "1.2.3", "::1:x", '1.2.3.4"', "", "*:9001"]:
        refuse(FUSED, "--to", repository, "--envoy", "a:1", "--listen", listen, says=["--listen", "address of an interface"])
    refuse(FUSED, "--to", repository, "--listen", "0.0.0.0", says=["--listen", "--envoy and --helm"])
    refuse(FUSED, "--to", repository, "--helm", "c", "--listen", "0.0.0.0:9001", says=["--listen", "port 8001"])
    refuse(FUSED, "--to", repository, "--version", 0, says=["--version"])
    assert not repository.exists()


def test_a_folder_that_cannot_be_written_leaves_nothing(tmp_path):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file")
    refuse(FUSED, "--to", blocked, says=["blocked", "cannot be written"])
    assert files_in(tmp_path) == ["blocked"]


def test_torchscript_for_tritons_back_end(repository, torchscript):
    deploy(torchscript, "--to", repository, "--binding", PACKAGES / "kinds.json")
    assert files_in(repository) == ["net/1/model.pt", "net/config.pbtxt"]
    config = (repository / "net" / "config.pbtxt").read_text()
    assert 'backend: "pytorch"\nmax_batch_size: 0\n' in config
    assert 'name: "INPUT__0" data_type: TYPE_FP32 dims: [ -1, 3 ]' in config
    assert 'name: "INPUT__5" data_type: TYPE_FP32 dims: [ -1, 2, 3 ]' in config
    assert 'name: "OUTPUT__2" data_type: TYPE_INT64 dims: [ -1, 1 ]' in config


def test_onnx_for_tritons_back_end(repository, tmp_path):
    model = tmp_path / "net.onnx"
    model.write_bytes(b"\x08\x08\x3a\x00")  # the version of ONNX, and a graph of nothing
    deploy(model, "--to", repository)
    assert files_in(repository) == ["net/1/model.onnx", "net/config.pbtxt"]
    assert 'backend: "onnxruntime"' in (repository / "net" / "config.pbtxt").read_text()


def test_the_python_variant(repository, torchscript):
    deploy(torchscript, "--to", repository, "--binding", PACKAGES / "mlp.json", "--variant", "python")
    assert files_in(repository) == ["net/1/binding.json", "net/1/model.pt", "net/1/model.py", "net/config.pbtxt"]
    config = (repository / "net" / "config.pbtxt").read_text()
    assert 'backend: "python"' in config and 'name: "features"' in config
    assert json.loads((repository / "net" / "1" / "binding.json").read_text())["inputs"][0]["name"] == "features"
    ast.parse((repository / "net" / "1" / "model.py").read_text())


def test_an_envoy_over_servers(repository):
    deploy(FUSED, "--to", repository, "--envoy", "triton1:8001", "[::1]:8002")
    text = (repository / "envoy.yaml").read_text()
    for part in ["LEAST_REQUEST", "max_retries: 1000", "timeout: 0s", "grpc_health_check", "STRICT_DNS"]:
        assert part in text
    assert 'address: "triton1", port_value: 8001' in text and 'address: "::1", port_value: 8002' in text
    deploy(FUSED, "--to", repository, "--envoy", "127.0.0.1:8001")  # over its own
    assert "type: STATIC\n" in (repository / "envoy.yaml").read_text()


@pytest.mark.parametrize(
    ("listen", "address", "port", "is_open"),
    [
        (None, "127.0.0.1", 9001, False),
        ("127.0.0.2:9005", "127.0.0.2", 9005, False),
        ("[::1]:9005", "::1", 9005, False),
        ("::1", "::1", 9001, False),
        ("0.0.0.0", "0.0.0.0", 9001, True),
        ("[::]:443", "::", 443, True),
    ],
)
def test_an_envoy_listens_where_the_operator_says(repository, listen, address, port, is_open):
    printed = deploy(FUSED, "--to", repository, "--envoy", "a:1", *(["--listen", listen] if listen else []))
    shown = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    assert f"listens on {shown}, its admin page on 127.0.0.1:19901" in printed
    assert ("every client that reaches it may run the models" in printed) == is_open
    text = (repository / "envoy.yaml").read_text()
    assert f'address: {{ socket_address: {{ address: "{address}", port_value: {port} }} }}' in text
    assert is_open or "0.0.0.0" not in text


def test_envoy_takes_its_configuration(repository):
    envoy = SERVICE / "bin" / "envoy"
    if not envoy.exists():
        pytest.skip(f"{envoy} is not here: scripts/setup_service.sh")
    for servers, listen in [(["127.0.0.1:8001", "[::1]:8002"], "127.0.0.1"), (["triton-a:8001"], "[::]:9005")]:
        deploy(FUSED, "--to", repository, "--envoy", *servers, "--listen", listen)
        call = [envoy, "--mode", "validate", "-c", repository / "envoy.yaml"]
        done = subprocess.run([*map(str, call)], capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0 and "OK" in done.stdout + done.stderr, done.stderr


def test_a_helm_chart(repository, tmp_path):
    chart = tmp_path / "chart"
    deploy(FUSED, "--to", repository, "--helm", chart)
    templates = [f"templates/{kind}.yaml" for kind in ("autoscaler", "deployment", "disruption_budget", "network_policy", "service")]
    names = ["Chart.yaml", *templates, "values.yaml"]
    assert files_in(chart) == names
    for name in names:
        assert "not run on a cluster" in (chart / name).read_text()
    assert 'repositoryClaim: "fused-models"' in (chart / "values.yaml").read_text()
    deploy(FUSED, "--to", repository, "--helm", chart)


def test_the_folder_of_a_chart_may_be_a_name_alone(tmp_path):
    for name in ["chart", "other/", "./third", "deep/er"]:
        done = tensoa("deploy", FUSED, "--to", "models", "--helm", name, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert (tmp_path / name / "templates" / "service.yaml").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chart", "deep", "models", "other", "third"]


@pytest.mark.parametrize(("listen", "address"), [([], "127.0.0.1"), (["--listen", "0.0.0.0"], "0.0.0.0"), (["--listen", "::"], "::")])
def test_servers_of_a_chart_listen_where_the_operator_says(repository, tmp_path, listen, address):
    printed = deploy(FUSED, "--to", repository, "--helm", tmp_path / "chart", *listen)
    assert f"a server listens on {address} of its pod" in printed
    assert ("every client that reaches it may run the models" in printed) == (address != "127.0.0.1")
    assert f'listen: "{address}"\n' in (tmp_path / "chart" / "values.yaml").read_text()
    deployment = (tmp_path / "chart" / "templates" / "deployment.yaml").read_text()
    for part in [
        '- "--grpc-address={{ .Values.listen }}"',
        '- "--metrics-address={{ .Values.listen }}"',
        "- --http-address=127.0.0.1",
        "- --model-control-mode=none",
    ]:
        assert part in deployment


def rendered(text, values):
    """A template of the chart as Helm renders it: its templates have names of values and these two functions."""

    def value(expression):
        name, *functions = (part.strip() for part in expression.strip("- ").split("|"))
        found = {"Release": {"Name": "net"}, "Values": values}
        for key in name.removeprefix("toYaml").strip(" .").split("."):
            found = found[key]
        if name.startswith("toYaml"):
            return " " + json.dumps(found)
        return json.dumps(found) if functions == ["quote"] else str(found)

    return re.sub(r"{{(.*?)}}", lambda match: value(match[1]), text)


def test_the_chart_and_the_envoy_configuration_pass_their_schemas(repository, tmp_path):
    """That of Kubernetes 1.29 or newer; of Envoy, that it is YAML."""
    yaml = pytest.importorskip("yaml")
    validate = pytest.importorskip("kubernetes_validate")
    chart = tmp_path / "chart"
    deploy(FUSED, "--to", repository, "--helm", chart, "--envoy", "a:1", "b:2")
    envoy = yaml.safe_load((repository / "envoy.yaml").read_text())
    assert envoy["static_resources"]["clusters"][0]["lb_policy"] == "LEAST_REQUEST"
    assert yaml.safe_load((chart / "Chart.yaml").read_text())["apiVersion"] == "v2"
    values = yaml.safe_load((chart / "values.yaml").read_text())
    kinds = set()
    for template in (chart / "templates").iterdir():
        described = yaml.safe_load(rendered(template.read_text(), values))
        validate.validate(described, "1.29", strict=True)
        kinds.add(described["kind"])
    assert kinds == {"Deployment", "Service", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget"}
