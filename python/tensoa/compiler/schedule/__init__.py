# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From typed tensors to loop nests: stages, what gets memory, loops."""
