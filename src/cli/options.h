/* options.h: the table of options, and the one parser of command lines. --help and the manual are made from it. */
#pragma once

#include "src/models/models.h"
#include "src/read/read_options.h"
#include "src/scenario/scenario.h"
#include "subcommands.h"

#define BY(name) (1u << SUBCOMMAND_##name)
#define BY_PLANNERS (BY(plan) | BY(export) | BY(screen) | BY(sweep) | BY(fit) | BY(compare))
#define BY_READERS (BY_PLANNERS | BY(check) | BY(search) | BY(explore))
#define BY_ALL (~0u)

/* X(id, name, its letter or 0, its value's name or NULL, who takes it, help). A name may have several rows, of
 * different commands. */
#define OPTIONS(X) \
	X(set, "set", 's', "K=V", BY_PLANNERS | BY(search) | BY(explore), "set a knob; @FILE: those in a file, one a " \
		"line, or in a launcher's configuration; --K V is the same") \
	X(pin, "pin", 'p', "PIN", BY_PLANNERS | BY(explore), "add a constraint: \"pin op A before B\"") \
	X(vary, "vary", 0, "K=V1,V2,...", BY(sweep) | BY(export), "try these values of a knob, with all values of the " \
		"others that vary; of export --as html: those of one knob, to choose from in the page") \
	X(most_devices, "devices", 'n', "N", BY(fit), "devices to use: by changes, --max and --smallest-device") \
	X(fusions, "fusions", 0, "HOW", BY_READERS, "of XLA HLO: open, each instruction in a fusion is an op with a " \
		"result; closed (the default), the fusion is one op") \
	X(graph, "graph", 0, "N", BY_READERS, "which graph of a log to read, from 1 (default: the largest step)") \
	X(dim, "dim", 0, "NAME=SIZE", BY_READERS, "the size of a symbolic dim") \
	X(first, "first", 0, "OPTION=VALUE", BY(compare), "graph, dim or fusions of the first file: --first graph=2") \
	X(rules, "rules", 'r', "F", BY_PLANNERS | BY(check) | BY(explore), "rules of your own operators, one a line") \
	X(as, "as", 'a', "KIND", BY(plan) | BY(export) | BY(screen) | BY(compare), "what to write: of plan and export see " \
		"the list of kinds, of compare text, json, csv, svg, pdf, png, tikz or html, of a screen text, ansi or svg") \
	X(json, "json", 'j', NULL, BY(plan) | BY(layout) | BY(search) | BY(fit) | BY(compare), "write a JSON object") \
	X(csv, "csv", 0, NULL, BY(plan) | BY(sweep), "write CSV, with a line of names") \
	X(table, "table", 0, NULL, BY(sweep) | BY(replay), "write a table for people: of a session peak and arena before " \
		"each line that turns knobs") \
	X(allow_write, "allow-write", 0, NULL, BY(replay), "let the session read and write outside of its own folder") \
	X(view, "view", 'v', "V", BY(plan) | BY(export) | BY(screen), "which drawing or figure, see the list of views; of " \
		"a screen the view's number") \
	X(width, "width", 'w', "POINTS", BY(plan) | BY(export) | BY(compare), "width of a figure; a drawing folds to fit") \
	X(no_title, "no-title", 0, NULL, BY(plan) | BY(export), "a figure without its title") \
	X(no_legend, "no-legend", 0, NULL, BY(plan) | BY(export), "a figure without the legend and notes below it") \
	X(caption, "caption", 0, "F", BY(plan) | BY(export), "write to a text file what a figure shows, its knobs, and the " \
		"command that draws it again") \
	X(stage, "stage", 0, "S", BY(plan) | BY(export), "input: the graph as read; device: as planned, what one device " \
		"runs (the default)") \
	X(factors, "factors", 'f', NULL, BY(plan) | BY(export), "JSON: what every dim of every op means") \
	X(screen, "screen", 0, NULL, BY(screen), "the explorer's screen after some keys") \
	X(size, "size", 'z', "WxH", BY(screen), "columns and rows") \
	X(keys, "keys", 'k', "KEYS", BY(screen), "what is typed: names of keys, and words") \
	X(theme, "theme", 't', "NAME", BY(explore) | BY(screen), "colours: ansi, dark, light or mono") \
	X(ascii, "ascii", 0, NULL, BY(explore) | BY(screen), "draw with ASCII, whatever the locale says") \
	X(no_mouse, "no-mouse", 0, NULL, BY(explore), "leave the mouse to the terminal, to select text; the key m does so " \
		"for a while") \
	X(jobs, "jobs", 'j', "N", BY(sweep), "processes at once") \
	X(part, "part", 0, "I/N", BY(sweep), "plan every N-th scenario, from number I on") \
	X(resume, "resume", 0, "=SESSION", BY(sweep) | BY(explore), "take up the last session, or the one that is named; " \
		"of a sweep: plan only scenarios that --output lacks, and refuse lines of another sweep") \
	X(merge, "merge", 0, NULL, BY(sweep), "GRAPH and what follows are pieces of one sweep: put them together; with its " \
		"--vary, also says what is missing at the end") \
	X(capacity, "capacity", 'c', "N", BY(layout) | BY(check), "stop at the first layout within N bytes; exit status 1 " \
		"where there is none, or of check where it needs more") \
	X(strategy, "strategy", 's', "S", BY(layout), "how offsets are chosen (best; \"help\" lists them)") \
	X(alignment, "alignment", 'a', "N", BY(layout) | BY(check), "round sizes and offsets up to multiples of N (1; of " \
		"snapshots 512)") \
	X(device_number, "device", 'd', "N", BY(layout), "the device of a snapshot (the one with the most events)") \
	X(planned, "planned", 0, NULL, BY(check), "GRAPH may be the graph as planned") \
	X(numbers, "numbers", 0, NULL, BY(check), "don't plan, lay out or solve again") \
	X(max, "max", 0, "WHAT", BY(fit), "batch or sequence: the largest that fits, instead of changes") \
	X(smallest_device, "smallest-device", 0, NULL, BY(fit), "the preset with the least memory on which the step fits, " \
		"instead of changes") \
	X(best, "plan", 0, "N", BY(search), "how many of the best to plan, 0 for none (3); if none is estimated to fit, " \
		"those that need the least memory") \
	X(top, "top", 't', "N", BY(search), "how many to print (10)") \
	X(even, "even", 0, NULL, BY(search), "cut pipelines into equal numbers of layers, as launchers do, instead of " \
		"balancing them") \
	X(offload, "offload", 0, "WHAT", BY(search), "no (the default), activations, optimizer or all: what host " \
		"memory may take if a configuration doesn't fit without") \
	X(overhead, "overhead", 0, "X", BY(search), "memory counted beside model states and saved activations: X is " \
		"listed below") \
	X(precision, "precision", 0, "P", BY(model), "fp32, bf16, fp16, autocast or mixed (the default: fp16 with f32 " \
		"master weights and loss scaling)") \
	X(optimizer, "optimizer", 0, "O", BY(model), "none, sgd, momentum, adam (the default), adamw, adafactor, rmsprop, " \
		"adagrad, lion, muon or adamw8bit") \
	X(recompute, "recompute", 0, "R", BY(model), "none, selective (attention scores) or full (every layer)") \
	X(policy, "policy", 0, "P", BY(model), "what backward keeps: eager (as PyTorch, the default) or ideal") \
	X(loss, "loss", 0, "L", BY(model), "kernels (the default): as --kernels has it; or eager: op by op, on logits in " \
		"fp32, labels shifted beforehand, as where layers alone are compiled (llama, deepseek)") \
	X(kernels, "kernels", 0, "K", BY(model), "eager (the default of a config.json: the library's own ops), or fused: " \
		"grouped queries without copies, SwiGLU and loss in one kernel each (llama, deepseek)") \
	X(attention, "attention", 0, "A", BY(model), "math (keeps the scores) or flash (one kernel that doesn't)") \
	X(no_dropout, "no-dropout", 0, NULL, BY(model), "leave dropout layers out") \
	X(accumulate, "accumulate", 0, NULL, BY(model), "add gradients to buffers that live from step to step") \
	X(forward, "forward", 0, NULL, BY(model), "the forward pass alone") \
	X(time, "time", 't', "S", BY(plan) | BY(export) | BY(compare) | BY(layout) | BY(search) | BY(fit), \
		"stop after S seconds with the best so far; a plan that was cut short says so") \
	X(output, "output", 'o', "F", BY_ALL & ~(BY(explore) | BY(check) | BY(replay)), \
		"write to a file, which appears whole or not at all, compressed if its name ends in .gz; -: standard output") \
	X(version, "version", 'V', NULL, BY(explore), "version of the program and its libraries") \
	X(tables, "tables", 0, "NAME", BY(explore), NULL) \
	X(help, "help", 'h', NULL, BY_ALL, "this text")

