/* device_fit.c: from times to the figures of a device. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device_fit.h"

#define LEAST_SHAPES 4          /* fewer tell nothing */
#define LEAST_TINY 5
#define ROWS_MOST 300
#define TINY_BYTES 32768        /* ops that a launch sets the time of */
#define TINY_FLOPS 1000000
#define ABOVE_LAUNCH 1.5        /* others take as much more than it, at least */
#define SMALL_MESSAGE 65536
#define LARGE_MESSAGE 1048576
#define EAGER_LEAST 500         /* thousandths, where only other ops tell the memory's speed */
#define EAGER_MOST 10000
#define SHARE_LEAST 20          /* thousandths: a peak that is reached worse is not this device's */

/* ---- the base -------------------------------------------------------------------------------- */

/* The part of a preset's name before its first "-": "h100". */
static size_t model_length(const char *preset)
{
	return strcspn(preset, "-");
}

enum device device_called(const char *name, int64_t memory)
{
	char plain[100] = "";
	size_t length = 0, longest = 0;
	enum device found = DEVICE_NONE;
	double nearest = 0;
	for (; *name && length + 1 < sizeof plain; name++)
		if (isalnum((unsigned char)*name))
			plain[length++] = (char)tolower((unsigned char)*name);
	for (int i = DEVICE_NONE + 1; i < DEVICE_COUNT; i++) {
		struct device_preset preset = device_preset((enum device)i);
		char model[40];
		size_t part = model_length(preset.name);
		snprintf(model, sizeof model, "%.*s", (int)part, preset.name);
		double far = memory > 0 ? fabs(log((double)preset.machine.memory / (double)memory)) : 0;
		bool pcie = strstr(preset.name, "pcie") != NULL, wanted = strstr(plain, "pcie") != NULL;
		far += pcie != wanted && (pcie || !wanted) ? 1 : 0;
		if (!strstr(plain, model) || part < longest || (part == longest && found != DEVICE_NONE && far >= nearest))
			continue;
		found = (enum device)i;
		longest = part;
		nearest = far;
	}
	return found;
}

/* ---- medians --------------------------------------------------------------------------------- */

struct weighed { double value, weight; };

static int device_fit_by_value(const void *left, const void *right)
{
	const struct weighed *a = left, *b = right;
	return (a->value > b->value) - (a->value < b->value);
}

/* By weight; 0 of nothing. Sorts. */
static double median(struct weighed *item, uint32_t count)
{
	double all = 0, sum = 0;
	qsort(item, count, sizeof *item, device_fit_by_value);
	for (uint32_t i = 0; i < count; i++)
		all += item[i].weight;
	for (uint32_t i = 0; i < count; i++)
		if ((sum += item[i].weight) * 2 >= all)
			return item[i].value;
	return 0;
}

/* ---- ops that tell a figure ------------------------------------------------------------------ */

struct fitting {
	struct device_fit *fit;
	const struct samples *samples;
	uint32_t *row, rows;        /* [ROWS_MOST at most in a fit] samples that tell the figure at hand */
	struct weighed *item;
	bool links, far;            /* rows are collectives */
	struct machine from;        /* before the points of a curve move */
	struct efficiency *curve;   /* of the preset: the one that moves */
};

static double op_seconds(const struct machine *machine, const struct op_sample *sample)
{
	struct op_work work = sample_work(sample);
	struct machine eager = *machine;
	eager.fused = machine->eager;
	eager.joins_updates = false;
	return (double)op_work_time(&eager, &work, sample->flops, sample->bytes) / 1e12;
}

static double link_seconds(const struct machine *machine, const struct collective_sample *sample)
{
	struct mesh_axis axis = {
		.size = sample->size, .near_size = sample->near, .near = machine->near, .far = machine->far
	};
	return (double)collective_time(&axis, sample->kind, sample->bytes) / 1e12;
}

static double measured(const struct fitting *fitting, uint32_t row)
{
	return fitting->links ? fitting->samples->collective[fitting->row[row]].seconds
		: fitting->samples->op[fitting->row[row]].seconds;
}

static double predicted(const struct fitting *fitting, const struct machine *machine, uint32_t row)
{
	double seconds = fitting->links ? link_seconds(machine, &fitting->samples->collective[fitting->row[row]])
		: op_seconds(machine, &fitting->samples->op[fitting->row[row]]);
	return fmax(seconds, 1e-12);
}

static uint32_t device_fit_count_of(const struct fitting *fitting, uint32_t row)
{
	return fitting->links ? fitting->samples->collective[fitting->row[row]].count
		: fitting->samples->op[fitting->row[row]].count;
}

