"""Symbolic sizes as PyTorch prints them: "s77", "2*s0 + 1", "8*(((u0 + u1 + 71)//8))", "Max(1, s0)"."""
import ast
import operator
import warnings

from draft import leading_int

warnings.simplefilter("ignore")   # of Python's parser, on what is no size
MOST = 1 << 62
LETTERS_MOST = 400   # of an expression; deeper ones aren't parsed either


class Unknown(Exception):
    """A symbol without a number, or what isn't understood (symbol None)."""

    def __init__(self, symbol=None):
        super().__init__(symbol)
        self.symbol = symbol


def bounded(value):
    if not -MOST <= value <= MOST:
        raise Unknown
    return value


def floor_divide(a, b):
    if b <= 0:
        raise Unknown
    return a // b


def remainder(a, b):
    if b <= 0:
        raise Unknown
    return a % b


def power(a, b):
    if not 0 <= b <= 62:
        raise Unknown
    return bounded(a ** b)


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: floor_divide,
             ast.Div: floor_divide, ast.Mod: remainder, ast.Pow: power}
FUNCTIONS = {"Max": lambda *all_of: max(all_of), "Min": lambda *all_of: min(all_of), "floor": lambda a: a,
             "ceiling": lambda a: a, "FloorDiv": floor_divide, "CeilDiv": lambda a, b: -floor_divide(-a, b),
             "Mod": remainder, "PythonMod": remainder,
             "ModularIndexing": lambda a, b, c: remainder(floor_divide(a, b), c)}


class Sizes:
    """What expressions come to. given: "s77=8" a symbol, "u*=64" all whose names begin so; the first that matches."""

    def __init__(self, given):
        self.given = [dim.partition("=")[::2] for dim in given if "=" in dim]
        self.known = {}

    def symbol(self, name):
        """A symbol's number."""
        for known, text in self.given:
            if name == known or (len(known) > 1 and known[-1] == "*" and name.startswith(known[:-1])):
                value = leading_int(text)[0]
                if 0 <= value < MOST:
                    return value
                raise Unknown
        raise Unknown(name)

    def node(self, node):
        """The value of a part of an expression."""
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return bounded(node.value)
        if isinstance(node, ast.Name):
            return self.symbol(node.id)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return bounded(OPERATORS[type(node.op)](self.node(node.left), self.node(node.right)))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.node(node.operand)
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in FUNCTIONS and not node.keywords:
            values = [self.node(argument) for argument in node.args]
            try:
                return FUNCTIONS[node.func.id](*values)
            except (TypeError, ValueError):   # too few or too many
                raise Unknown from None
        raise Unknown

    def value(self, text):
        """The value of an expression, or None; and the first symbol without a number, or None."""
        if text not in self.known:
            self.known[text] = self.work_out(text)
        return self.known[text]

    def work_out(self, text):
        if text.isdecimal() and text.isascii() and len(text) < 20:
            return int(text), None   # one that is too large is refused later, with its line
        try:
            if len(text) > LETTERS_MOST:
                raise Unknown
            value = self.node(ast.parse(text.strip(), mode="eval").body)
            return (value if value >= 0 else None), None
        except Unknown as unknown:
            return None, unknown.symbol
        except (SyntaxError, ValueError, RecursionError, MemoryError):   # MemoryError: of a parser that is too deep
            return None, None
