"""The compiled loops.  Arrays in, arrays out, no policy.

A kernel is a plain function, written so that Python and numba's nopython mode both run it, and both to the same bits
where it uses only + − × ÷ and comparisons.  Small inputs run as Python; numba, which takes longer to import than small
work takes, is imported when the first large input comes, and what it compiles is kept on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from types import FunctionType
from typing import Generic, ParamSpec, TypeVar, final

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

WORTH_COMPILING = 20_000
"""Elementary steps (values × repetitions) from which compiled code is used: about 10 ms of plain Python."""


@final
class kernel(Generic[Arguments, Result]):  # noqa: N801 - a decorator
    """Marks a function as a kernel.  Called, it runs as plain Python; kernels may call kernels.

    >>> @kernel
    ... def total(x):
    ...     s = 0.0
    ...     for i in range(len(x)):
    ...         s += x[i]
    ...     return s
    >>> total([1.0, 2.0]), total.on(2)([1.0, 2.0])
    (3.0, 3.0)
    """

    def __init__(self, function: Callable[Arguments, Result]) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Run as plain Python."""
        return self.function(*args, **kwargs)

    def on(self, steps: int) -> Callable[Arguments, Result]:
        """The version that suits an input of this many elementary steps; once compiled, the compiled one suits all."""
        return self.compiled if steps >= WORTH_COMPILING or "compiled" in vars(self) else self.function

    @cached_property
    def compiled(self) -> Callable[Arguments, Result]:
        """The compiled version, in which other kernels are compiled too."""
        import numba

        function = self.function
        assert isinstance(function, FunctionType)
        names = {
            name: value.compiled if isinstance(value, kernel) else value
            for name, value in function.__globals__.items()
            if name in function.__code__.co_names
        }
        twin = FunctionType(function.__code__, function.__globals__ | names, function.__name__, function.__defaults__)
        twin.__module__, twin.__qualname__ = function.__module__, function.__qualname__
        compiled: Callable[Arguments, Result] = numba.njit(cache=True, error_model="numpy")(twin)
        return compiled
