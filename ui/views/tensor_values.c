/* tensor_values.c: what the columns of tensors hold. */
#include "details.h"

int64_t tensor_value(const struct plan *plan, uint32_t id, enum column column)
{
	const struct tensor *tensor = &plan->graph->tensor[id];
	uint32_t storage = tensor->storage;
	const struct laid_out *laid_out = plan->laid_out;
	bool present = laid_out->first[storage] != NONE;
	int64_t first = present ? (int64_t)laid_out->first[storage] : -1;
	int64_t last = present ? (int64_t)laid_out->last[storage] : -1;
	switch (column) {
	case COLUMN_BYTES: return present ? laid_out->bytes[storage] : tensor->bytes;
	case COLUMN_KIND: return plan->graph->storage[storage].kind;
	case COLUMN_FIRST: return first;
	case COLUMN_LAST: return last;
	case COLUMN_LIFE: return present ? last - first + 1 : 0;
	case COLUMN_OFFSET: return present ? laid_out->offset[storage] : -1;
	case COLUMN_READERS: return csr_length(&plan->graph->users, storage);
	case COLUMN_SHAPE: return tensor->dims;
	case COLUMN_SHARE:
		return present && plan->ordered->peak_position != NONE && alive_at(plan, storage, plan->ordered->peak_position)
			? laid_out->bytes[storage] : 0;
	case COLUMN_DTYPE: return tensor->has_dtype ? tensor->dtype : -1;
	case COLUMN_PHASE: return tensor->writer == NONE ? -1 : plan->graph->op[tensor->writer].phase;
	default: return 0;
	}
}

const char *tensor_words(const struct plan *plan, uint32_t id, enum column column)
{
	const struct tensor *tensor = &plan->graph->tensor[id];
	const struct op *op = tensor->writer == NONE ? NULL : &plan->graph->op[tensor->writer];
	switch (column) {
	case COLUMN_NAME: return tensor->name;
	case COLUMN_MAKER: return op ? op->type : "";
	case COLUMN_MODULE: return op ? op->module : "";
	case COLUMN_SOURCE: return op && op->src ? op->src : "";
	default: return NULL;
	}
}

void tensor_value_text(const struct plan *plan, uint32_t id, enum column column, char *text, size_t size)
{
	const struct tensor *tensor = &plan->graph->tensor[id];
	bool present = plan->laid_out->first[tensor->storage] != NONE;
	const char *words;
	int64_t value = tensor_value(plan, id, column);
	if (!present && (column == COLUMN_OFFSET || column == COLUMN_FIRST || column == COLUMN_LAST)) {
		snprintf(text, size, "-");
		return;
	}
	switch (column) {
	case COLUMN_OFFSET:
	case COLUMN_BYTES: bytes_text(value, text, size); break;
	case COLUMN_KIND: snprintf(text, size, "%s", kind_names[plan->graph->storage[tensor->storage].kind]); break;
	case COLUMN_NAME: snprintf(text, size, "%s", tensor->name); break;
	case COLUMN_MAKER:
	case COLUMN_MODULE:
	case COLUMN_SOURCE: words = tensor_words(plan, id, column); snprintf(text, size, "%s", *words ? words : "-"); break;
	case COLUMN_SHAPE: tensor_shape_text(tensor, text, size); break;
	case COLUMN_DTYPE: snprintf(text, size, "%s", value < 0 ? "-" : dtype_names[value]); break;
	case COLUMN_PHASE: snprintf(text, size, "%s", value < 0 ? "-" : phase_names[value]); break;
	case COLUMN_SHARE:
		if (value > 0)
			snprintf(text, size, "%.1f %%", 100.0 * (double)value / (double)plan_peak(plan));
		else
			text[0] = '\0';
		break;
	default: snprintf(text, size, "%lld", (long long)value);
	}
}
