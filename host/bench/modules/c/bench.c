// The benchmarks' guest in C, over Extism's plain ABI; with BULK it copies whole blocks
// by bulkhead:host/mem. No library: clang and wasm-ld are all it needs.
#include <stddef.h>
#include <stdint.h>

#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

IMPORT("extism:host/env", "input_length") uint64_t input_length(void);
IMPORT("extism:host/env", "input_offset") uint64_t input_offset(void);
IMPORT("extism:host/env", "input_load_u8") uint32_t input_load_u8(uint64_t at);
IMPORT("extism:host/env", "input_load_u64") uint64_t input_load_u64(uint64_t at);
IMPORT("extism:host/env", "alloc") uint64_t alloc(uint64_t n);
IMPORT("extism:host/env", "store_u8") void store_u8(uint64_t at, uint32_t byte);
IMPORT("extism:host/env", "store_u64") void store_u64(uint64_t at, uint64_t word);
IMPORT("extism:host/env", "output_set") void output_set(uint64_t at, uint64_t n);
#ifdef BULK
IMPORT("bulkhead:host/mem", "read") void bulk_read(uint64_t at, void *to, uint32_t n);
IMPORT("bulkhead:host/mem", "write") void bulk_write(uint64_t at, const void *from, uint32_t n);
#endif

#define ROOM (1 << 20)
static uint8_t buffer[ROOM];

static uint64_t take_input(void) {
	uint64_t n = input_length();
	if (n > ROOM) n = ROOM;
#ifdef BULK
	bulk_read(input_offset(), buffer, (uint32_t)n);
#else
	uint64_t i = 0;
	for (; i + 8 <= n; i += 8) *(uint64_t *)(buffer + i) = input_load_u64(i);
	for (; i < n; i++) buffer[i] = (uint8_t)input_load_u8(i);
#endif
	return n;
}

static void give(const uint8_t *from, uint64_t n) {
	uint64_t at = alloc(n);
#ifdef BULK
	bulk_write(at, from, (uint32_t)n);
#else
	uint64_t i = 0;
	for (; i + 8 <= n; i += 8) store_u64(at + i, *(const uint64_t *)(from + i));
	for (; i < n; i++) store_u8(at + i, from[i]);
#endif
	output_set(at, n);
}

EXPORT("take") int32_t take(void) {
	take_input();
	return 0;
}

EXPORT("echo") int32_t echo(void) {
	give(buffer, take_input());
	return 0;
}

// count writes {"count":N} for the vowels of its input.
EXPORT("count") int32_t count(void) {
	uint64_t n = take_input();
	uint32_t found = 0;
	for (uint64_t i = 0; i < n; i++) {
		uint8_t c = buffer[i] | 0x20;
		found += c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u';
	}
	static uint8_t out[] = "{\"count\":0000000000}";
	uint8_t digits[10];
	int k = 0;
	do digits[k++] = '0' + found % 10; while (found /= 10);
	int at = 9;
	while (k) out[at++] = digits[--k];
	out[at++] = '}';
	give(out, at);
	return 0;
}

// tight is a loop with nothing but its counter.
EXPORT("tight") int32_t tight(void) {
	for (uint32_t i = 30 * 1000 * 1000; i; i--) __asm__ volatile("" : "+r"(i));
	return 0;
}

static uint32_t numbers[20000];

static void sort(uint32_t *a, int n) {
	for (int gap = n / 2; gap; gap /= 2)
		for (int i = gap; i < n; i++) {
			uint32_t v = a[i];
			int j = i;
			for (; j >= gap && a[j - gap] > v; j -= gap) a[j] = a[j - gap];
			a[j] = v;
		}
}

// mixed makes numbers, sorts them, sieves and hashes.
EXPORT("mixed") int32_t mixed(void) {
	uint32_t x = 1, hash = 2166136261u;
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 20000; i++) numbers[i] = x = x * 1664525u + 1013904223u;
		sort(numbers, 20000);
		for (int i = 0; i < ROOM; i++) buffer[i] = 1;
		for (int i = 2; i * i < ROOM; i++)
			if (buffer[i])
				for (int j = i * i; j < ROOM; j += i) buffer[j] = 0;
		for (int i = 0; i < ROOM; i++) hash = (hash ^ buffer[i] ^ numbers[i % 20000]) * 16777619u;
	}
	buffer[0] = (uint8_t)hash;
	return 0;
}
