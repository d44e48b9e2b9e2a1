! SPDX-FileCopyrightText: 2026 The tensoa authors
! SPDX-License-Identifier: Apache-2.0

!> The first program in Fortran: runs network.pt2, which 01_first_program.py writes, on three columns of four rows.
!>
!>     gfortran tensoa.f90 01_first_program.f90 -ltensoa -o first && ./first network.pt2
!>
!> Prints:
!>
!>     score = 20.50
!>     score = 22.50
!>     score = 24.50
!>     score = 26.50
program main
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use tensoa
  implicit none
  character(1000) :: path
  call get_command_argument(1, path)
  call run(path)

contains

  ! [call]
  subroutine run(path)
    character(*), intent(in) :: path
    integer(c_int64_t), parameter :: rows = 4, stride = c_sizeof(0.0_c_float)
    real(c_float), target :: point(rows, 3), score(rows) ! x, y, z: columns of one array
    type(c_ptr) :: model = c_null_ptr, event = c_null_ptr
    integer :: i

    point(:, 1) = [0, 1, 2, 3]
    point(:, 2) = 10
    point(:, 3) = -1
    call check(tensoa_load(path, "cpu", model))
    call check(tensoa_new_call(model, c_null_ptr, event))
    call check(tensoa_bind(event, "x", c_loc(point(1, 1)), TENSOA_F32, stride, rows))
    call check(tensoa_bind(event, "y", c_loc(point(1, 2)), TENSOA_F32, stride, rows))
    call check(tensoa_bind(event, "z", c_loc(point(1, 3)), TENSOA_F32, stride, rows))
    call check(tensoa_bind(event, "score", c_loc(score), TENSOA_F32, stride, rows))
    call check(tensoa_run(event)) ! again for each event, after other columns are bound
    print '("score = ", f0.2)', (score(i), i=1, rows)
    call tensoa_free_call(event)
    call tensoa_free_model(model)
  end subroutine
  ! [/call]

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == TENSOA_OK) return
    write (error_unit, '(a)') tensoa_last_error()
    error stop 1
  end subroutine
end program
