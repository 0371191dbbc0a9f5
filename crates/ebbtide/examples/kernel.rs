use ebbtide::numeric::{aligned::*, product::*};
use std::time::Instant;
fn main() {
    for (rows, k, n) in [
        (160, 64, 64),
        (320, 64, 64),
        (160, 2, 64),
        (160, 64, 8),
        (160, 4, 64),
        (160, 256, 256),
        (320, 1024, 1024),
    ] {
        let (ka, na) = (row_stride(k), row_stride(n));
        let mut a = Aligned::zeros(rows * ka);
        let mut c = Aligned::zeros(rows * na);
        for (i, v) in a.iter_mut().enumerate() {
            *v = (i as f32).sin()
        }
        let w: Vec<f32> = (0..k * n).map(|i| (i as f32).cos()).collect();
        let mut p = Panels::new(k, n);
        p.pack(0, &w);
        let reps = (2e8 / (rows * k * n) as f64).max(1.0) as usize;
        let mut best = [f64::MAX; 2];
        let mut sc = Aligned::zeros(scratch(rows, k));
        let mut g = Aligned::zeros(k * n);
        for _ in 0..20 {
            let t = Instant::now();
            for _ in 0..reps {
                multiply(RowsMut::new(&mut c, rows, n, na), Rows::new(&a, rows, k, ka), &p)
            }
            best[0] = best[0].min(t.elapsed().as_secs_f64() / reps as f64);
            let t = Instant::now();
            for _ in 0..reps {
                accumulate(
                    RowsMut::new(&mut g, k, n, n),
                    Rows::new(&a, rows, k, ka),
                    Rows::new(&c, rows, n, na),
                    &mut sc,
                )
            }
            best[1] = best[1].min(t.elapsed().as_secs_f64() / reps as f64);
        }
        let f = 2.0 * (rows * k * n) as f64 / 1e9;
        println!("{rows} {k} {n}: multiply {:.1} GF/s  accumulate {:.1} GF/s", f / best[0], f / best[1]);
    }
}
