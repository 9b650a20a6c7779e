/* What memory is of has colours that colour-blind readers tell apart, on paper and on the screen; and grey prints keep
 * apart what is stacked on each other. Differences are CIE 1976's Delta E. Colour blindness is simulated as Machado et
 * al. do (IEEE TVCG 15:6, 2009, severity 1). */
#include <math.h>

#include "src/draw/figure.h"
#include "src/plan/timeline.h"
#include "tests/common/support.h"
#include "ui/screen/frame.h"
#include "ui/screen/theme.h"

#define LEAST 20.0

enum sight { FULL_SIGHT, DEUTERANOPIA, PROTANOPIA, GREY, SIGHTS };
static const char *const sights[SIGHTS] = { "normal sight", "deuteranopia", "protanopia", "grey" };
static const double matrix[SIGHTS][3][3] = {
	{ { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } },
	{ { 0.367322, 0.860646, -0.227968 }, { 0.280085, 0.672501, 0.047413 }, { -0.011820, 0.042940, 0.968881 } },
	{ { 0.152286, 1.052583, -0.204868 }, { 0.114503, 0.786281, 0.099216 }, { -0.003882, -0.048116, 1.051998 } },
	{ { 0.2126, 0.7152, 0.0722 }, { 0.2126, 0.7152, 0.0722 }, { 0.2126, 0.7152, 0.0722 } },
};

static double curve(double t)
{
	return t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116;
}

/* CIELAB (D65) of an sRGB colour, 0xRRGGBB, as it is seen. */
static void lab_of(unsigned colour, enum sight sight, double lab[3])
{
	double linear[3], seen[3];
	for (int i = 0; i < 3; i++) {
		double value = (colour >> (16 - 8 * i) & 255) / 255.0;
		linear[i] = value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
	}
	for (int i = 0; i < 3; i++)
		seen[i] = fmin(1,
			fmax(0,
				matrix[sight][i][0] * linear[0] + matrix[sight][i][1] * linear[1] + matrix[sight][i][2] * linear[2]));
	double x = curve((0.4124564 * seen[0] + 0.3575761 * seen[1] + 0.1804375 * seen[2]) / 0.95047);
	double y = curve(0.2126729 * seen[0] + 0.7151522 * seen[1] + 0.0721750 * seen[2]);
	double z = curve((0.0193339 * seen[0] + 0.1191920 * seen[1] + 0.9503041 * seen[2]) / 1.08883);
	lab[0] = 116 * y - 16;
	lab[1] = 500 * (x - y);
	lab[2] = 200 * (y - z);
}

static double difference(unsigned a, unsigned b, enum sight sight)
{
	double one[3], other[3];
	lab_of(a, sight, one);
	lab_of(b, sight, other);
	return sqrt(pow(one[0] - other[0], 2) + pow(one[1] - other[1], 2) + pow(one[2] - other[2], 2));
}

/* Any two by hue; by lightness, too, those that are neighbours in a stack: each and the next, and before the last any
 * two (some kinds may be missing). */
static void expect_apart(const char *where, const unsigned *colour, int colours, bool any)
{
	for (int i = 0; i < colours; i++)
		for (int k = 0; k < i; k++)
			for (int sight = 0; sight < (k == i - 1 || (any && i < colours - 1) ? SIGHTS : GREY); sight++) {
				double apart = difference(colour[i], colour[k], (enum sight)sight);
				cr_expect_geq(apart, LEAST, "%s: %06X and %06X are %.1f apart: %s", where, colour[k], colour[i], apart,
					sights[sight]);
			}
}

static unsigned colour_of(const char *hex)
{
	return (unsigned)strtoul(hex + 1, NULL, 16);
}

