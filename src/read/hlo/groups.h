/* groups.h: how many devices take part in a collective, as the text or the proto of a module says it. */
#pragma once

#include "scan.h"
#include "src/base/wire.h"

/* devices: in all groups together, as far as that is said. 0: nobody says. */
struct hlo_groups { uint32_t size, devices; };

/* The next whole number from *at on; false where there is none before `end`. Above 2^32 it is 2^32 - 1. */
bool hlo_next_number(const char **at, const char *end, uint64_t *number);

/* "{{0,1,2,3}}", "[2,4]<=[8]" or "mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'b'}". value: up to the first comma
 * outside of brackets; end: of the file. O(length of the line). */
struct hlo_groups hlo_groups_text(struct span value, const char *end);

/* Of an instruction's field 49 (a ReplicaGroup, one of several), 87 (CollectiveDeviceListProto), 92
 * (IotaReplicaGroupListProto) or 93 (MeshAxesReplicaGroupListProto). O(size). */
struct hlo_groups hlo_groups_proto(uint32_t number, struct wire body);
