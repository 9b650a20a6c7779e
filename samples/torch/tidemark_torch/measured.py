"""Fits a device's figures to measured steps: a table of configurations and seconds instead of traces.

A CSV with a header: seconds, model (of `tidemark search`, a graph or gpt2:layers=4), devices, batch, and any knobs by
their names; where there is no column for them, dp is what is left of the devices, and one microbatch runs without
recomputation, ZeRO and sequence parallelism. hidden: percent of the collectives inside layers that run behind products.
A step is predicted by the program, some hundred times, so that a row takes seconds.
"""
import concurrent.futures
import csv
import functools
import os

from .errors import CaptureError
from .program import Refusal, ask_program

FACTORS = ("matrix", "attention", "memory_bandwidth", "intra_bandwidth", "inter_bandwidth")     # of a device file
PLAIN = {"tp": 1, "pp": 1, "cp": 1, "ep": 1, "sp": "off", "zero": 0, "chunks": 1, "schedule": "1f1b",
         "recompute": "none", "microbatches": 1}


def read_rows(path):
    """Of a table: words for `tidemark search`, and seconds. Raises CaptureError with the line."""
    rows = []
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            table = csv.DictReader((line for line in stream if not line.startswith("#")), skipinitialspace=True)
            for row in table:
                where = f"{path}: row {len(rows) + 1}"
                cells = {name: value.strip() for name, value in row.items() if name and value and value.strip()}
                try:
                    seconds, model, hidden = float(cells.pop("seconds")), cells.pop("model"), cells.pop("hidden", "0")
                except (KeyError, ValueError) as error:
                    raise CaptureError(f"{where}: {error}: seconds and a model are needed") from None
                if not 0 < seconds < 1e9:
                    raise CaptureError(f"{where}: seconds {seconds:g}: expected a number above 0")
                words = [word for name, value in {**PLAIN, **cells}.items() for word in ("--set", f"{name}={value}")]
                rows.append(([model, "--overhead", f"inside={hidden}%", *words], seconds, where))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CaptureError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if not rows:
        raise CaptureError(f"{path}: no measured steps")
    return rows


def fit_steps(base, preset, rows):
    """The figures that the rows tell, by name, and the rows' errors, fitted and left out. Raises CaptureError."""
    from .calibrate import DIFFERENCE, HARDLY, figure_text, fit_factors, share_of
    names, base = list(FACTORS), dict(base, attention=base["attention"] or 1000)

    def figures(factors):
        scaled = {name: base[name] * factor for name, factor in zip(names, factors)}
        most = {"matrix": 1000, "attention": 10000}
        return {name: min(most[name], share_of(value)) if name in most else value for name, value in scaled.items()}

    @functools.lru_cache(None)
    def seconds_of(index, texts):
        words, _, where = rows[index]
        settings = [word for text in texts for word in ("--set", text)]
        try:
            found = ask_program("search", *words, "--device", preset, "--memory", "1000TiB", *settings,
                                "--top", "1", "--plan", "0")["configurations"]
        except Refusal as error:
            raise CaptureError(f"{where}: {error}") from None
        if not found:
            raise CaptureError(f"{where}: there is no such configuration")
        return found[0]["step_seconds"]

    def predict(factors):
        texts = tuple(f"{name}={figure_text(name, value)}" for name, value in figures(factors).items())
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(lambda index: seconds_of(index, texts), range(len(rows))))
    def moves(name):
        moved = predict([1 + DIFFERENCE * (name == other) for other in FACTORS])
        return any(abs(one / other - 1) > HARDLY * DIFFERENCE for one, other in zip(moved, plain))
    plain = predict([1] * len(FACTORS))
    names = [name for name in FACTORS if moves(name)]
    factors, told, off, left_out = fit_factors(predict, [row[1] for row in rows], len(names))
    return {name: value for (name, value), known in zip(figures(factors).items(), told) if known}, off, left_out
