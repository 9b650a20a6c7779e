/* front.h: all choices of cost and usage that can be part of a nearly best plan, per assignment of what others see.
 *
 * This is elimination with sets of points (cost, usage); in a set no point is as good as another in both. The passes of
 * tree.h tell exactly how much the best plan weighs that has a point. A point above the limit of that weight is
 * dropped, so sets stay small where the limit is close. */
#pragma once

#include "tree.h"

struct chain_point {
	int64_t cost, usage;
	uint32_t value;            /* of the bucket's variable */
	uint32_t trail;            /* the points of the children that it is made of */
};

/* The points of a link, by entry of its factor: point[start[entry]] .. point[start[entry + 1] - 1]. */
struct chain_given {
	const uint32_t *start;
	const struct chain_point *point;
};

/* How many points: more than most in all are LIMIT, and more pairs of walks looked at than looks. */
struct chain_room { uint32_t most, looks; };

/* The points of one bucket: those of a row are point[start[row]] .. point[start[row + 1] - 1]. start is NULL where a
 * bucket has none. */
struct chain_front {
	const struct chain_tree *tree;
	const struct chain_given *given; /* [factors] of links; NULL: there are none */
	uint32_t **start;          /* [buckets] */
	struct chain_point *point;
	struct chain_trail { uint32_t before, point; } *trail;
	uint32_t points, trails;
	struct chain_room room;
	size_t point_room, trail_room;
	struct chain_point *list, *other; /* scratch */
	size_t list_room, other_room;
	struct arena arena;
};

/* After up and down. limit: of the weight of a whole plan. Free in any case. */
enum status chain_front_build(struct chain_front *front, struct chain_tree *tree, const struct chain_given *given,
	int64_t limit, struct chain_room room, struct control *control);
void chain_front_free(struct chain_front *front);
/* Values of all variables that a point decides, where those of its row are set; taken [factors]: its point of each
 * link, where they are given. */
void chain_front_decode(
	const struct chain_front *front, uint32_t bucket, uint32_t point, uint32_t *value, uint32_t *taken);
/* qsort's comparison of points: by usage, then cost; equal ones by what they are made of. */
int chain_points_by_usage(const void *left, const void *right);
/* Drops points that another one is as good as in both; the rest by usage. Returns how many are left. */
uint32_t chain_points_filter(struct chain_point *list, uint32_t count);
