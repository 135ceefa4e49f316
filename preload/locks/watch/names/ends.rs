//! Functions that end the process without its exit handlers.

use core::ffi::c_void;

use crate::names::tail_calls;
use crate::{attach, real};

tail_calls! {
    _exit -> before_exit;
    _Exit -> before_c_exit;
    quick_exit -> before_quick_exit;
}

extern "C" fn before_exit() -> *mut c_void {
    attach::end();
    real::_exit()
}

extern "C" fn before_c_exit() -> *mut c_void {
    attach::end();
    real::_Exit()
}

extern "C" fn before_quick_exit() -> *mut c_void {
    attach::end();
    real::quick_exit()
}
