"""Makes the wheel of an installed d9d: all that it needs but LibTorch is in it. Python's standard library only.

The folder of `cmake --install` becomes the wheel's data folder, which pip puts into the prefix as it is: bin, lib/d9d,
include/d9d, lib/cmake/d9d, share. Into lib/d9d come the libraries that libd9d.so names, which its rpath finds there, and
into include/d9d/beside the headers of others that d9d's own include. The version ends in the minor release of LibTorch
that the wheel belongs to.
"""
import argparse
import base64
import glob
import hashlib
import os
import platform
import re
import subprocess
import tempfile
import zipfile

# Of every host: the C and C++ run time. Of LibTorch's wheels: torch and OpenMP. Of optional wheels: CUDA, Arrow.
NOT_OURS = re.compile(r"(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libutil|libpthread|libstdc\+\+|libgcc_s|libgomp)[-.]|"
                      r"lib(d9d|torch|c10|cu(da|pti|blas|dnn|fft|rand|solver|sparse|file)|nv|nccl|arrow|parquet)")
MIB_MAX = 20
WHOLE = ("capnp", "kj", "fmt", "nlohmann")  # packages whose headers all come along
IN_PART = ("boost", "spdlog")               # those that ours include

# Cap'n Proto 0.9 leaves `"text" == string` to C++20, which makes it of operator== unless there is an operator!=, says
# GCC from 13 on. C++20 makes that, too.
KJ_UNEQUAL = re.compile(r"^ +inline bool operator!=\(const (StringPtr|String)& other\) const .*\n", re.MULTILINE)


def output(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout


def libraries(folder, torch):
    """{name: path} of the libraries that those in `folder` need, and theirs."""
    found = {}
    for file in glob.glob(folder + "/*.so"):
        for line in output("ldd", file, env={**os.environ, "LD_LIBRARY_PATH": torch + "/lib"}).splitlines():
            name, _, path = line.strip().partition(" => ")
            if not path or NOT_OURS.match(name):
                continue
            if path == "not found":
                raise SystemExit(f"wheel: {file} needs {name}, which is not on this host")
            found[name] = path.split(" (")[0]
    return found


def headers(include, torch, compiler):
    """[path below /usr/include] of the headers of others that d9d's headers include."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.writelines(f'#include "{os.path.relpath(file, include)}"\n'
                          for file in sorted(glob.glob(include + "/**/*.hpp", recursive=True)))
        source.write("#include <boost/describe.hpp>\n#include <boost/mp11.hpp>\n")
        source.flush()
        rule = output(compiler, "-std=c++20", "-M", "-MG", "-I", include, "-idirafter", torch + "/include", "-idirafter",
                      torch + "/include/torch/csrc/api/include", source.name)
    read = [path for path in rule.split() if os.path.isabs(path)]
    # The folder that the compiler took <fmt/format.h> from.
    roots = {path[:-len("fmt/format.h")] for path in read if path.endswith("/fmt/format.h") and torch not in path}
    if len(roots) != 1:
        raise SystemExit(f"wheel: expected one folder with fmt/format.h, there are {sorted(roots)}")
    root = roots.pop()
    chosen = {path for path in read if path.startswith(tuple(root + name + "/" for name in IN_PART))}
    for name in WHOLE:
        chosen.update(glob.glob(f"{root}{name}/**/*.h*", recursive=True))
    return root, sorted(path for path in chosen if os.path.isfile(path))


def licences(files):
    """{package: text} of Debian's packages that the files are from."""
    paths = {os.path.realpath(file) for file in files}
    paths |= {path.removeprefix("/usr") for path in paths}  # packages from before /lib was a link name that
    found = subprocess.run(["dpkg", "-S", *paths], check=False, capture_output=True, text=True)
    owners = {line.split(":")[0] for line in found.stdout.splitlines()}
    texts = {}
    for owner in sorted(owners):
        with open(f"/usr/share/doc/{owner}/copyright", encoding="utf-8") as file:
            texts[owner] = file.read()
    return texts


class Wheel:
    """A zip file with a record of its files."""

    def __init__(self, path):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []

    def add(self, name, data, executable=False):
        entry = zipfile.ZipInfo(name, date_time=(2026, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.archive.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, record):
        self.archive.writestr(record, "\n".join(self.record + [f"{record},,"]) + "\n")
        self.archive.close()


def main():
    parser = argparse.ArgumentParser()
    for name in ("prefix", "torch", "minor", "arrow", "version", "compiler", "summary", "readme", "out"):
        parser.add_argument("--" + name, default="")
    given = parser.parse_args()

    ours = given.prefix + "/lib/d9d"
    found = libraries(ours, given.torch)
    for name, path in found.items():
        subprocess.run(["strip", "-o", f"{ours}/{name}", path], check=True)
    root, included = headers(given.prefix + "/include/d9d", given.torch, given.compiler)
    for path in included:
        copy = f"{given.prefix}/include/d9d/beside/{path[len(root):]}"
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if path == root + "kj/string.h":
            text = KJ_UNEQUAL.sub("", text)
        with open(copy, "w", encoding="utf-8") as file:
            file.write(text)

    version = f"{given.version}+torch{given.minor}"
    tag = "py3-none-manylinux_%s_%s" % (platform.libc_ver()[1].replace(".", "_"), platform.machine())
    metadata = ["Metadata-Version: 2.1", "Name: d9d-node", f"Version: {version}", f"Summary: {given.summary}",
                "License: Apache-2.0", f"Requires-Dist: torch=={given.minor}.*"]
    arrow = glob.glob(os.path.dirname(given.arrow) + "/pyarrow-*.dist-info") if os.path.exists(ours + "/libd9d_tables.so") else []
    for folder in arrow:
        release = re.search(r"pyarrow-(\d+\.\d+)", folder).group(1)
        metadata += ["Provides-Extra: arrow", f'Requires-Dist: pyarrow=={release}.*; extra == "arrow"']
    with open(given.readme, encoding="utf-8") as file:
        metadata += ["Description-Content-Type: text/markdown", "", file.read()]

    name = f"d9d_node-{version}"
    path = f"{given.out}/{name}-{tag}.whl"
    wheel = Wheel(path)
    for file in sorted(glob.glob(given.prefix + "/**/*", recursive=True)):
        if not os.path.isfile(file):
            continue
        place = os.path.relpath(file, given.prefix)
        place = "scripts/" + place[4:] if place.startswith("bin/") else "data/" + place
        with open(file, "rb") as content:
            wheel.add(f"{name}.data/{place}", content.read(), os.access(file, os.X_OK))
    for owner, text in licences([*found.values(), *included]).items():
        wheel.add(f"{name}.dist-info/licenses/{owner}", text.encode())
    wheel.add(f"{name}.dist-info/METADATA", "\n".join(metadata).encode())
    wheel.add(f"{name}.dist-info/WHEEL", f"Wheel-Version: 1.0\nGenerator: d9d\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.close(f"{name}.dist-info/RECORD")
    size = os.path.getsize(path) / 2**20
    print(f"{path}: {size:.1f} MiB, {len(wheel.record)} files")
    if size > MIB_MAX:
        raise SystemExit(f"wheel: it has more than {MIB_MAX} MiB")


try:
    main()
except OSError as error:  # no room, no right to write
    raise SystemExit(f"wheel: {error}") from error
except subprocess.CalledProcessError as error:
    raise SystemExit(f"wheel: {error.cmd[0]} failed: {error.stderr}") from error
