# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models for tensoa's programs: import, train, export and evaluate edge-classifying graph networks."""