/* Of 0xRRGGBB, as WCAG 2.1 defines it. */
static double contrast(unsigned one, unsigned other)
{
	double light[2];
	for (int k = 0; k < 2; k++) {
		light[k] = 0.05;
		for (int i = 0; i < 3; i++) {
			double value = ((k ? other : one) >> (16 - 8 * i) & 255) / 255.0;
			light[k] += matrix[GREY][0][i] * (value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4));
		}
	}
	return fmax(light[0], light[1]) / fmin(light[0], light[1]);
}

/* Of xterm's 256 colours, those that don't depend on the terminal. */
static unsigned colour_of_terminal(int number)
{
	static const unsigned cube[] = { 0, 95, 135, 175, 215, 255 };
	cr_assert_geq(number, 16);
	unsigned n = (unsigned)number - 16, grey = 8 + 10 * (n - 216);
	return n >= 216 ? grey << 16 | grey << 8 | grey : cube[n / 36] << 16 | cube[n / 6 % 6] << 8 | cube[n % 6];
}

Test(palette, figures_tell_kinds_of_memory_apart_without_red_or_green_and_in_grey)
{
	unsigned colour[GROUP_COUNT];
	for (int group = 0; group < GROUP_COUNT; group++)
		colour[group] = colour_of(group_colours[group]);
	expect_apart("figures", colour, GROUP_COUNT, false);
}

/* What lies beside each other in bars and slots. */
Test(palette, bars_and_slots_tell_neighbours_apart_without_red_or_green)
{
	for (int sight = 0; sight < GREY; sight++) {
		for (int i = 1; i < PIPELINE_PARTS; i++)
			cr_expect_geq(
				difference(colour_of(pipeline_colours[i - 1]), colour_of(pipeline_colours[i]), (enum sight)sight),
				LEAST, "passes %d", i);
		for (int i = 1; i < STEP_LIMITS; i++)
			cr_expect_geq(
				difference(colour_of(time_colours[i - 1]), colour_of(time_colours[i]), (enum sight)sight),
				LEAST, "limits %d", i);
	}
}

Test(palette, screens_tell_kinds_of_memory_apart_without_red_or_green_and_in_grey)
{
	static const int kinds[] = { KIND_PARAMETER, KIND_ACTIVATION, KIND_GRADIENT, KIND_TEMPORARY, CATEGORY_WORKSPACE };
	static const enum theme themes[] = { THEME_DARK, THEME_LIGHT };
	for (size_t t = 0; t < 2; t++) {
		struct palette palette = { .mono = false };
		unsigned colour[GROUP_COUNT];
		palette_fill(&palette, themes[t]);
		for (int i = 0; i < GROUP_COUNT; i++)
			colour[i] = colour_of_terminal(palette.look[role_of_category(kinds[i], 0)].colour);
		expect_apart(theme_names[themes[t]], colour, GROUP_COUNT, true);
	}
}

/* On black, a dark grey and Solarized's ground; on white and Solarized's light one. */
Test(palette, words_and_lines_stand_out_of_usual_grounds)
{
	static const unsigned grounds[][4] = { { 0x000000, 0x1e1e1e, 0x002b36, 0x002b36 }, { 0xffffff, 0xfdf6e3, 0xfdf6e3,
		0xfdf6e3 } };
	static const enum theme themes[] = { THEME_DARK, THEME_LIGHT };
	for (int theme = 0; theme < 2; theme++)
		for (int role = 0; role < CELL_ROLES; role++) {
			struct palette palette = { .mono = false };
			palette_fill(&palette, themes[theme]);
			bool area = role >= ROLE_KIND && role < (int)role_of_word(0);
			if (palette.look[role].colour < 0 || area || role == ROLE_EMPTY)
				continue;
			for (int i = 0; i < 4; i++)
				cr_expect_geq(contrast(colour_of_terminal(palette.look[role].colour), grounds[theme][i]),
					role < ROLE_KIND && role != ROLE_LINE ? 4.5 : 3.0, "%s: role %d on %06X", theme_names[themes[theme]], role,
					grounds[theme][i]);
		}
}
