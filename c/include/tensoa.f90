! SPDX-FileCopyrightText: 2026 The tensoa authors
! SPDX-License-Identifier: Apache-2.0

!> tensoa.h for Fortran 2003, which describes the functions. Compile this file with your program, and link libtensoa.so.
!>
!>     use, intrinsic :: iso_c_binding
!>     use tensoa
!>     real(c_float), target :: x(1000), score(1000)
!>     type(c_ptr) :: model = c_null_ptr, event = c_null_ptr
!>     call check(tensoa_load("model.pt2", "cpu", model))
!>     call check(tensoa_new_call(model, c_null_ptr, event))
!>     call check(tensoa_bind(event, "x", c_loc(x), TENSOA_F32, 4_c_int64_t, 1000_c_int64_t))
!>
!> Texts may be of any length; spaces at their ends are left out.
module tensoa
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer(c_int), parameter, public :: TENSOA_ABI = 1

  integer(c_int), parameter, public :: TENSOA_OK = 0, TENSOA_CONFIG_ERROR = 1, TENSOA_INPUT_ERROR = 2, &
    TENSOA_OUTPUT_ERROR = 3, TENSOA_LOAD_ERROR = 4, TENSOA_BINDING_ERROR = 5, TENSOA_DEVICE_ERROR = 6, &
    TENSOA_DEVICE_FULL_ERROR = 7, TENSOA_DEVICE_LOST_ERROR = 8, TENSOA_ENGINE_ERROR = 9, TENSOA_MEMORY_ERROR = 10, &
    TENSOA_BUG = 11

  integer(c_int), parameter, public :: TENSOA_BOOL = 1, TENSOA_U8 = 2, TENSOA_I8 = 3, TENSOA_I16 = 4, TENSOA_I32 = 5, &
    TENSOA_I64 = 6, TENSOA_F16 = 7, TENSOA_BF16 = 8, TENSOA_F32 = 9, TENSOA_F64 = 10

  public :: tensoa_version, tensoa_last_error, tensoa_load, tensoa_free_model, tensoa_inputs, tensoa_outputs, &
    tensoa_new_queue, tensoa_borrow_stream, tensoa_wait, tensoa_free_queue, tensoa_new_call, tensoa_bind, &
    tensoa_bind_input, tensoa_bind_output, tensoa_bind_number, tensoa_run, tensoa_wait_for_call, tensoa_last_copies, &
    tensoa_free_call

  interface
    subroutine tensoa_free_model(model) bind(c)
      import :: c_ptr
      type(c_ptr), value :: model
    end subroutine
    integer(c_size_t) function tensoa_inputs(model) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: model
    end function
    integer(c_size_t) function tensoa_outputs(model) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: model
    end function
    integer(c_int) function tensoa_borrow_stream_c(device, stream, queue) bind(c, name="tensoa_borrow_stream")
      import :: c_ptr, c_int, c_char
      character(kind=c_char), intent(in) :: device(*)
      type(c_ptr), value :: stream
      type(c_ptr), intent(inout) :: queue
    end function
    integer(c_int) function tensoa_new_queue_c(device, queue) bind(c, name="tensoa_new_queue")
      import :: c_ptr, c_int, c_char
      character(kind=c_char), intent(in) :: device(*)
      type(c_ptr), intent(inout) :: queue
    end function
    integer(c_int) function tensoa_wait(queue) bind(c)
      import :: c_ptr, c_int
      type(c_ptr), value :: queue
    end function
    subroutine tensoa_free_queue(queue) bind(c)
      import :: c_ptr
      type(c_ptr), value :: queue
    end subroutine
    integer(c_int) function tensoa_load_abi(path, device, abi, model) bind(c)
      import :: c_ptr, c_int, c_char
      character(kind=c_char), intent(in) :: path(*), device(*)
      integer(c_int), value :: abi
      type(c_ptr), intent(inout) :: model
    end function
    integer(c_int) function tensoa_new_call(model, queue, call) bind(c)
      import :: c_ptr, c_int
      type(c_ptr), value :: model, queue
      type(c_ptr), intent(inout) :: call
    end function
    integer(c_int) function tensoa_bind_c(call, name, data, dtype, stride, count) bind(c, name="tensoa_bind")
      import :: c_ptr, c_int, c_int64_t, c_char
      type(c_ptr), value :: call, data
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: dtype
      integer(c_int64_t), value :: stride, count
    end function
    !> @param index from 0 on, as in C
    integer(c_int) function tensoa_bind_input(call, index, data, dtype, stride, count) bind(c)
      import :: c_ptr, c_int, c_size_t, c_int64_t
      type(c_ptr), value :: call, data
      integer(c_size_t), value :: index
      integer(c_int), value :: dtype
      integer(c_int64_t), value :: stride, count
    end function
    integer(c_int) function tensoa_bind_output(call, index, data, dtype, stride, count) bind(c)
      import :: c_ptr, c_int, c_size_t, c_int64_t
      type(c_ptr), value :: call, data
      integer(c_size_t), value :: index
      integer(c_int), value :: dtype
      integer(c_int64_t), value :: stride, count
    end function
    integer(c_int) function tensoa_bind_number_c(call, name, number, dtype) bind(c, name="tensoa_bind_number")
      import :: c_ptr, c_int, c_char
      type(c_ptr), value :: call, number
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: dtype
    end function
    integer(c_int) function tensoa_run(call) bind(c)
      import :: c_ptr, c_int
      type(c_ptr), value :: call
    end function
    integer(c_int) function tensoa_wait_for_call(call) bind(c)
      import :: c_ptr, c_int
      type(c_ptr), value :: call
    end function
    integer(c_int) function tensoa_last_copies(call, bytes_in, bytes_out) bind(c)
      import :: c_ptr, c_int, c_size_t
      type(c_ptr), value :: call
      integer(c_size_t), intent(inout) :: bytes_in, bytes_out
    end function
    subroutine tensoa_free_call(call) bind(c)
      import :: c_ptr
      type(c_ptr), value :: call
    end subroutine
    type(c_ptr) function tensoa_version_c() bind(c, name="tensoa_version")
      import :: c_ptr
    end function
    type(c_ptr) function tensoa_last_error_c() bind(c, name="tensoa_last_error")
      import :: c_ptr
    end function
    integer(c_size_t) function strlen(text) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
    end function
  end interface

