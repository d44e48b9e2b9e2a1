# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The tracking application: candidate graphs, our network, its training and its figures."""
