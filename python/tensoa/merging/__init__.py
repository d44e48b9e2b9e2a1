# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The merging application: graphs of calorimeter fragments, our network and its training."""
