"""joblib's dask backend, which also reports when a task or the whole cluster was lost.

dask does a task again on another worker when its worker died, up to three times; then it gives the task up. joblib
1.6 passes that on to nobody and waits for ever: its `_collect` calls back only for tasks that came to an end, and not
at all once the client has closed because the scheduler is gone. This one calls back, so that the call fails and
`Executor` can go on.

And a cluster that has one core at the moment, because a worker was just lost, is still a cluster: joblib would do the
work in its own process. Where all workers were just lost, joblib sends a task and waits for it; that task may be lost
with the next worker, which another task kills, and joblib would find its error again instead of the workers that come.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

from joblib._dask import DaskDistributedBackend

POLL_SECONDS = 0.2  # seconds between two looks whether the client is still there


class _Lost:
    """In place of the results of a batch: why there are none."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class ReportingDaskBackend(DaskDistributedBackend):  # type: ignore[misc]
    """joblib's backend, but every task that it took is answered for."""

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Return the cores of the cluster, and never 1; raise TimeoutError where no worker comes."""
        self._wait_for_worker()
        return max(2, int(sum(self.client.ncores().values())))

    def _wait_for_worker(self) -> None:
        """Wait with a task, so that a cluster that starts workers when they are needed starts one."""
        from distributed import KilledWorker

        end = time.monotonic() + self.wait_for_workers_timeout
        while not self.client.ncores():
            try:
                self.client.submit(int, pure=False).result(timeout=max(0.0, end - time.monotonic()))
            except KilledWorker:
                continue
            except TimeoutError:
                seconds = self.wait_for_workers_timeout
                raise TimeoutError(f"the dask cluster has no worker after {seconds:g} seconds") from None

    def start_call(self) -> None:
        """Begin to collect, and to look whether the client is still there."""
        self._waiting: dict[object, Callable[[Any], None]] = {}
        self._ended = threading.Event()
        threading.Thread(target=self._watch_client, args=(self._waiting, self._ended), daemon=True).start()
        super().start_call()

    def stop_call(self) -> None:
        """End collecting and looking."""
        self._ended.set()
        super().stop_call()

    def submit(self, func: Any, callback: Callable[[Any], None] | None = None) -> Any:
        """Send a batch; `callback` is called once, whatever becomes of it."""
        waiting, ticket = self._waiting, object()

        def answered(out: Any) -> None:
            known = waiting.pop(ticket, None)
            if known is not None:
                known(out)

        if callback is not None:
            waiting[ticket] = callback
        return super().submit(func, answered)

    def _watch_client(self, waiting: dict[object, Callable[[Any], None]], ended: threading.Event) -> None:
        while not ended.wait(POLL_SECONDS):
            if self.client.status not in {"closing", "closed"}:
                continue
            for ticket in list(waiting):
                callback = waiting.pop(ticket, None)
                if callback is not None:
                    callback(_Lost(ConnectionError("the dask scheduler is gone")))

    async def _collect(self) -> None:
        while self._continue:
            async for future, result in self.waiting_futures:
                answer, callback = self._results.pop(future), self._callbacks.pop(future)
                if future.status == "finished":
                    answer.set_result(result)
                    callback(result)
                    continue
                error = result[1] if isinstance(result, tuple) else result
                if not isinstance(error, BaseException):
                    error = RuntimeError(f"the task was {future.status}")
                answer.set_exception(error)
                callback(_Lost(error))
            await asyncio.sleep(0.01)

    def retrieve_result_callback(self, out: Any) -> Any:
        """Return the results of a batch, or raise the reason why it was lost."""
        if isinstance(out, _Lost):
            raise out.error
        return super().retrieve_result_callback(out)
