// SPDX-License-Identifier: BSD-2-Clause
//! Vectors and strings in a tree.
use std::collections::BTreeMap;

fn main() {
    let mut n = 0usize;
    for r in 0..40 {
        let mut m: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for i in 0..5000 {
            m.entry(format!("key {}", i % 331)).or_default().push(format!("{} {}", r, i));
        }
        n += m.values().map(|v| v.join(",").len()).sum::<usize>();
    }
    println!("{}", n);
}
