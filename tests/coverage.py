"""Prints the line coverage of a room after its tests have run in a build of the profile `coverage`.

Fails below the room's floor in coverage_floors.txt; with D9D_WRITE=1 what was measured becomes the floor.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys

tests = pathlib.Path(__file__).resolve().parent
root = tests.parent
floors_path = tests / "coverage_floors.txt"


def counts_of(build: pathlib.Path, room: str) -> dict:
    """By file of the room, by line: how often it ran. Objects that no test has linked count as never run."""
    counts = collections.defaultdict(lambda: collections.defaultdict(int))
    objects = {path.with_suffix("") for path in (build / room).rglob("*.gcno")}
    objects |= {path.with_suffix("") for path in build.rglob("*.gcda")}
    for path in sorted(objects):
        data = path.with_suffix(path.suffix + ".gcda")
        given = data if data.exists() else path.with_suffix(path.suffix + ".gcno")
        told = subprocess.run(["gcov", "--json-format", "--stdout", given], cwd=build, capture_output=True, text=True)
        for text in told.stdout.splitlines():
            for file in json.loads(text)["files"]:
                name = pathlib.Path(build, file["file"]).resolve()
                if not name.is_relative_to(root / room):
                    continue
                for line in file["lines"]:
                    of_file = counts[name.relative_to(root)]
                    of_file[line["line_number"]] = max(of_file[line["line_number"]], line["count"])
    return counts


def main() -> None:
    build, room = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    counts = counts_of(build, room)
    lines = sum(len(of_file) for of_file in counts.values())
    if lines == 0:
        sys.exit(f"{room} has no lines: is it a room with sources and tests?")
    run = sum(count > 0 for of_file in counts.values() for count in of_file.values())
    percent = int(1000 * run / lines) / 10
    for name, of_file in sorted(counts.items()):
        missed = [number for number, count in sorted(of_file.items()) if count == 0]
        if len(missed) > len(of_file) / 2:
            print(f"  {name}: {len(missed)} of {len(of_file)} lines do not run")

    floors = dict(line.split() for line in floors_path.read_text().splitlines() if not line.startswith("#"))
    print(f"{room}: {run} of {lines} lines, {percent} %, floor {floors.get(room, 'none')}")
    if os.environ.get("D9D_WRITE") == "1":
        floors[room] = str(int(percent))
        head = [line for line in floors_path.read_text().splitlines() if line.startswith("#")]
        floors_path.write_text("\n".join(head + [f"{name} {floor}" for name, floor in sorted(floors.items())]) + "\n")
    elif percent < float(floors.get(room, 0)):
        sys.exit(f"{room} has {percent} % of its lines run by its tests, and its floor is {floors[room]} %")


main()