/* Classes by bits. Ops whose time a launch doesn't set and, for products, memory traffic doesn't. */
static void pick_ops(struct fitting *fitting, unsigned classes, int format)
{
	const struct machine *machine = &fitting->fit->preset.machine;
	fitting->rows = 0;
	fitting->links = false;
	for (uint32_t i = 0; i < fitting->samples->ops; i++) {
		const struct op_sample *sample = &fitting->samples->op[i];
		bool matrix = sample->class <= SAMPLE_ATTENTION;
		double traffic = (double)sample->bytes /
			((double)machine->memory_rate * efficiency_at(&machine->traffic, sample->bytes) / 1000);
		if (!(classes >> sample->class & 1) || (format >= 0 && sample->format != format) ||
			sample->seconds < ABOVE_LAUNCH * (double)machine->launch / 1e12)
			continue;
		if (!matrix || (sample->flops > 0 && traffic < 0.7 * sample->seconds))
			fitting->row[fitting->rows++] = i;
	}
}

/* Of predicted by measured: above 1 where the device is faster than counted with. What else than the figure at hand
 * might set a time is taken away: the launch, which is below all that was picked, and of products the memory. */
static double faster(struct fitting *fitting, const struct machine *counted)
{
	struct machine plain = *counted, *machine = &plain;
	plain.launch = 0;
	if (!fitting->links && fitting->rows > 0 && fitting->samples->op[fitting->row[0]].class <= SAMPLE_ATTENTION)
		plain.memory_rate = INT64_MAX;
	for (uint32_t i = 0; i < fitting->rows; i++)
		fitting->item[i] = (struct weighed){ predicted(fitting, machine, i) / measured(fitting, i),
			measured(fitting, i) * device_fit_count_of(fitting, i) };
	return median(fitting->item, fitting->rows);
}

/* Of all predicted time by all measured: for ops so different that only their sum can be met. */
static double faster_in_sum(struct fitting *fitting, const struct machine *machine)
{
	double all = 0, sum = 0;
	for (uint32_t i = 0; i < fitting->rows; i++) {
		all += predicted(fitting, machine, i) * device_fit_count_of(fitting, i);
		sum += measured(fitting, i) * device_fit_count_of(fitting, i);
	}
	return sum > 0 ? all / sum : 1;
}

/* The rows at hand have told a figure, which the preset has by now. */
static void device_fit_tell(struct fitting *fitting, enum figure_id figure)
{
	struct figure_fit *told = &fitting->fit->figure[figure];
	*told = (struct figure_fit){ .told = true, .shapes = fitting->rows, .left_out = -1 };
	for (uint32_t i = 0; i < fitting->rows; i++) {
		told->count += device_fit_count_of(fitting, i);
		fitting->item[i] = (struct weighed){
			fabs(predicted(fitting, &fitting->fit->preset.machine, i) / measured(fitting, i) - 1), 1
		};
	}
	told->off = median(fitting->item, fitting->rows);
}

static uint16_t device_fit_share(double thousandths)
{
	return (uint16_t)fmax(1, fmin(60000, round(thousandths)));
}

/* ---- fits of several factors ----------------------------------------------------------------- */

static void device_fit_apply(const struct fitting *fitting, const double *factor, struct machine *machine)
{
	*machine = fitting->from;
	if (fitting->links) {
		struct link *link = fitting->far ? &machine->far : &machine->near;
		link->rate = (int64_t)fmax(1, (double)link->rate * factor[0]);
		link->latency = (int64_t)fmax(1, (double)link->latency * factor[1]);
		return;
	}
	struct efficiency *curve = (struct efficiency *)(void *)((char *)machine +
		((char *)fitting->curve - (char *)&fitting->fit->preset.machine));
	for (int i = 0; i < EFFICIENCY_POINTS; i++)
		curve->point[i].share = device_fit_share(curve->point[i].share * factor[i]);
}

static double device_fit_predict(void *context, uint32_t row, const double *factor)
{
	const struct fitting *fitting = context;
	struct machine machine;
	device_fit_apply(fitting, factor, &machine);
	return predicted(fitting, &machine, row);
}

static int device_fit_by_time(const void *left, const void *right)
{
	const struct weighed *a = left, *b = right;
	return a->weight > b->weight ? -1 : a->weight < b->weight ? 1 : (a->value > b->value) - (a->value < b->value);
}

