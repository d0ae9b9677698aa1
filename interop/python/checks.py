"""Counts checks, prints a line for each, and ends with the two numbers that `interop/run` adds up."""


class Tally:
    """The checks so far."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        # What the checks are said to be about.
        self.over = ''

    async def check(self, name, work):
        """Runs a check and gives what it gives; None when it fails."""
        if self.over:
            name = f'{self.over}: {name}'
        try:
            result = await work
        except Exception as error:  # whatever it is, the check has failed
            self.failed += 1
            text = f'{type(error).__name__}: {error}'.replace('\n', '\n      ')
            print(f'FAIL  py  {name}\n      {text}')
            return None
        self.passed += 1
        print(f'ok    py  {name}')
        return result

    def close(self):
        """Prints the numbers; the exit code is 0 when every check has passed."""
        print(f'{self.passed} passed, {self.failed} failed')
        return 0 if self.failed == 0 else 1


def expect(condition, otherwise):
    """An assertion that `python -O` cannot switch off."""
    if not condition:
        raise AssertionError(otherwise)


def same(left, right):
    """Two values that have to be equal."""
    expect(left == right, f'{left!r}\nis not\n{right!r}')
