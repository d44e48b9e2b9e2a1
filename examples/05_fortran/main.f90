! SPDX-FileCopyrightText: 2026 The tensoa authors
! SPDX-License-Identifier: Apache-2.0

!> 05_fortran MODEL.pt2: the model of 01_snippet from Fortran.
program main
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use tensoa
  implicit none
  character(1000) :: path
  call get_command_argument(1, path)
  call run(path)

contains

  ! [snippet]
  subroutine run(path)
    character(*), intent(in) :: path
    integer(c_int64_t), parameter :: rows = 3, stride = c_sizeof(0.0_c_float)
    real(c_float), target :: x(rows) = [100, 101, 102], y(rows) = [100, 101, 102], z(rows) = [100, 101, 102]
    real(c_float), target :: m(rows), n(rows)
    type(c_ptr) :: model = c_null_ptr, event = c_null_ptr
    integer :: i

    call check(tensoa_load(path, "cpu", model))
    call check(tensoa_new_call(model, c_null_ptr, event))
    call check(tensoa_bind(event, "x", c_loc(x), TENSOA_F32, stride, rows))
    call check(tensoa_bind(event, "y", c_loc(y), TENSOA_F32, stride, rows))
    call check(tensoa_bind(event, "z", c_loc(z), TENSOA_F32, stride, rows))
    call check(tensoa_bind(event, "m", c_loc(m), TENSOA_F32, stride, rows))
    call check(tensoa_bind(event, "n", c_loc(n), TENSOA_F32, stride, rows))
    call check(tensoa_run(event)) ! again for each event, after other columns are bound
    print '("m = ", f0.2, ", n = ", f0.2)', (m(i), n(i), i=1, rows)
    call tensoa_free_call(event)
    call tensoa_free_model(model)
  end subroutine
  ! [/snippet]

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == TENSOA_OK) return
    write (error_unit, '(2a)') "05_fortran: ", tensoa_last_error()
    error stop 1
  end subroutine
end program