/* The rows that take most time. */
static void keep_longest(struct fitting *fitting)
{
	if (fitting->rows <= ROWS_MOST)
		return;
	for (uint32_t i = 0; i < fitting->rows; i++)
		fitting->item[i] = (struct weighed){ fitting->row[i], measured(fitting, i) * device_fit_count_of(fitting, i) };
	qsort(fitting->item, fitting->rows, sizeof *fitting->item, device_fit_by_time);
	fitting->rows = ROWS_MOST;
	for (uint32_t i = 0; i < fitting->rows; i++)
		fitting->row[i] = (uint32_t)fitting->item[i].value;
}

static double typical_error(struct fitting *fitting, const struct fit_row *row, bool left_out)
{
	for (uint32_t i = 0; i < fitting->rows; i++)
		fitting->item[i] = (struct weighed){ fabs((left_out ? row[i].left_out : row[i].fitted) / row[i].measured - 1), 1 };
	return median(fitting->item, fitting->rows);
}

/* Moves what device_fit_apply() moves. *told: the factors that the rows tell. */
static enum status device_fit_move(struct fitting *fitting, uint32_t factors, struct figure_fit *figure, bool *told)
{
	keep_longest(fitting);
	HELD struct fit_row *row = mem_alloc((size_t)fitting->rows + 1, sizeof *row);
	struct fit fit = {
		.row = row, .rows = fitting->rows, .factors = factors, .predict = device_fit_predict, .context = fitting
	};
	fitting->from = fitting->fit->preset.machine;
	for (uint32_t i = 0; row && i < fitting->rows; i++)
		row[i].measured = measured(fitting, i);
	enum status status = row ? fit_rows(&fit) : NO_MEMORY;
	if (status == OK) {
		device_fit_apply(fitting, fit.factor, &fitting->fit->preset.machine);
		figure->off = typical_error(fitting, row, false);
		figure->left_out = typical_error(fitting, row, true);
		for (uint32_t f = 0; f < factors; f++)
			told[f] = fit.told[f];
	}
	return status;
}

/* ---- figure by figure ------------------------------------------------------------------------ */

static void find_launch(struct fitting *fitting)
{
	uint32_t ops = 0;
	fitting->rows = 0;
	fitting->links = false;
	for (uint32_t i = 0; i < fitting->samples->ops; i++) {
		const struct op_sample *sample = &fitting->samples->op[i];
		if (sample->bytes > TINY_BYTES || sample->flops > TINY_FLOPS)
			continue;
		fitting->item[fitting->rows] = (struct weighed){ sample->seconds, sample->count };
		fitting->row[fitting->rows++] = i;
		ops += sample->count;
	}
	if (ops < LEAST_TINY)
		return;
	fitting->fit->preset.machine.launch = (int64_t)fmax(1, round(median(fitting->item, fitting->rows) * 1e12));
	device_fit_tell(fitting, FIGURE_LAUNCH);
}

/* A curve as a whole, or its peak where the shares can't be. */
static void scale_curve(struct fitting *fitting, double times, struct efficiency *curve, int64_t *peak,
	enum figure_id figure, enum figure_id of_peak)
{
	double most = 0;
	for (int i = 0; i < EFFICIENCY_POINTS; i++)
		most = fmax(most, curve->point[i].share * times);
	if (most < SHARE_LEAST || most > 1000) {
		*peak = (int64_t)fmax(1, (double)*peak * times);
		device_fit_tell(fitting, of_peak);
		return;
	}
	for (int i = 0; i < EFFICIENCY_POINTS; i++)
		curve->point[i].share = device_fit_share(curve->point[i].share * times);
	device_fit_tell(fitting, figure);
}

/* ... and then point by point, by ops that are of one kind. */
static enum status find_curve(
	struct fitting *fitting, struct efficiency *curve, int64_t *peak, enum figure_id figure, enum figure_id of_peak)
{
	double most = 0;
	bool told[FIT_FACTORS];
	scale_curve(fitting, faster(fitting, &fitting->fit->preset.machine), curve, peak, figure, of_peak);
	device_fit_tell(fitting, figure);
	fitting->curve = curve;
	enum status status = device_fit_move(fitting, EFFICIENCY_POINTS, &fitting->fit->figure[figure], told);
	most = 0;
	for (int i = 0; i < EFFICIENCY_POINTS; i++)
		most = fmax(most, curve->point[i].share);
	if (status == OK && most > 1000) {          /* more than the peak: then that is higher */
		*peak = (int64_t)((double)*peak * most / 1000);
		device_fit_tell(fitting, of_peak);
		for (int i = 0; i < EFFICIENCY_POINTS; i++)
			curve->point[i].share = device_fit_share(curve->point[i].share * 1000 / most);
	}
	return status;
}

