"""One training, in a thread of its own: the caller's thread waits where Ctrl-C reaches it, the other one computes
without Python's lock and comes back for callbacks only."""

import _thread
import atexit
import ctypes
import os
import sys
from typing import Any, Callable, List, NamedTuple, Optional, Set

from . import _library as c
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


class _Run:
    """The state of a training, shared by the thread that waits and the one that computes. A run that is left behind
    keeps itself alive until it has ended: the thread holds it."""

    def __init__(self, table: Table, options: Options, listener: "_Listener"):
        self.table, self.options, self.listener = table, options, listener
        self.stop = ctypes.c_int(0)
        self.out, self.error, self.status = ctypes.c_void_p(), c.Error(), c.OK
        self.failure: Optional[BaseException] = None  # what a callback raised
        self.ended = _thread.allocate_lock()
        self.ended.acquire()
        self._note = c.TEXT_CALLBACK(self._guarded(lambda ctx, text: listener.note(text.decode("utf-8", "replace"))))
        self._progress = c.PROGRESS_CALLBACK(self._guarded(self._on_progress))
        self.watch = c.Watch(None, self._note, self._progress, stop=ctypes.pointer(self.stop))

    def _guarded(self, function: Callable[..., None]) -> Callable[..., None]:
        """No exception may cross the library: it is kept for the caller, and the training ends."""
        def guarded(*arguments: Any) -> None:
            try:
                function(*arguments)
            except BaseException as failure:
                self.failure = self.failure or failure
                self.stop.value = 1
        return guarded

    def _on_progress(self, ctx: Any, told: Any) -> None:
        if self.stop.value:  # what is left of it is told to nobody
            return
        if self.listener.progress(Progress(*(getattr(told.contents, name) for name in Progress._fields))):
            self.stop.value = 1

    def compute(self) -> None:
        try:
            self.status = c.lib.advgp_train(self.table.handle, self.options.handle, ctypes.byref(self.watch),
                                            ctypes.byref(self.out), ctypes.byref(self.error))
        finally:
            _running.discard(self)
            self.ended.release()

    def wait(self) -> None:
        # Python hears of Ctrl-C between two waits: not every interrupt of the main thread (_thread.interrupt_main, a
        # signal that another thread got) ends a wait.
        while not self.ended.acquire(timeout=0.2):
            pass
        self.ended.release()


# A process that ends would pull Python away under a callback: the trainings of daemon threads are stopped before.
_running: Set[_Run] = set()


def _stop_all() -> None:
    for run in list(_running):
        run.stop.value = 1
        run.wait()


atexit.register(_stop_all)
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_running.clear)  # a child that was forked has none of its parent's threads


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
        figures = f"RMSE {progress.rmse:.4g}, MNLP {progress.mnlp:.4g}"
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
    """Trains to the end, until a callback returns True or raises, or until Ctrl-C. A second Ctrl-C does not wait for
    the training to end; it ends by itself soon after."""
    listener = _Listener(callback, verbose)
    run = _Run(table, options, listener)
    _running.add(run)
    try:
        _thread.start_new_thread(run.compute, ())  # unlike Thread.start it has begun or failed when it returns
        run.wait()
    except RuntimeError:  # no thread was to be had
        _running.discard(run)
        raise
    except BaseException as interrupt:  # Ctrl-C, or what another signal's handler raised
        run.failure = run.failure or interrupt
        run.stop.value = 1
        run.wait()
    finally:
        listener.close()
    on_request = run.status == c.ESTOPPED and run.out.value  # a callback has seen enough
    if run.status != c.OK and not on_request:
        run.failure = run.failure or c.exception_of(run.error)
    return Trained(run.out.value or 0, listener.notes, run.failure)
