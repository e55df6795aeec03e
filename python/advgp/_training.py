"""One training: its progress, its notes, and what ended it."""

import ctypes
import math
from typing import Any, Callable, List, NamedTuple, Optional

from . import _library as c
from ._apart import Apart
from ._data import Table
from ._options import Options


class Progress(NamedTuple):
    """How far a training is, each time it has looked at the rows held out.

    `seconds` since it began and `seconds_left` to the end of its steps; `epoch` of `epochs` passes over the rows (0
    where nobody knows how many); `rmse` and `mnlp` (mean negative log predictive density) of the rows held out, in the
    target's own units, NaN where there are none; `bound`, the negative evidence lower bound, a row.
    """

    seconds: float
    seconds_left: float
    epoch: float
    epochs: float
    rmse: float
    mnlp: float
    bound: float


class _Run(Apart):
    """The state of a training, shared by the thread that waits and the one that computes."""

    def __init__(self, table: Table, options: Options, listener: "_Listener"):
        super().__init__()
        self.table, self.options, self.listener = table, options, listener
        self.out, self.error, self.status = ctypes.c_void_p(), c.Error(), c.OK
        self._note: Any = c.TEXT_CALLBACK(self.guarded(
            lambda ctx, text: listener.note(text.decode("utf-8", "replace"))))
        self._progress: Any = c.PROGRESS_CALLBACK(self.guarded(self._on_progress))
        self.watch: Any = c.Watch(None, self._note, self._progress, stop=ctypes.pointer(self.stop))

    def _on_progress(self, ctx: Any, told: Any) -> None:
        if self.stop.value:  # what is left of it is told to nobody
            return
        if self.listener.progress(Progress(*(getattr(told.contents, name) for name in Progress._fields))):
            self.stop.value = 1

    def work(self) -> None:
        self.status = c.lib.advgp_train(self.table.handle, self.options.handle, ctypes.byref(self.watch),
                                        ctypes.byref(self.out), ctypes.byref(self.error))
        self._note = self._progress = self.watch = None  # which know this object: the table would outlive its training


class _Listener:
    """Who hears of a training: the caller's callback, and whoever looks at the screen."""

    def __init__(self, callback: Optional[Callable[[Progress], Any]], verbose: int):
        self.callback, self.verbose = callback, verbose
        self.notes: List[str] = []
        self.bar: Any = None

    def note(self, text: str) -> None:
        self.notes.append(text)
        if self.verbose:
            self._say(f"advgp: {text}")

    def progress(self, progress: Progress) -> bool:
        """Whether to stop."""
        if self.verbose:
            self._show(progress)
        return self.callback is not None and self.callback(progress) is True

    def _say(self, line: str) -> None:
        if self.bar is not None:
            self.bar.write(line)
        else:
            print(line, flush=True)

    def _show(self, progress: Progress) -> None:
        if self.bar is None:
            self.bar = _bar()
        figures = _figures(progress)
        if self.bar is None:
            of = f" of {progress.epochs:.4g}" if progress.epochs else ""
            self._say(f"advgp: {progress.seconds:.1f} s, epoch {progress.epoch:.4g}{of}, {figures}")
            return
        self.bar.total = progress.epochs or None
        self.bar.set_postfix_str(figures, refresh=False)
        self.bar.update(progress.epoch - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def _figures(progress: Progress) -> str:
    """Of the rows held out; where there are none, the bound."""
    if math.isfinite(progress.rmse):
        return f"RMSE {progress.rmse:.4g}, MNLP {progress.mnlp:.4g}"
    return f"bound {progress.bound:.4g} a row" if math.isfinite(progress.bound) else "no figures yet"


def _bar() -> Any:
    """A progress bar of tqdm, where it is installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(desc="advgp", unit=" epochs")


class Trained(NamedTuple):
    handle: int  # of the model; 0: there is none
    notes: List[str]  # what the training wanted people to know
    failure: Optional[BaseException]  # what is to be raised: Ctrl-C, a callback's exception, or what the library says


def train(table: Table, options: Options, callback: Optional[Callable[[Progress], Any]], verbose: int) -> Trained:
    """Trains to the end, until a callback returns True or raises, or until Ctrl-C."""
    listener = _Listener(callback, verbose)
    run = _Run(table, options, listener)
    try:
        run.run()
    finally:
        listener.close()
    on_request = run.status == c.ESTOPPED and run.out.value  # a callback has seen enough
    if run.status != c.OK and not on_request:
        run.failure = run.failure or c.exception_of(run.error)
    return Trained(run.out.value or 0, listener.notes, run.failure)