#define X(id, name, letter, value, commands, help) OPTION_##id,
enum option_id { OPTIONS(X) OPTION_COUNT };
#undef X

struct option_row {
	const char *name; /* of a model's sizes, which come behind the others, with _ for - */
	char letter;
	const char *value; /* "=NAME": may be left out */
	unsigned commands; /* a bit each */
	const char *help;  /* NULL: not for people */
};
extern const struct option_row option_rows[];
extern const int option_row_count;

/* A file that an option names. */
struct file_option {
	int row;
	const char *file;
};
enum { FILES_READ = 16, FILES_WRITTEN = 2 };

/* The parts of a command line that commands share; what is zero is not there. */
struct command_line {
	enum subcommand_id command;
	struct scenario *scenario; /* takes --set and --pin; NULL: the command does itself */
	/* The command's other options, by row; a status of exit. May be NULL where it has none. */
	int (*take)(void *context, int row, const char *value);
	void *context;
	void (*help)(void); /* printed behind the options; may be NULL */
	const char *rules_file, *output;
	struct read_options reading; /* how the graph is read */
	double seconds;
	bool json, helped; /* helped: --help was printed, nothing is left to do */
	char **operand;    /* as many as the command's row names */
	bool several;      /* more than one of them may stand there; operands: how many do */
	int operands;
	struct file_option read[FILES_READ],
		written[FILES_WRITTEN]; /* beside operands: none of these may be overwritten, or written twice */
	int reads;
};

/* Reads argv from the command's name on. EXIT_FINE, or the status after saying what is wrong, and which option is
 * nearest to one that isn't there. */
int command_line_parse(struct command_line *line, int argc, char **argv);
/* What a command does, and its options. */
void command_line_help(enum subcommand_id command);
/* "q-rank" of q_rank. Returns text. */
char *option_name(const struct option_row *row, char *text, size_t size);

/* Values. Each is EXIT_FINE, or EXIT_USAGE after saying what the option expects. */
int option_number(
	const struct command_line *line, int row, const char *value, int64_t least, int64_t most, int64_t *number);
int option_word(
	const struct command_line *line, int row, const char *value, const char *const *words, int count, int *index);
