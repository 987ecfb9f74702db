// Of functions.c, what Rust compiles without its library for the target.
#![feature(no_core, lang_items)]
#![allow(internal_features)]
#![no_core]
#![crate_type = "lib"]

#[lang = "pointee_sized"]
pub trait PointeeSized {}
#[lang = "meta_sized"]
pub trait MetaSized: PointeeSized {}
#[lang = "sized"]
pub trait Sized: MetaSized {}
#[lang = "copy"]
pub trait Copy {}
impl Copy for f32 {}
impl Copy for f64 {}
#[lang = "mul"]
pub trait Mul<R = Self> {
    type Output;
    fn mul(self, right: R) -> Self::Output;
}
#[lang = "add"]
pub trait Add<R = Self> {
    type Output;
    fn add(self, right: R) -> Self::Output;
}
impl Mul for f32 {
    type Output = f32;
    fn mul(self, right: f32) -> f32 {
        self * right
    }
}
impl Mul for f64 {
    type Output = f64;
    fn mul(self, right: f64) -> f64 {
        self * right
    }
}
impl Add for f32 {
    type Output = f32;
    fn add(self, right: f32) -> f32 {
        self + right
    }
}

#[no_mangle]
pub extern "C" fn axpy(x: f32, y: f32, alpha: f32) -> f32 {
    alpha * x + y
}

#[no_mangle]
pub extern "C" fn cube(x: f64) -> f64 {
    x * x * x
}
