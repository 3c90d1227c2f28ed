"""The wheel: its record, its metadata, and the program in it, unpacked as pip does. LibTorch by D9D_TORCH."""
import argparse
import base64
import hashlib
import os
import re
import subprocess
import tempfile
import zipfile

parser = argparse.ArgumentParser()
for name in ("build", "torch", "minor", "source", "version"):
    parser.add_argument("--" + name, required=True)
given = parser.parse_args()

made = subprocess.run(["cmake", "--build", given.build, "--target", "wheel"], check=True, capture_output=True, text=True)
path = re.search(r"(/\S+\.whl): ", made.stdout).group(1)
minor = given.minor
version = f"{given.version}+torch{minor}"
with open(given.source + "/examples/changelog.md", encoding="utf-8") as file:
    assert f"\n## {given.version}\n" in file.read(), f"examples/changelog.md says nothing of {given.version}"
info, data = f"d9d_node-{version}.dist-info", f"d9d_node-{version}.data"
assert re.fullmatch(rf"d9d_node-{re.escape(version)}-py3-none-manylinux_\d+_\d+_x86_64\.whl", os.path.basename(path)), path

with zipfile.ZipFile(path) as wheel, tempfile.TemporaryDirectory() as prefix:
    names = set(wheel.namelist())
    rows = [row.rsplit(",", 2) for row in wheel.read(f"{info}/RECORD").decode().splitlines()]
    assert {row[0] for row in rows} == names, "RECORD names other files than there are"
    for name, digest, size in rows[:-1]:
        content = wheel.read(name)
        right = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        assert (digest, size) == ("sha256=" + right, str(len(content))), f"RECORD is wrong about {name}"
    metadata = wheel.read(f"{info}/METADATA").decode()
    assert f"\nVersion: {version}\n" in metadata and f"\nRequires-Dist: torch=={minor}.*\n" in metadata, metadata[:400]
    for name in ("lib/d9d/libd9d.so", "lib/d9d/libd9d_delayed.so", "lib/cmake/d9d/d9dConfig.cmake", "include/d9d/beside/fmt/format.h",
                 "include/d9d/beside/boost/describe.hpp", "share/man/man1/d9d-node.1", "share/zsh/site-functions/_d9d-node",
                 "share/doc/d9d-node/examples/own_project/mine.cpp", "share/doc/d9d-node/examples/config_reference.md"):
        assert f"{data}/data/{name}" in names, f"{name} is missing"
    assert any(name.startswith(f"{info}/licenses/libcaf") for name in names), "CAF's licence is missing"

    for entry in wheel.infolist():
        place = entry.filename.removeprefix(f"{data}/data/").replace(f"{data}/scripts/", "bin/")
        target = os.path.join(prefix, place)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(wheel.read(entry))
        os.chmod(target, entry.external_attr >> 16)
    libraries = f"{prefix}/lib/d9d"
    for file in sorted(os.listdir(libraries)):
        dynamic = subprocess.run(["readelf", "-d", f"{libraries}/{file}"], check=True, capture_output=True, text=True).stdout
        for paths in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic):
            assert paths == "$ORIGIN", f"{file} looks in {paths}"
    # As on a host that has none of the builder's packages: every library of ours comes out of the wheel.
    node, environment = f"{prefix}/bin/d9d-node", {"D9D_TORCH": given.torch, "LD_DEBUG": "files"}
    run = subprocess.run([node, "--version"], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr[-2000:]
    assert f"in {given.torch}/lib\n" in run.stdout, run.stdout
    loaded = set(re.findall(r"calling init: (/\S+)", run.stderr))
    common = re.compile(r"lib(c|m|dl|rt|util|pthread|stdc\+\+|gcc_s)\.so|ld-linux")
    outside = [file for file in loaded if not file.startswith((prefix, os.path.dirname(given.torch))) and not common.search(file)]
    assert not outside, f"taken from this host: {outside}"
    prefix_told = subprocess.run([node, "--cmake-prefix"], capture_output=True, text=True, env=environment).stdout.strip()
    assert os.path.samefile(prefix_told, prefix), prefix_told
    none = subprocess.run([node, "--version"], capture_output=True, text=True, env={"D9D_TORCH": prefix})
    assert none.returncode == 1 and f"built for LibTorch {minor}, and there is none in D9D_TORCH={prefix}" in none.stderr
print(made.stdout.splitlines()[-1])
