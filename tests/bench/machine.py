"""The machine: what it is, how busy it is, and running one program under watch."""
import os
import subprocess
import threading
import time

TICKS = os.sysconf("SC_CLK_TCK")
# Variables that keep each library of a step, ours and the peers', to AVX2.
AVX2 = dict(D9D_ISA="avx2", ATEN_CPU_CAPABILITY="avx2", MKL_ENABLE_INSTRUCTIONS="AVX2", ONEDNN_MAX_CPU_ISA="AVX2")


def cpu_model():
    with open("/proc/cpuinfo") as f:
        names = {line.split(":", 1)[1].strip() for line in f if line.startswith("model name")}
    return ", ".join(sorted(names)) or "unknown"


def describe():
    kernel = os.uname()
    return dict(cpu=cpu_model(), isa=os.environ.get("D9D_ISA", "best"), cores=os.cpu_count(), kernel=f"{kernel.sysname} {kernel.release}", load=load())


def load():
    return round(os.getloadavg()[0], 2)


def busy_seconds():
    """CPU seconds of the whole machine since boot."""
    with open("/proc/stat") as f:
        v = [int(x) for x in f.readline().split()[1:]]
    return (v[0] + v[1] + v[2] + v[5] + v[6] + v[7]) / TICKS


def cpu_of(pid):
    """CPU seconds of a process so far; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / TICKS


def watch(command, while_running=lambda pid: None, period=0.01, **options):
    """Runs to the end; calls while_running(pid) every `period` seconds. Output goes to `stdout`/`stderr` options."""
    busy, start_load = busy_seconds(), load()
    begin_wall, begin = time.time(), time.perf_counter()
    process = subprocess.Popen(command, **options)
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        while_running(process.pid)
        time.sleep(period)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - begin
    cpu = usage.ru_utime + usage.ru_stime
    others = max(0.0, busy_seconds() - busy - cpu) / (seconds * (os.cpu_count() or 1))
    return dict(exit_code=process.returncode, began=begin_wall, seconds=seconds, cpu_seconds=cpu,
                peak_rss_mib=usage.ru_maxrss / 1024, load=start_load, others_cpu_share=round(others, 3))


def children_of(pid):
    found, parents = [], {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as f:
                parents[int(name)] = int(f.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    wanted = {pid}
    for _ in range(len(parents)):
        more = {child for child, parent in parents.items() if parent in wanted} - wanted
        if not more:
            break
        wanted |= more
        found += more
    return found


def prefer(nice):
    """Sets the priority `nice` (-20 to 19) of Linux's session scheduling for this session and for every session that a
    measured program starts (torchrun starts some). For machines shared with others; ours and the peers get the same."""
    def set_for(pid):
        try:
            with open(f"/proc/{pid}/autogroup", "r+") as f:
                if not f.read().rstrip().endswith(f" {nice}"):
                    f.seek(0)
                    f.write(str(nice))
        except OSError:
            pass

    def keep():
        while True:
            for pid in [os.getpid(), *children_of(os.getpid())]:
                set_for(pid)
            time.sleep(0.25)

    threading.Thread(target=keep, daemon=True).start()
