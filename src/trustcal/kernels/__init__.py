"""The compiled loops.  Arrays in, arrays out, no policy.

A kernel is a plain function, written so that Python and numba's nopython mode both run it, and both to the same bits
where it uses only + − × ÷ and comparisons.  Small inputs run as Python; numba, which takes longer to import than small
work takes, is imported when the first large input comes, and what it compiles is kept on disk.

Python reads numbers out of numpy's arrays slowly, and computes with what it finds there, numpy's scalars, even more so.
So `on` small inputs a kernel sees vectors through memory views, which share their memory and whose items are Python's
own numbers: the same bits, in a third of the time.  All it may do with a vector is to index it and ask for its length,
and all it may ask of numpy is in `_Views`; one that needs more is called as it is, or compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from math import inf
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar, final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
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
        self.source = function
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Run as plain Python, on whatever comes."""
        return self.source(*args, **kwargs)

    def on(self, steps: int) -> Callable[Arguments, Result]:
        """The version that suits an input of this many elementary steps; once compiled, the compiled one suits all."""
        return self.compiled if steps >= WORTH_COMPILING or "compiled" in vars(self) else self.function

    @cached_property
    def function(self) -> Callable[Arguments, Result]:
        """The plain version: arrays come and go as arrays, but the loops see memory views of them."""

        def function(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            before = [array.copy() for array in _writeable(args)]
            try:
                found: Result = _arrays(self._on_views(*map(_views, args), **kwargs))
            except ZeroDivisionError:  # where numpy's floats, and compiled ones, go on with ±inf or NaN
                for array, old in zip(_writeable(args), before, strict=True):
                    array[:] = old
                found = self.source(*args, **kwargs)
            return found

        return function

    @cached_property
    def compiled(self) -> Callable[Arguments, Result]:
        """The compiled version, in which other kernels are compiled too."""
        from trustcal.kernels.cache import cache_of

        compiled = self._translated()
        if hasattr(compiled, "py_func"):  # not where NUMBA_DISABLE_JIT=1
            vars(compiled)["_cache"] = cache_of(compiled.py_func)
        return compiled

    @cached_property
    def _part(self) -> Callable[Arguments, Result]:
        """The compiled version inside other kernels.  Python cannot call it, which is a quarter less to compile."""
        from trustcal.kernels.cache import compile_once

        part = self._translated(no_cpython_wrapper=True)
        if hasattr(part, "py_func"):
            compile_once(part)
        return part

    def _translated(self, **options: bool) -> Callable[Arguments, Result]:
        """What numba makes of the function; compiled when it is called."""
        import numba

        twin = self._twin(lambda part: part._part)
        njit: Callable[..., Callable[..., Callable[Arguments, Result]]] = numba.njit
        return njit(error_model="numpy", nogil=True, no_cfunc_wrapper=True, **options)(twin)  # C calls none of them

    @cached_property
    def _on_views(self) -> FunctionType:
        """The same function, in which new arrays are memory views too."""
        return self._twin(lambda part: part._on_views, np=_Views)

    def _twin(self, version: Callable[[kernel[..., object]], object], **others: object) -> FunctionType:
        """The same function with another version of the kernels that it calls, and of other names."""
        function = self.source
        assert isinstance(function, FunctionType)
        kernels = {
            name: version(value)
            for name, value in function.__globals__.items()
            if isinstance(value, kernel) and name in function.__code__.co_names
        }
        names = function.__globals__ | kernels | others
        twin = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
        twin.__module__, twin.__qualname__ = function.__module__, function.__qualname__
        return twin


@final
class _Views:
    """What kernels ask of numpy, with memory views for arrays."""

    inf, int8 = inf, "int8"

    @staticmethod
    def empty(size: int) -> memoryview:
        """New floats, of any value."""
        return _Views.zeros(size)

    @staticmethod
    def zeros(size: int, dtype: str = "float64") -> memoryview:
        """New zeros."""
        return np.zeros(size, dtype).data


def _views(given: Any) -> Any:
    """Vectors as memory views, also within named tuples; the rest as it is."""
    if isinstance(given, np.ndarray):
        return given.data if given.ndim == 1 else given
    return given._make(map(_views, given)) if hasattr(given, "_make") else given


def _writeable(given: tuple[Any, ...]) -> Iterator[NDArray[Any]]:
    """The arrays that a kernel could write into, also within named tuples."""
    for one in given:
        if isinstance(one, np.ndarray) and one.flags.writeable:
            yield one
        elif hasattr(one, "_make"):
            yield from _writeable(one)


def _arrays(found: Any) -> Any:
    """Memory views as the arrays that they show, also within tuples; the rest as it is."""
    if isinstance(found, memoryview):
        return np.asarray(found)
    if isinstance(found, tuple):
        arrays = map(_arrays, found)
        return found._make(arrays) if hasattr(found, "_make") else tuple(arrays)
    return found
