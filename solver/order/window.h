/* window.h: a stretch of an order as a problem of its own, with its first and last state fixed. */
#pragma once

#include "job.h"

/* The ops of an order's positions first .. first + ops - 1, numbered from 0 in that order. Items touched before the
 * window are there from its start, items touched behind it stay to its end, and what it does not touch is base. */
struct order_window {
	struct order_model model;
	uint32_t first;
	uint64_t key[2];           /* equal for windows that differ in their ops' numbers and in base only */
	struct arena arena;
};

/* Cuts a window out of an order. live is the order's profile, position its inverse. Free with order_window_free().
 * O(the window's items and their users). */
enum status order_window_cut(struct order_window *window, const struct order_model *model, const uint32_t *order,
	const uint32_t *position, const int64_t *live, uint32_t first, uint32_t ops);
void order_window_free(struct order_window *window);

/* Replaces the window's stretch of the order by an order of the window; local is used up. */
void order_window_apply(const struct order_window *window, uint32_t *order, uint32_t *local);

/* Improves an order in place by windows around its peak, small ones first, while that helps and the job is not done,
 * and offers what it finds to the job. */
enum status order_improve_windows(struct order_job *job, uint32_t *order, uint32_t states);
