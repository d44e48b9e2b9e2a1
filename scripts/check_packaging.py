#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that the recipes in packaging/ agree with the build: packaging/README.md lists how. Exit status 1 on a finding."""

import ast
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


LISTS = read("CMakeLists.txt")
OPTIONS = set(re.findall(r"^(?:option|set)\((TENSOA_\w+)", read("cmake/TensoaOptions.cmake"), re.M))
VERSIONS = r"(Cuda|Grpc|Torch|cmake)(?:_minimum_required\(VERSION)? ([\d.]+)"
MINIMA = dict(re.findall(VERSIONS, read("cmake/TensoaDependencies.cmake") + LISTS))


def unknown_options(names):
    return [f"{name} is not declared in cmake/TensoaOptions.cmake" for name in sorted(set(names) - OPTIONS)]


def missing_minima(text, names, form):
    lines = [form.format(package, MINIMA[name]) for name, package in names.items()]
    return [f"{line} is missing, which CMake requires" for line in lines if line not in text]


def spack(text):
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    named = [(getattr(call.func, "attr", getattr(call.func, "id", "")), call) for call in calls]
    words = [(name, [arg.value for arg in call.args if isinstance(arg, ast.Constant)]) for name, call in named]
    variants = {values[0] for name, values in words if name == "variant"}
    set_by = {values[1] for name, values in words if name == "define_from_variant"}
    yield from (f"{name} is a variant that sets no option, or is not declared" for name in sorted(variants ^ set_by))
    tests = [word.value for call in calls for word in call.keywords if word.arg == "when"]
    tests += [call for name, call in named if name == "satisfies"]
    used = set(re.findall(r"[+~](\w+)", " ".join(map(ast.unparse, tests))))
    yield from (f"a condition has {name}, which is not a variant" for name in sorted(used - variants - {"cuda"}))
    yield from unknown_options(value for _, values in words for value in values if re.fullmatch(r"TENSOA_\w+", str(value)))
    yield from missing_minima(text, {"cmake": "cmake", "Cuda": "cuda", "Grpc": "grpc", "Torch": "py-torch"}, "{}@{}:")


def conda(text):
    recipe = yaml.safe_load(text)
    version = re.search(r'kVersion = "([\d.]+)"', read("core/include/tensoa/core/version.hpp"))[1]
    if recipe["schema_version"] != 1 or recipe["context"]["version"] != version:
        yield f"schema_version is not 1, or the version is not {version}"
    keys_of = [(recipe, "recipe source build outputs"), (recipe["about"], "summary license license_file")]
    keys_of += [(output, "package build requirements tests") for output in recipe["outputs"]]
    yield from (f"the key {key} is missing" for where, keys in keys_of for key in keys.split() if key not in where)
    yield from unknown_options(re.findall(r"-D(TENSOA_\w+)", text))
    yield from missing_minima(text, {"cmake": "cmake", "Cuda": "cuda-version", "Grpc": "libgrpc"}, "{} >={}")


def scram(text):
    tool = ET.fromstring(f"<root>{text}</root>").find("tool")  # as SCRAM reads it: comments may stand before it
    layers = [f"tensoa_{name}" for name in re.findall(r"add_subdirectory\((\w+)\)", LISTS)]
    lists = "".join(read(path) for path in ROOT.glob("[!b.]*/CMakeLists.txt"))  # not of build folders
    installed = {f"tensoa_{name}" for name in re.findall(r"tensoa_add_library\((\w+)\s+SOURCES", lists)}
    libraries = [lib.get("name") for lib in tool.iter("lib")]
    yield from (f"the library {name} is not installed" for name in set(libraries) - installed)
    if libraries != [name for name in reversed(layers) if name in libraries]:
        yield f"the libraries are {' '.join(libraries)}, expected those that use others first"
    macros = re.findall(r"TENSOA_HAS_(\w+)", text)  # of tensoa.hpp: the CMake targets define them
    if {name[7:].upper() for name in libraries} & {"PACKAGE", "FOREST"} != set(macros):
        yield f"the macros are of {macros}, expected those of package and forest where these are linked"
    if not {"INCLUDE", "LIBDIR"} <= {variable.get("name") for variable in tool.iter("environment")}:
        yield "the environment has no INCLUDE or no LIBDIR"


if __name__ == "__main__":
    recipes = {"packaging/spack/package.py": spack, "packaging/conda/recipe.yaml": conda, "packaging/scram/tensoa.xml": scram}
    raise SystemExit("\n".join(f"{path}: {line}" for path, check in recipes.items() for line in check(read(path))) or None)