contains

  function tensoa_version() result(text)
    character(:), allocatable :: text
    text = text_of(tensoa_version_c())
  end function

  function tensoa_last_error() result(text)
    character(:), allocatable :: text
    text = text_of(tensoa_last_error_c())
  end function

  integer(c_int) function tensoa_load(path, device, model)
    character(*), intent(in) :: path, device
    type(c_ptr), intent(inout) :: model
    tensoa_load = tensoa_load_abi(trim(path)//c_null_char, trim(device)//c_null_char, TENSOA_ABI, model)
  end function

  integer(c_int) function tensoa_new_queue(device, queue)
    character(*), intent(in) :: device
    type(c_ptr), intent(inout) :: queue
    tensoa_new_queue = tensoa_new_queue_c(trim(device)//c_null_char, queue)
  end function

  integer(c_int) function tensoa_borrow_stream(device, stream, queue)
    character(*), intent(in) :: device
    type(c_ptr), intent(in) :: stream
    type(c_ptr), intent(inout) :: queue
    tensoa_borrow_stream = tensoa_borrow_stream_c(trim(device)//c_null_char, stream, queue)
  end function

  integer(c_int) function tensoa_bind(call, name, data, dtype, stride, count)
    type(c_ptr), intent(in) :: call, data
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: dtype
    integer(c_int64_t), intent(in) :: stride, count
    tensoa_bind = tensoa_bind_c(call, trim(name)//c_null_char, data, dtype, stride, count)
  end function

  integer(c_int) function tensoa_bind_number(call, name, number, dtype)
    type(c_ptr), intent(in) :: call, number
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: dtype
    tensoa_bind_number = tensoa_bind_number_c(call, trim(name)//c_null_char, number, dtype)
  end function

  function text_of(c_text) result(text)
    type(c_ptr), intent(in) :: c_text
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(c_text, letters, [strlen(c_text)])
    allocate(character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function
end module