static enum status find_traffic(struct fitting *fitting)
{
	struct machine *machine = &fitting->fit->preset.machine;
	enum status status = OK;
	pick_ops(fitting, 1u << SAMPLE_COPY | 1u << SAMPLE_FUSED, -1);
	bool streams = fitting->rows >= LEAST_SHAPES;
	if (streams)
		status = find_curve(fitting, &machine->traffic, &machine->memory_rate, FIGURE_TRAFFIC, FIGURE_TRAFFIC_PEAK);
	pick_ops(fitting, 1u << SAMPLE_EAGER, -1);
	if (status != OK || fitting->rows < LEAST_SHAPES)
		return status;
	double times = faster_in_sum(fitting, machine), eager = machine->eager / times;
	if (streams || (eager >= EAGER_LEAST && eager <= EAGER_MOST)) {
		machine->eager = device_fit_share(eager);
		device_fit_tell(fitting, FIGURE_EAGER);
	} else {          /* another memory than the base's */
		scale_curve(fitting, times, &machine->traffic, &machine->memory_rate, FIGURE_TRAFFIC, FIGURE_TRAFFIC_PEAK);
	}
	return OK;
}

static enum status find_products(struct fitting *fitting)
{
	static const enum figure_id peaks[FORMAT_COUNT] = { FIGURE_FP64, FIGURE_FP32, FIGURE_FP16, FIGURE_BF16, FIGURE_FP8 };
	struct machine *machine = &fitting->fit->preset.machine;
	double seconds, most = 0;
	int main = -1;
	for (int format = 0; format < FORMAT_F8; format++) {
		seconds = 0;
		pick_ops(fitting, 1u << SAMPLE_PRODUCT, format);
		for (uint32_t i = 0; i < fitting->rows; i++)
			seconds += measured(fitting, i) * device_fit_count_of(fitting, i);
		if (fitting->rows >= LEAST_SHAPES && seconds > most) {
			most = seconds;
			main = format;
		}
	}
	if (main < 0)
		return OK;
	pick_ops(fitting, 1u << SAMPLE_PRODUCT, main);
	enum status status = find_curve(fitting, &machine->matrix, &machine->matrix_rate[main], FIGURE_MATRIX, peaks[main]);
	for (int format = 0; format < FORMAT_COUNT && status == OK; format++) {
		if (format == main)
			continue;
		pick_ops(fitting, 1u << SAMPLE_PRODUCT, format);
		if (fitting->rows < LEAST_SHAPES)
			continue;
		double times = faster(fitting, machine);
		if (format == FORMAT_F8)
			machine->narrow = device_fit_share(machine->narrow * times);
		else
			machine->matrix_rate[format] = (int64_t)fmax(1, (double)machine->matrix_rate[format] * times);
		device_fit_tell(fitting, format == FORMAT_F8 ? FIGURE_NARROW : peaks[format]);
	}
	pick_ops(fitting, 1u << SAMPLE_ATTENTION, -1);
	if (status == OK && fitting->rows > 0) {
		machine->attention = device_fit_share(
			(machine->attention > 0 ? machine->attention : 1000) * faster(fitting, machine));
		device_fit_tell(fitting, FIGURE_ATTENTION);
	}
	return status;
}

/* Collectives of so many bytes, within nodes or across. */
static void pick_links(struct fitting *fitting, bool far, int64_t least, int64_t most)
{
	fitting->links = true;
	fitting->far = far;
	fitting->rows = 0;
	for (uint32_t i = 0; i < fitting->samples->collectives; i++) {
		const struct collective_sample *sample = &fitting->samples->collective[i];
		if ((sample->near < sample->size) == far && sample->bytes >= least && sample->bytes <= most)
			fitting->row[fitting->rows++] = i;
	}
}

static enum status device_fit_find_links(struct fitting *fitting, bool far)
{
	struct machine *machine = &fitting->fit->preset.machine;
	struct link *link = far ? &machine->far : &machine->near;
	enum figure_id rate = far ? FIGURE_FAR : FIGURE_NEAR, hop = far ? FIGURE_FAR_HOP : FIGURE_NEAR_HOP;
	bool small, large, told[FIT_FACTORS];
	pick_links(fitting, far, 1, SMALL_MESSAGE);
	small = fitting->rows > 0;
	if (small)
		link->latency = (int64_t)fmax(1, (double)link->latency / faster(fitting, machine));
	pick_links(fitting, far, LARGE_MESSAGE, INT64_MAX);
	large = fitting->rows > 0;
	if (large)
		link->rate = (int64_t)fmax(1, (double)link->rate * faster(fitting, machine));
	pick_links(fitting, far, 1, INT64_MAX);
	if (fitting->rows == 0)
		return OK;
	struct figure_fit *figure = &fitting->fit->figure[rate];
	device_fit_tell(fitting, rate);
	enum status status = device_fit_move(fitting, 2, figure, told);
	fitting->fit->figure[hop] = *figure;
	fitting->fit->figure[hop].told = small || told[1];
	figure->told = large || told[0];
	return status;
}

