"""Metrics for Prometheus, parsed by its own client; a watch scraped while it runs; alert rules and dashboard."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import yaml

import trustcal as tc
from trustcal.cli import main
from trustcal.measures.table import MEASURES
from trustcal.monitoring import MetricsView, metrics_text
from trustcal.monitoring.view import Silent

ROOT = Path(__file__).parents[1]
parser = pytest.importorskip("prometheus_client.parser", reason="prometheus-client is not installed")


def families(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    return {
        sample.name: [(one.labels, one.value) for one in family.samples if one.name == sample.name]
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_the_text_is_what_the_monitor_measures() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(600)
    monitor = tc.Monitor(window=500)
    monitor.learn_many(p, rng.random(600) < p**3)
    found, now = families(metrics_text(monitor)), monitor.current(draws=0)
    assert found["trustcal_rows_total"] == [({}, 600)]
    assert found["trustcal_window_rows"] == [({}, 500)]
    assert found["trustcal_alarm"] == [({}, 1)]
    assert found["trustcal_log10_e_value"] == [({}, monitor.alarm.log10_e)]
    for key, measure in now.measures.items():
        assert found[f"trustcal_{key}"] == [({}, measure.value)]


def test_a_monitor_without_rows_and_one_with_an_infinite_e_value() -> None:
    assert "trustcal_base_rate" not in families(metrics_text(tc.Monitor()))
    monitor = tc.Monitor()
    monitor.learn_many([1.0], [0])
    assert families(metrics_text(monitor))["trustcal_log10_e_value"] == [({}, float("inf"))]


def test_a_watch_is_scraped_while_it_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command, a growing file, a scrape over HTTP, one more row, another scrape."""
    file = tmp_path / "served.csv"
    file.write_text("score,outcome\n" + "0.5,1\n" * 30 + "2,1\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    state = tmp_path / "state.json"
    arguments = ["watch", str(file), "-p", "score", "-y", "outcome", "--metrics", str(port), "--state", str(state)]
    view = MetricsView(Silent(), 0)
    thread = threading.Thread(
        target=tc.watch, args=(file,), daemon=True,
        kwargs={"prediction": "score", "outcome": "outcome", "view": view},
    )  # fmt: skip
    thread.start()
    assert scraped(view.port, rows=30)["trustcal_faults_total"] == [({"kind": "bad prediction"}, 1)]
    with file.open("a") as growing:
        growing.write("0.5,0\n")
    assert scraped(view.port, rows=31)["trustcal_base_rate"][0][1] == pytest.approx(30 / 31)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{view.port}/other")
    assert main([*arguments, "--no-follow"]) == 3  # after an alarm
    assert "31 rows" in capsys.readouterr().out


def scraped(port: int, rows: int) -> dict[str, list[tuple[dict[str, str], float]]]:
    """What Prometheus would read, once so many rows are counted."""
    for _ in range(200):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            found = families(answer.read().decode())
        if found["trustcal_rows_total"] == [({}, rows)]:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{rows} rows were not counted: {found}")


def test_a_port_that_is_taken_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "served.csv").write_text("score,outcome\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        arguments = ["watch", str(tmp_path / "served.csv"), "-p", "score", "-y", "outcome", "--no-follow", "--metrics"]
        assert main([*arguments, str(taken.getsockname()[1])]) == 2
        assert main([*arguments, "70000"]) == 2
    assert "cannot be used" in capsys.readouterr().err


def known_metrics() -> set[str]:
    monitor = tc.Monitor()
    monitor.learn_many([0.5] * 10, [0, 1] * 5)
    return set(re.findall(r"# TYPE (\w+)", metrics_text(monitor))) | {f"trustcal_{key}" for key in MEASURES}


def test_alert_rules_name_metrics_that_exist() -> None:
    rules = yaml.safe_load((ROOT / "examples" / "prometheus" / "alerts.yml").read_text())
    alerts = [rule for group in rules["groups"] for rule in group["rules"]]
    assert {alert["alert"] for alert in alerts} >= {"PredictionsMiscalibrated", "OutcomesMissing"}
    for alert in alerts:
        assert set(re.findall(r"trustcal_\w+", alert["expr"])) <= known_metrics()
        assert alert["annotations"]["summary"]


def test_the_dashboard_names_metrics_that_exist() -> None:
    dashboard = json.loads((ROOT / "examples" / "prometheus" / "dashboard.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(expressions) >= 6
    assert {name for text in expressions for name in re.findall(r"trustcal_\w+", text)} <= known_metrics()
