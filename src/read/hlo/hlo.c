/* hlo.c: shapes and types of HLO. */
#include "hlo.h"

static const struct { const char *name; int dtype;
} types[] = {
	{ "pred", DTYPE_BOOL },
	{ "s4", DTYPE_I4 },
	{ "s8", DTYPE_I8 },
	{ "s16", DTYPE_I16 },
	{ "s32", DTYPE_I32 },
	{ "s64", DTYPE_I64 },
	{ "u4", DTYPE_U4 },
	{ "u8", DTYPE_U8 },
	{ "u16", DTYPE_U16 },
	{ "u32", DTYPE_U32 },
	{ "u64", DTYPE_U64 },
	{ "f16", DTYPE_F16 },
	{ "bf16", DTYPE_BF16 },
	{ "f32", DTYPE_F32 },
	{ "f64", DTYPE_F64 },
	{ "c64", DTYPE_C64 },
	{ "c128", DTYPE_C128 },
	{ "f8e4m3fn", DTYPE_F8E4M3 },
	{ "f8e4m3", DTYPE_F8E4M3 },
	{ "f8e5m2", DTYPE_F8E5M2 },
	{ "f8e4m3b11fnuz", DTYPE_F8E4M3 },
	{ "f8e4m3fnuz", DTYPE_F8E4M3 },
	{ "f8e5m2fnuz", DTYPE_F8E5M2 },
	{ "f8e3m4", DTYPE_F8E4M3 },
	{ "f8e8m0fnu", DTYPE_U8 },
	{ "f4e2m1fn", DTYPE_U4 },
	{ "s2", DTYPE_I4 },
	{ "u2", DTYPE_U4 },
	{ "s1", DTYPE_I4 },
	{ "u1", DTYPE_U4 },
	{ "token", DTYPE_COUNT },
	{ "opaque", DTYPE_COUNT },
};

int hlo_dtype(const char *name, size_t length)
{
	FOR(i, COUNT_OF(types))
		if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0)
			return types[i].dtype;
	return -1;
}

uint32_t hlo_layout(uint32_t layout, const char *text, size_t size)
{
	uint64_t hash = layout;
	FOR_SIZE(i, size)
		hash = hash_join(hash, (unsigned char)text[i]);
	return (uint32_t)hash;
}

void hlo_add_devices(struct hlo_module *module, uint32_t devices)
{
	if (devices > module->devices && devices <= HLO_DEVICES_MOST)
		module->devices = devices;
}

bool hlo_partitioned_away(const char *target, size_t length)
{
	static const char *const targets[] = { "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape" };
	FOR(i, COUNT_OF(targets))
		if (length == strlen(targets[i]) && memcmp(target, targets[i], length) == 0)
			return true;
	return length > 8 && memcmp(target, "xla.sdy.", 8) == 0;
}

bool hlo_shape_finish(struct hlo_shape *shape)
{
	int64_t bits = dtype_bits[shape->dtype];
	shape->leaves = shape->tuple ? 0 : 1;
	shape->bytes = 0;
	FOR(i, shape->parts)
		if (__builtin_add_overflow(shape->bytes, shape->part[i].bytes, &shape->bytes) || shape->bytes > BYTES_MAX
			|| __builtin_add_overflow(shape->leaves, shape->part[i].leaves, &shape->leaves))
			return false;
	if (shape->tuple)
		return true;
	shape->unsized |= bits == 0;
	FOR_INT(i, shape->rank)
		if (shape->dim[i] < 0 || __builtin_mul_overflow(bits, shape->dim[i], &bits) || bits > BYTES_MAX)
			return false;
	shape->bytes = shape->unsized ? 0 : (bits + 7) / 8;
	return true;
}

void hlo_free(struct hlo_module *module)
{
	mem_free(module->computation);
	arena_free(&module->arena);
}
