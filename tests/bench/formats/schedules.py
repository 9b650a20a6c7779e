"""Schedules as torch.distributed.pipelining writes them, without processes: schedules.py FOLDER

Writes FOLDER/CLASS_RANKS_MICROBATCHES.csv, the order that each class has for a rank, as its _dump_csv() does.
"""
import csv, os, sys

from torch.distributed.pipelining import schedules


def single(name, ranks, microbatches):
    schedule = getattr(schedules, name)
    self = schedule.__new__(schedule)
    self._num_stages, self._n_microbatches = ranks, microbatches
    return self._get_pipeline_order()


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for name in "Schedule1F1B", "ScheduleGPipe":
        for ranks, microbatches in (2, 4), (4, 4), (4, 8), (8, 16):
            rows = single(name, ranks, microbatches)
            if rows:
                with open(f"{sys.argv[1]}/{name}_{ranks}_{microbatches}.csv", "w", newline="") as out:
                    csv.writer(out).writerows(rows[rank] for rank in sorted(rows))
