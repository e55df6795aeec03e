"""A call of the library in a thread of its own: the caller's thread waits where Ctrl-C reaches it, the other one
computes without Python's lock and comes back for callbacks only."""

import _thread
import atexit
import ctypes
import os
import sys
from typing import Any, Callable, Optional, Set


class Apart:
    """A long call. A subclass has `work`, which looks at `stop` by way of an advgp_watch. A call that is left behind
    keeps itself alive until it has ended: its thread holds it."""

    def __init__(self) -> None:
        self.stop = ctypes.c_int(0)
        self.failure: Optional[BaseException] = None  # Ctrl-C, or what a callback raised
        self.ended = _thread.allocate_lock()
        self.ended.acquire()

    def work(self) -> None:
        raise NotImplementedError

    def guarded(self, function: Callable[..., None]) -> Callable[..., None]:
        """No exception may cross the library: it is kept for the caller, and the call ends."""
        def guarded(*arguments: Any) -> None:
            try:
                function(*arguments)
            except BaseException as failure:
                self.failure = self.failure or failure
                self.stop.value = 1
        return guarded

    def run(self) -> None:
        """Works to the end, or until Ctrl-C. A second Ctrl-C does not wait for the end, which comes soon after."""
        _running.add(self)
        try:
            _thread.start_new_thread(self._body, ())  # unlike Thread.start it has begun or failed when it returns
            self.wait()
        except RuntimeError:  # no thread was to be had
            _running.discard(self)
            raise
        except BaseException as interrupt:  # Ctrl-C, or what another signal's handler raised
            self.failure = self.failure or interrupt
            self.stop.value = 1
            self.wait()

    def _body(self) -> None:
        try:
            self.work()
        finally:
            _running.discard(self)
            self.ended.release()

    def wait(self) -> None:
        # Python hears of Ctrl-C between two waits: not every interrupt of the main thread (_thread.interrupt_main, a
        # signal that another thread got) ends a wait.
        while not self.ended.acquire(timeout=0.2):
            pass
        self.ended.release()


# A process that ends would pull Python away under a callback: the calls of daemon threads are stopped before.
_running: Set[Apart] = set()


def _stop_all() -> None:
    for call in list(_running):
        call.stop.value = 1
        call.wait()


atexit.register(_stop_all)
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_running.clear)  # a child that was forked has none of its parent's threads
