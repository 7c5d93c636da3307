"""A watch for Prometheus: its numbers in the text format, and a view that serves them over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, final

from trustcal.measures.table import MEASURES
from trustcal.monitoring.line_parser import FaultLog
from trustcal.monitoring.monitor import Monitor
from trustcal.monitoring.view import WatchReport, WatchView

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def metrics_text(monitor: Monitor, faults: FaultLog | None = None, waiting: int = 0) -> str:
    r"""The numbers of a monitor in the text format of Prometheus.

    Parameters
    ----------
    monitor : Monitor
        What is watched.
    faults : FaultLog, optional
        Invalid lines.
    waiting : int, default 0
        Predictions that wait for their outcome.

    Returns
    -------
    str
        One block per metric, with its help and type.  O(rows in the window).

    References
    ----------
    https://prometheus.io/docs/instrumenting/exposition_formats/

    Examples
    --------
    >>> monitor = Monitor()
    >>> monitor.learn_many([0.25, 0.75], [0, 1])
    >>> print(metrics_text(monitor).splitlines()[2])
    trustcal_rows_total 2
    """
    return "".join(f"{line}\n" for line in _lines(monitor, faults, waiting))


def _lines(monitor: Monitor, faults: FaultLog | None, waiting: int) -> Iterator[str]:
    yield from _metric("rows_total", "counter", "Predictions with outcomes so far.", {"": monitor.rounds})
    yield from _metric("pending", "gauge", "Predictions that wait for their outcome.", {"": waiting})
    counts = {f'{{kind="{kind}"}}': number for kind, number in (faults.counts if faults else {}).items()}
    yield from _metric("faults_total", "counter", "Invalid lines that were skipped, by kind.", counts)
    alarm = monitor.alarm
    yield from _metric("alarm", "gauge", "1 after the alarm, which stays on.", {"": int(alarm.alarmed_at is not None)})
    yield from _metric(
        "log10_e_value", "gauge", "Evidence against calibration; the alarm is at -log10 of its rate.",
        {"": alarm.log10_e},
    )  # fmt: skip
    yield from _metric("alarm_rate", "gauge", "Probability of a false alarm over the whole stream.", {"": alarm.rate})
    if not monitor.rounds:
        return
    now = monitor.current(draws=0)
    yield from _metric("window_rows", "gauge", "Rows that are measured.", {"": now.rows})
    yield from _metric("mean_prediction", "gauge", "Mean prediction of the window.", {"": now.mean_prediction})
    yield from _metric("base_rate", "gauge", "Frequency of outcome 1 in the window.", {"": now.base_rate})
    for key, measure in now.measures.items():
        yield from _metric(key, "gauge", MEASURES[key].question, {"": measure.value})


def _metric(name: str, kind: str, about: str, values: Mapping[str, float]) -> Iterator[str]:
    yield f"# HELP trustcal_{name} {about}"
    yield f"# TYPE trustcal_{name} {kind}"
    for labels, value in values.items():
        yield f"trustcal_{name}{labels} {value:.17g}".replace("inf", "Inf").replace("nan", "NaN")


@final
class MetricsView(WatchView):
    """Serves the numbers of a watch at http://HOST:PORT/metrics, and shows the watch by another view.

    Numbers are those after the last read.  A scrape waits for the step that is being computed, never longer.

    Parameters
    ----------
    view : WatchView
        Shows the watch.
    port : int
        Port to listen on; 0 for a free one, which `port` then holds.
    host : str, default "127.0.0.1"
        Address to listen on: by default only this machine.
    """

    def __init__(self, view: WatchView, port: int, host: str = "127.0.0.1") -> None:
        if not 0 <= port <= 65535:
            raise ValueError(f"a port must lie between 0 and 65535, but is {port}.")
        self._view = view
        self._text = metrics_text(Monitor())
        self._seen = (-1, -1, -1)
        try:
            self._server = ThreadingHTTPServer((host, port), _handler(self))
        except OSError as error:
            raise ValueError(f"port {port} of {host} cannot be used: {error.strerror}. Choose another.") from None
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def text(self) -> str:
        """What a scrape returns now."""
        return self._text

    def open(self, source: str, rounds: int) -> None:
        """Start to serve."""
        self._thread.start()
        self._view.open(source, rounds)

    def rows_until_update(self, rounds: int) -> int:
        """As the other view asks."""
        return self._view.rows_until_update(rounds)

    def update(self, monitor: Monitor, faults: FaultLog, waiting: int) -> None:
        """Take the numbers, if there is anything new."""
        seen = (monitor.rounds, faults.total, waiting)
        if seen != self._seen:
            self._seen, self._text = seen, metrics_text(monitor, faults, waiting)
        self._view.update(monitor, faults, waiting)

    def report(self, report: WatchReport) -> None:
        """Pass the report on."""
        self._view.report(report)

    def close(self) -> None:
        """Stop to serve."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()
        self._view.close()


def _handler(view: MetricsView) -> type[BaseHTTPRequestHandler]:
    @final
    class Handler(BaseHTTPRequestHandler):
        """Answers GET /metrics."""

        def do_GET(self) -> None:
            """Send the text, or 404."""
            found = self.path.split("?")[0] == "/metrics"
            body = (view.text() if found else "See /metrics.\n").encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", CONTENT_TYPE if found else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Log nothing."""

    return Handler
