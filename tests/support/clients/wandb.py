"""Stands in for the client of Weights & Biases: writes down how it is called, a line of JSON for each call.

FAKE_CLIENT_LOG names the file. FAKE_CLIENT_SECONDS makes every number slow, FAKE_CLIENT_FAILS every one an error,
FAKE_CLIENT_FAILS_WHILE the same while the file that it names is there. FAKE_CLIENT_EXITS ends the process.
"""

import json
import os
import time


def note(what, **values):
    with open(os.environ["FAKE_CLIENT_LOG"], "a") as file:
        file.write(json.dumps({"call": what, **values}) + "\n")


class Settings:
    def __init__(self, console):
        self.console = console


class Histogram:
    def __init__(self, np_histogram):
        self.counts, self.edges = np_histogram


class Html:
    def __init__(self, text):
        self.html = text


class Image:
    def __init__(self, path):
        self.path = path


class Run:
    def __init__(self, run_id):
        self.id = run_id or "the-first-id"

    def log(self, values, step):
        time.sleep(float(os.environ.get("FAKE_CLIENT_SECONDS", "0")))
        if os.environ.get("FAKE_CLIENT_FAILS") or os.path.exists(os.environ.get("FAKE_CLIENT_FAILS_WHILE", "")):
            raise ConnectionError("the service is gone")
        plain = {name: vars(value) if isinstance(value, (Histogram, Html, Image)) else value for name, value in values.items()}
        note("log", step=step, values=plain)

    def finish(self, exit_code):
        note("finish", exit_code=exit_code)


def init(settings, **arguments):
    if os.environ.get("FAKE_CLIENT_EXITS"):
        raise SystemExit(3)
    note("init", console=settings.console, **arguments)
    return Run(arguments["id"])
