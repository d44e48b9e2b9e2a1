# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""weights.xml of TMVA, made here by its rules, compared with a walk over each row that shares no code with the importer."""

import math

import numpy as np
import pytest

from exporting import block
from tensoa import forest
from tensoa.forest import Link
from tree_models import checked, command, contents, load, refusal, rows

NAMES = ["pt", "eta", "m_jj", "d0", "n"]


def random_node(random, depth, pos="s"):
    """A node as a dict of its attributes, with its daughters in "nodes"."""
    purity = float(random.random())
    node = {
        "pos": pos, "depth": depth, "NCoef": 0, "IVar": int(random.integers(0, 5)), "Cut": repr(float(random.normal())),
        "cType": int(random.integers(0, 2)), "res": repr(float(random.normal())), "rms": 1.0, "purity": repr(purity),
        "nType": 0, "nodes": [],
    }  # fmt: skip
    if depth == 4 or (depth and random.random() < 0.2):
        return {**node, "nType": 1 if purity > 0.5 else -1, "IVar": -1}
    order = "lr" if random.random() < 0.5 else "rl"  # TMVA writes the left one first, and reads either
    return {**node, "nodes": [random_node(random, depth + 1, pos) for pos in order]}


def random_trees(seed, count=7):
    random = np.random.default_rng(seed)
    return [(float(random.random()) + 0.1, random_node(random, 0)) for _ in range(count)]


def xml_of(node):
    attributes = " ".join(f'{key}="{value}"' for key, value in node.items() if key != "nodes")
    return f"<Node {attributes}>{''.join(map(xml_of, node['nodes']))}</Node>"


def text_of(
    trees, boost="AdaBoost", yes_no="False", names=NAMES, options="", info="", transforms="", head="", method="BDT::BDT"
):
    kind = 1 if boost == "Grad" else 0
    variables = "".join(
        f'<Variable VarIndex="{i}" Expression="{name}" Label="{name}" Type="F" Min="0" Max="1"/>'
        for i, name in enumerate(names)
    )
    weights = "".join(
        f'<BinaryTree type="DecisionTree" boostWeight="{weight!r}" itree="{i}">{xml_of(node)}</BinaryTree>'
        for i, (weight, node) in enumerate(trees)
    )
    return (
        f'<?xml version="1.0"?>{head}<MethodSetup Method="{method}"><GeneralInfo>'
        f'<Info name="TMVA Release" value="4.2.1 [262657]"/>{info or "<Info name=%sAnalysisType%s value=%sClassification%s/>"}'
        "</GeneralInfo><Options>"
        f'<Option name="BoostType" modified="Yes">{boost}</Option><Option name="UseYesNoLeaf" modified="No">{yes_no}</Option>'
        f"{options}</Options><Variables>{variables}</Variables><Spectators/><Transformations>{transforms}</Transformations>"
        f'<Weights NTrees="{len(trees)}" AnalysisType="{kind}">{weights}</Weights></MethodSetup>'
    ).replace("%s", '"')


def walked(trees, row, boost, yes_no):
    """MethodBDT::GetMvaValue of a row."""
    total = norm = 0.0
    for weight, node in trees:
        while node["nType"] == 0:
            result = bool(np.float32(row[node["IVar"]]) >= np.float32(float(node["Cut"])))
            goes_right = result if node["cType"] else not result
            node = next(child for child in node["nodes"] if child["pos"] == ("r" if goes_right else "l"))
        if boost == "Grad":
            total += float(np.float32(float(node["res"])))
        else:
            total += weight * (node["nType"] if yes_no == "True" else float(np.float32(float(node["purity"]))))
            norm += weight
    return 2 / (1 + math.exp(-2 * total)) - 1 if boost == "Grad" else total / norm


def saved(tmp_path, trees, **options):
    (tmp_path / "weights.any").write_text(text_of(trees, **options))
    return tmp_path / "weights.any"


@pytest.mark.parametrize(
    "boost, yes_no, link",
    [
        ("AdaBoost", "True", Link.NONE),
        ("AdaBoost", "False", Link.NONE),
        ("Bagging", "False", Link.NONE),
        ("Grad", "False", Link.TANH),
    ],
)
def test_answers_are_those_of_the_rules(tmp_path, boost, yes_no, link):
    for seed in range(4):
        trees = random_trees(seed)
        made = checked(saved(tmp_path, trees, boost=boost, yes_no=yes_no))
        assert (made.ensemble.link, made.ensemble.column_names) == (link, NAMES)
        assert (made.ensemble.source, made.ensemble.objective) == ("TMVA 4.2.1", f"BDT, {boost}")
        assert made.reference.name == "the rules of TMVA (MethodBDT), in float64, by a second reader"
        x = rows(missing=0)[0][:200]
        x[:50] = np.random.default_rng(seed).choice(made.ensemble.nodes["threshold"], (50, 5))  # on the cuts
        expected = [walked(trees, row, boost, yes_no) for row in x]
        np.testing.assert_allclose(forest.answers(made.ensemble, x.T).ravel(), expected, rtol=1e-14, atol=1e-15)


def test_a_value_on_the_cut_goes_right(tmp_path):
    for kind, on_the_cut in ((1, 0.75), (0, 0.25)):
        leaves = [{"pos": pos, "nType": 1, "purity": purity, "nodes": []} for pos, purity in (("l", 0.25), ("r", 0.75))]
        root = {"pos": "s", "NCoef": 0, "IVar": 0, "Cut": 0.1, "cType": kind, "nType": 0, "nodes": leaves}
        ensemble = load(saved(tmp_path, [(2.0, root)])).ensemble
        x = np.zeros((5, 3), np.float32)
        x[0] = np.float32(0.1), np.nextafter(np.float32(0.1), np.float32(0)), np.nan
        assert forest.margins(ensemble, x).ravel().tolist() == [on_the_cut, 1 - on_the_cut, 1 - on_the_cut]


