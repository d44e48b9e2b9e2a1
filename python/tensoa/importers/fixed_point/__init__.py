# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Networks on fixed-point numbers, as FPGAs run them, bit for bit."""
