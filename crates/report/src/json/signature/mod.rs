//! The JSON of signatures.

mod bench;

use serde_json::Value;
use steady_model::{Reading, SignatureFile, SignatureLock, SignatureReport, Signed};

use crate::json::object::Object;
use crate::json::wire::Seconds;
use steady_render::json::pretty;

pub use bench::{signature_bench_json, signature_bench_json_text};

/// What it is called.
pub const SIGNATURE_SCHEMA: &str = "steady.signature/1";

/// The signatures as JSON.
pub fn signature_json(report: &SignatureReport) -> Value {
    let mut top = Object::new();
    top.put("schema", SIGNATURE_SCHEMA);
    top.put("kind", "files");
    top.put("allocator", report.allocator.name());
    match report.pool {
        Some(pool) => top.put("pool_bytes", pool.0),
        None => top.absent("pool_bytes", "this allocator has no pools"),
    }
    top.put("files", report.files.iter().map(file).collect::<Value>());
    top.into()
}

/// [`signature_json`] as indented text that ends with a newline.
pub fn signature_json_text(report: &SignatureReport) -> String {
    pretty::indented_but(&signature_json(report), "")
}

fn file(file: &SignatureFile) -> Value {
    let mut object = Object::new();
    object.put("name", file.name.as_str());
    match &file.signed {
        Ok(signed) => self::signed(signed, &mut object),
        Err(absent) => object.absent("signature", &absent.0),
    }
    object.into()
}

fn signed(signed: &Signed, object: &mut Object) {
    object.put("signature", signed.signature);
    object.put("bytes", signed.bytes);
    object.put("crew", signed.crew.name());
    object.put("workers", signed.crew.workers());
    object.put("elapsed_seconds", Seconds(signed.elapsed).as_f64());
    object.put("user_seconds", Seconds(signed.user).as_f64());
    object.put("system_seconds", Seconds(signed.system).as_f64());
    object.number("bytes_per_second", signed.bytes as f64 / signed.elapsed.seconds(), "the clock did not move");
    object.put("allocations", signed.allocations);
    lock(&signed.lock, object);
    match &signed.peak_memory {
        Ok(bytes) => object.put("peak_memory_bytes", bytes.0),
        Err(absent) => object.absent("peak_memory_bytes", &absent.0),
    }
}

/// What a lock came to.
fn lock(lock: &Reading<SignatureLock>, object: &mut Object) {
    match lock {
        Ok(lock) => {
            object.put("lock_acquisitions", lock.acquisitions);
            object.put("lock_contended", lock.contended);
            object.put("lock_waited_seconds", Seconds(lock.waited).as_f64());
        }
        Err(absent) => {
            let names = ["lock_acquisitions", "lock_contended", "lock_waited_seconds"];
            names.into_iter().for_each(|name| object.absent(name, &absent.0));
        }
    }
}