def test_space_before_the_declaration_is_read(tmp_path):
    """As TMVA's parser does: a published file of CMS begins with an empty line."""
    path = saved(tmp_path, random_trees(1))
    whole = load(path).ensemble
    path.write_text("\n    " + path.read_text())
    assert forest.to_bytes(checked(path).ensemble) == forest.to_bytes(whole)


def test_older_leaves_have_numbers_of_events(tmp_path):
    leaves = [{"pos": pos, "nType": 1, "nS": signal, "nB": 1.0, "nodes": []} for pos, signal in (("l", 3.0), ("r", 0.0))]
    root = {"pos": "s", "IVar": 1, "Cut": 0.5, "cType": 1, "nType": 0, "nodes": leaves}
    made = checked(saved(tmp_path, [(2.0, root)]))
    x = np.array([[0.0] * 5, [1.0] * 5]).T
    assert forest.margins(made.ensemble, x).ravel().tolist() == [0.75, 0.0]


def test_the_command(tmp_path):
    trees = random_trees(1)
    status, out = command(saved(tmp_path, trees, boost="Grad"), [block("a", NAMES[::-1])], ["s"])
    manifest, files = contents(out)
    assert status == 0 and manifest.forest.columns == [[0, 4], [0, 3], [0, 2], [0, 1], [0, 0]]
    assert dict(manifest.forest.facts)["checked with"].startswith("the rules of TMVA (MethodBDT), in float64, by a second")
    case = next(case for case in manifest.recorded.cases if case.rows == 33)
    content = files["model/" + case.file]
    x = np.frombuffer(content, "f4", 165).reshape(5, 33)[::-1].T
    expected = [walked(trees, row, "Grad", "False") for row in x]
    np.testing.assert_allclose(np.frombuffer(content, "f8", offset=660), expected, rtol=1e-6)


# ---- what is refused


def changed_root(**attributes):
    (weight, root), *others = random_trees(1)
    return [(weight, {**root, **attributes}), *others]


@pytest.mark.parametrize(
    "trees, options, message",
    [
        (changed_root(NCoef=3), {}, "tree 0, node 0: it is a Fisher cut (NCoef is 3), expected a cut of one variable"),
        (changed_root(IVar=5), {}, "tree 0, node 0: its column is 5, there are 5"),
        (changed_root(IVar=-1), {}, "tree 0, node 0: its column is -1, there are 5"),
        (changed_root(Cut="x"), {}, "tree 0, node 0: its Cut is x, expected a number"),
        (changed_root(Cut="nan"), {}, "tree 0, node 0: its threshold is nan, expected a number"),
        (changed_root(cType=2), {}, "tree 0, node 0: its cType is 2, expected 0 or 1"),
        (changed_root(nodes=[]), {}, "tree 0, node 0: it has 0 daughters, expected one at l and one at r"),
        (changed_root(nType=1, purity="inf"), {}, "tree 0, node 0: its leaf value is inf, expected a finite number"),
        ([(float("nan"), random_trees(1)[0][1])], {}, "tree 0, node"),
        ([(-1.0, random_trees(1)[0][1])], {}, "the boostWeights of its trees add up to -1.0, expected a positive number"),
        ([], {}, "the boostWeights of its trees add up to 0.0"),
        (random_trees(1), {"boost": "AdaBoostR2"}, 'its BoostType is "AdaBoostR2", expected one of AdaBoost, Bagging, Grad'),
        (
            random_trees(1),
            {"options": '<Option name="UseFisherCuts">True</Option>'},
            "it has Fisher cuts (UseFisherCuts), expected cuts of one variable",
        ),
        (
            random_trees(1),
            {"options": '<Option name="VarTransform">G,D</Option>'},
            "its variables are transformed by G,D, expected none",
        ),
        (random_trees(1), {"transforms": '<Transform Name="PCA"/>'}, "its variables are transformed by PCA, expected none"),
        (
            random_trees(1),
            {"info": '<Info name="AnalysisType" value="Multiclass"/>'},
            "its AnalysisType is Multiclass, expected Classification",
        ),
        (random_trees(1), {"method": "Fisher::F"}, 'its method is "Fisher", expected BDT'),
        (random_trees(1), {"method": "MLP::MLP"}, "it is a network (MLP), expected BDT; tensoa compile makes"),
        (random_trees(1), {"names": []}, "its Variables are missing"),
        (random_trees(1), {"head": '<!DOCTYPE a [<!ENTITY b "c">]>'}, "declares entities of XML"),
    ],
)
def test_models_that_are_refused(tmp_path, trees, options, message):
    assert refusal(saved(tmp_path, trees, **options)).startswith(message)


def test_files_that_are_cut_off_are_refused(tmp_path):
    text = text_of(random_trees(1, 2))
    for end in range(60, len(text) - 1, 211):
        assert refusal(tmp_path / "cut", text[:end])
    assert refusal(tmp_path / "cut", text[:-10]).startswith("cannot be read (")
    assert refusal(tmp_path / "cut", text.replace('NTrees="2"', 'NTrees="3"')) == "it has 2 trees, NTrees is 3"
    assert refusal(tmp_path / "cut", text.replace('AnalysisType="0"', 'AnalysisType="1"')).startswith(
        'the AnalysisType of its trees is "1", expected 0'
    )
