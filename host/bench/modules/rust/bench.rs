// The benchmarks' guest in Rust, with the standard library, over Extism's plain ABI.
use std::collections::BTreeMap;

mod host {
    #[link(wasm_import_module = "extism:host/env")]
    extern "C" {
        pub fn input_length() -> u64;
        pub fn input_load_u8(at: u64) -> u32;
        pub fn input_load_u64(at: u64) -> u64;
        pub fn alloc(n: u64) -> u64;
        pub fn store_u8(at: u64, byte: u32);
        pub fn store_u64(at: u64, word: u64);
        pub fn output_set(at: u64, n: u64);
    }
}

fn input() -> Vec<u8> {
    unsafe {
        let n = host::input_length();
        let mut data = Vec::with_capacity(n as usize);
        let mut i = 0;
        while i + 8 <= n {
            data.extend_from_slice(&host::input_load_u64(i).to_le_bytes());
            i += 8;
        }
        while i < n {
            data.push(host::input_load_u8(i) as u8);
            i += 1;
        }
        data
    }
}

fn give(data: &[u8]) {
    unsafe {
        let at = host::alloc(data.len() as u64);
        let words = data.chunks_exact(8);
        let rest = words.remainder();
        let mut i = at;
        for w in words {
            let mut eight = [0; 8];
            eight.copy_from_slice(w);
            host::store_u64(i, u64::from_le_bytes(eight));
            i += 8;
        }
        for b in rest {
            host::store_u8(i, *b as u32);
            i += 1;
        }
        host::output_set(at, data.len() as u64);
    }
}

#[no_mangle]
pub extern "C" fn take() -> i32 {
    input().len() as i32 & 0
}

#[no_mangle]
pub extern "C" fn echo() -> i32 {
    give(&input());
    0
}

// count writes {"count":N} for the vowels of its input.
#[no_mangle]
pub extern "C" fn count() -> i32 {
    let text = String::from_utf8_lossy(&input()).to_lowercase();
    let found = text.chars().filter(|c| "aeiou".contains(*c)).count();
    give(format!("{{\"count\":{}}}", found).as_bytes());
    0
}

// mixed sorts, counts words in a map, and writes text.
#[no_mangle]
pub extern "C" fn mixed() -> i32 {
    let mut x: u32 = 1;
    let mut total = 0;
    for _ in 0..4 {
        let mut numbers: Vec<u32> = (0..20_000)
            .map(|_| {
                x = x.wrapping_mul(1664525).wrapping_add(1013904223);
                x
            })
            .collect();
        numbers.sort();
        let mut words: BTreeMap<String, u32> = BTreeMap::new();
        for n in &numbers {
            *words.entry(format!("word{}", n % 997)).or_insert(0) += 1;
        }
        let text: Vec<String> = words.iter().map(|(w, n)| format!("{}={}", w, n)).collect();
        total += text.join(";").len();
    }
    (total == 0) as i32
}
