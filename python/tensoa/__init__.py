# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models for tensoa: the compiler that makes packages of them, importers, the tracking application, and trained models."""
