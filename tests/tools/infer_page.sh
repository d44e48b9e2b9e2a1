#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# The commands of docs/infer.md; test_infer.py runs them in a folder with their files.
set -euo pipefail

# [first]
tensoa infer model.pt2 data.parquet --output answers.parquet
# [/first]

# [keep]
tensoa infer --model model.pt2 --input 2025/ 2026/ --output kept.parquet --keep 'm>0.5 && x<=1' --copy run,event
# [/keep]

# [columns]
tensoa infer --model model.pt2 --input jets.csv --output answers.csv --columns jet_pt=x,jet_eta=y,jet_phi=z
tensoa infer --model model.pt2 --input jets.csv --output answers.csv --columns jet_pt,jet_eta,jet_phi
# [/columns]

# [nulls]
tensoa infer --model model.pt2 --input gaps.parquet --output skipped.parquet --null skip
tensoa infer --model model.pt2 --input gaps.parquet --output filled.parquet --null nan
# [/nulls]

# [lists]
tensoa infer --model graph.pt2 --input events.parquet --output scores.parquet --copy event
# [/lists]

# [json]
tensoa infer --model model.pt2 --input data.parquet --output answers.arrow --threads 2 --json run.json
# [/json]
