/* challenge.h: the user orders a graph op by op, against the optimum. */
#pragma once

#include "order_rows.h"

#define CHALLENGE_MOST 200u      /* ops: what can still be reached is solved after every step */

struct challenge {
	bool on;
	uint64_t graph;              /* fingerprint of the graph, and what else the problem depends on */
	struct scenario scenario;
	struct problem problem;      /* its own: plans come and go while it is played */
	struct order_schedule schedule;    /* the ops that ran, then the rest in the best order from there */
	struct candidate *candidate; /* [ops] those that can run, [candidates] */
	uint32_t candidates, selected;
	uint32_t done, hints, undone;
	bool scored;                 /* time and score are shown */
	int64_t begun, ended;        /* seconds of the model's clock; ended < 0: not yet */
	bool hinted;                 /* the hint of this step is shown */
	int64_t peak;                /* of what ran */
	int64_t reachable, bound;    /* the lowest peak found for any order that begins so, and that no such order beats */
	int64_t optimum;             /* the same for all orders, when the game began */
	bool optimum_proved;
	int first_row;               /* of the candidates on the screen */
	struct order_rows rows;
};

/* True while a challenge is being played on the model's graph. */
bool challenge_played(const struct challenge *challenge, const struct model *model);
/* The same; one on another graph ends here. */
bool challenge_on(struct challenge *challenge, const struct model *model);
/* COMMAND_CHALLENGE begins or ends it; others play. False for commands that it doesn't know. */
bool challenge_command(struct challenge *challenge, struct model *model, enum command_id command);
void challenge_draw(struct challenge *challenge, const struct model *model, struct frame *frame);
void challenge_end(struct challenge *challenge);
