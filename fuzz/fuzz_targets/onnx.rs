//! A network: a density that can be asked, or an error. The engine may panic inside, where that is caught and made an error of.
#![no_main]

use std::fs;
use std::panic;

use ebbtide::target::Oracle;
use ebbtide_onnx::{Engine, NetworkDensity};
use ebbtide_fuzz::{Allowance, scratch};
use libfuzzer_sys::fuzz_target;

/// What a network computes may be larger than the network; a limit of the system is the last resort (SECURITY.md).
const ALLOWED: Allowance = Allowance { always: 256 << 20, for_each_byte: 256 };

fuzz_target!(
    init: {
        panic::set_hook(Box::new(|_| ()));
    },
    |bytes: &[u8]| {
        let path = scratch().join("network.onnx");
        fs::write(&path, bytes).expect("written");
        ALLOWED.hold(bytes.len(), || {
            let Ok(density) = NetworkDensity::load(&path, Some(2), Engine::Tract) else { return };
            let (points, mut values) = (vec![0.25; 2 * 3], [0.0; 3]);
            let _ = density.log_density(points, &mut values).is_ok();
        });
    }
);
