# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# $<LINK_LIBRARY:tensoa_at_need,LIBRARY>: of a library that a program opens itself. The program does not need it to start, but has its
# folder in the RUNPATH, and is built after it. Not plain link options around it: CMake keeps only the last of equal ones. In the cache,
# because CMake looks in the folder of the program, which may be above that of find_package().
set(CMAKE_LINK_LIBRARY_USING_tensoa_at_need LINKER:--push-state,--as-needed <LINK_ITEM> LINKER:--pop-state CACHE INTERNAL "")
set(CMAKE_LINK_LIBRARY_USING_tensoa_at_need_SUPPORTED TRUE CACHE INTERNAL "")