enum status device_fit_find(struct device_fit *fit, enum device base, int64_t memory, const struct samples *samples)
{
	struct fitting fitting = { .fit = fit, .samples = samples };
	uint32_t most = samples->ops > samples->collectives ? samples->ops : samples->collectives;
	*fit = (struct device_fit){ .base = base, .preset = device_preset(base) };
	fitting.row = mem_alloc((size_t)most + 1, sizeof *fitting.row);
	fitting.item = mem_alloc((size_t)most + 1, sizeof *fitting.item);
	enum status status = fitting.row && fitting.item ? OK : NO_MEMORY;
	if (memory > 0) {
		fit->preset.machine.memory = memory;
		fit->figure[FIGURE_MEMORY] = (struct figure_fit){ .told = true };
	}
	if (status == OK) {
		find_launch(&fitting);
		status = find_traffic(&fitting);
	}
	THEN(status, find_products(&fitting));
	THEN(status, device_fit_find_links(&fitting, false));
	THEN(status, device_fit_find_links(&fitting, true));
	mem_free(fitting.row);
	mem_free(fitting.item);
	return status;
}

/* ---- what was found -------------------------------------------------------------------------- */

static void print_figure(const struct device_fit *fit, enum figure_id figure, const char *prefix, FILE *file)
{
	struct device_preset base = device_preset(fit->base);
	const struct figure_fit *found = &fit->figure[figure];
	char was[120], is[120];
	fprintf(file, "%s  %-17s %s, was %s", prefix, figure_name(figure), figure_text(figure, &fit->preset, is, sizeof is),
		figure_text(figure, &base, was, sizeof was));
	if (found->count == 0)
		fprintf(file, ": the device says so\n");
	else
		fprintf(file, "\n%s  %-17s from %u %s%s of %u shape%s", prefix, "", found->count,
			figure >= FIGURE_NEAR ? "collective" : "op", found->count == 1 ? "" : "s", found->shapes,
			found->shapes == 1 ? "" : "s");
	if (found->count > 0)
		fprintf(file, ", off by %.1f %% (median)", 100 * found->off);
	if (found->count > 0 && found->left_out >= 0)
		fprintf(file, ", %.1f %% of shapes left out of the fit", 100 * found->left_out);
	if (found->count > 0)
		fputc('\n', file);
}

void device_fit_print(const struct device_fit *fit, const struct samples *samples, const char *prefix, FILE *file)
{
	uint32_t stay = 0;
	for (int class = 0; class < SAMPLE_CLASS_COUNT; class++)
		if (samples->ops_of[class] > 0)
			fprintf(file, "%s%u %s, %.4g s\n", prefix, samples->ops_of[class], sample_class_names[class],
				samples->seconds_of[class]);
	if (samples->others > 0)
		fprintf(file, "%s%u ops of %.4g s don't count: no rule knows them, or their operands aren't in the trace\n",
			prefix, samples->others, samples->other_seconds);
	fprintf(file, "%smeasured:\n", prefix);
	for (int figure = 0; figure < FIGURE_COUNT; figure++)
		if (fit->figure[figure].told)
			print_figure(fit, (enum figure_id)figure, prefix, file);
	fprintf(file, "%sas %s has them:", prefix, device_preset(fit->base).name);
	for (int figure = FIGURE_NAME + 1; figure < FIGURE_COUNT; figure++)
		if (!fit->figure[figure].told)
			fprintf(file, "%s %s", stay++ ? "," : "", figure_name((enum figure_id)figure));
	fputc('\n', file);
}

void device_fit_save(
	const struct device_fit *fit, const struct samples *samples, const char *title, const char *name, FILE *file)
{
	char text[200];
	fprintf(file, "# %s\n", title);
	device_fit_print(fit, samples, "# ", file);
	fprintf(file, "base=%s\nname=%s\n", device_preset(fit->base).name, name);
	for (int figure = FIGURE_NAME + 1; figure < FIGURE_COUNT; figure++)
		if (fit->figure[figure].told)
			fprintf(file, "%s=%s\n", figure_name((enum figure_id)figure),
				figure_text((enum figure_id)figure, &fit->preset, text, sizeof text));
}
