"""Stack traces, each once: which place of the program's own asked for memory, and in which phase."""

FRAMES_MOST = 1000   # of one stack; what is further out is left away
FOREIGN = ("site-packages/", "dist-packages/", "/torch/", "lib/python", "<frozen")
LIBRARIES = ("torch/", "transformers/", "accelerate/", "lightning/", "deepspeed/")   # in a profiler's files
UPDATE = ("torch/optim/", "Optimizer.step#")
BACKWARD = ("torch/autograd/", "autograd::engine::", "torch/_tensor.py", "torch::autograd::Engine")


def cut(text, size):
    """A text of so many bytes at most."""
    return text if len(text) * 4 <= size else text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


class Frame:
    """A place in the source, "" for the file of an op."""

    def __init__(self, file, line, name):
        self.name = name
        self.text = f"{file}:{line} in {name}" if file else name
        self.own = (not file.startswith(LIBRARIES) and not any(word in file for word in FOREIGN)
                    and (file.endswith(".py") or file.startswith("<")))
        self.update = any(word in file or word in name for word in UPDATE)
        self.backward = any(word in file or word in name for word in BACKWARD)


class Stacks:
    """Frames and stacks count from 1; 0 is none."""

    def __init__(self):
        self.frames, self.stacks = [None], [()]
        self.by_dict, self.by_place, self.by_frames = {}, {}, {(): 0}

    def frame(self, file, line, name):
        """The number of a frame, which is new or was there before."""
        number = self.by_place.setdefault((file, line, name), len(self.frames))
        if number == len(self.frames):
            self.frames.append(Frame(file, line, name))
        return number

    def frame_of(self, record):
        """That of a snapshot's dict, 0 where it is none."""
        if not isinstance(record, dict) or "filename" not in record or "line" not in record:
            return 0
        file, line, name = record["filename"], record["line"], record.get("name")
        before = len(self.frames)
        number = self.frame(clean(file), line if type(line) is int and abs(line) < 1 << 63 else 0, clean(name))
        if number == before:   # most frames are shared
            self.by_dict[id(record)] = number
        return number

    def add(self, frames):
        """The number of a stack, the innermost frame first."""
        number = self.by_frames.setdefault(frames, len(self.stacks))
        if number == len(self.stacks):
            self.stacks.append(frames)
        return number

    def stack_of(self, records):
        """That of a snapshot's list."""
        if not isinstance(records, list) or not records:
            return 0
        if len(records) > FRAMES_MOST:
            records = records[:FRAMES_MOST]
        known = self.by_dict
        try:
            return self.add(tuple(map(known.__getitem__, map(id, records))))
        except KeyError:
            frames = (known.get(id(record)) or self.frame_of(record) for record in records)
            return self.add(tuple([frame for frame in frames if frame]))

    def place(self, stack):
        """The innermost frame that is neither the framework's nor another library's; without such the innermost."""
        frames = self.stacks[stack]
        return next((frame for frame in frames if self.frames[frame].own), frames[0] if frames else 0)

    def text(self, frame):
        """ "model.py:6 in forward"."""
        return self.frames[frame].text if frame else ""

    def path(self, stack):
        """The functions of the program's own frames from the outermost to the innermost, with dots between."""
        path = ""
        for frame in map(self.frames.__getitem__, reversed(self.stacks[stack])):
            more = ("." + frame.name if path else frame.name) if frame.own else ""
            if len((path + more).encode("utf-8", "replace")) >= 400:
                break
            path += more
        return path

    def phase(self, stack):
        """The phase that a stack's frames tell."""
        frames = [self.frames[frame] for frame in self.stacks[stack]]
        return ("update" if any(frame.update for frame in frames) else
                "backward" if any(frame.backward for frame in frames) else "forward")

    def says(self, stack):
        """What an op's record has of it: function, module, source, phase."""
        place = self.place(stack)
        if not place:
            return None
        return self.frames[place].name, self.path(stack), cut(self.text(place), 599), self.phase(stack)


def clean(text):
    """A name that should be a text."""
    return text.partition("\0")[0].encode("utf-8", "replace").decode() if isinstance(text, str) else ""
