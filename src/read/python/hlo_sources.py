"""The places in a program that instructions come from: tables of files, functions, locations and frames."""

TABLES = "FileNames", "FunctionNames", "FileLocations", "StackFrames"


class Sources:
    """Tables of the places in the program that instructions come from."""

    def __init__(self):
        self.tables, self.found = {title: [] for title in TABLES}, {}

    def frame(self, number):
        """The place of a frame, kept."""
        if number not in self.found:
            self.found[number] = self.find(number)
        return self.found[number]

    def find(self, number):
        """Frames count from 1; the parent of a frame is one less than what is there, 0 and itself end the chain. The
        innermost that is not in an installed package says most."""
        files, functions, locations, frames = (self.tables[title] for title in TABLES)
        best = None
        for _ in range(200):
            if not (1 <= number <= len(frames) and 1 <= frames[number - 1][0] <= len(locations)):
                break
            location, parent = locations[frames[number - 1][0] - 1], frames[number - 1][1]
            own = not 1 <= location[0] <= len(files) or "-packages/" not in files[location[0] - 1]
            best = location if own or best is None else best
            if own or parent == 0 or parent - 1 >= number:
                break
            number = parent - 1
        if best is None or not 1 <= best[0] <= len(files):
            return ""
        function = f" in {functions[best[1] - 1][:300]}" if 1 <= best[1] <= len(functions) else ""
        return f"{files[best[0] - 1][:700]}:{best[2]}{function}"
