"""What run.sh asks of the numbers of a run: `curves.py same CPU CUDA` fails where losses differ by more than 1e-5 or norms
by more than 1e-4, `close` (bfloat16) by more than 2e-3 or 2e-2, `equal RUN RUN` where they differ at all, and
`speed RUN FIRST END` prints the median of these steps' tokens per second. A run is a folder with metrics.jsonl."""

import json
import statistics
import sys


def lines(folder):
    with open(folder + "/metrics.jsonl") as file:
        return [json.loads(line) for line in file]


def same(expected, given):
    compare(expected, given, most_of_loss=1e-5, most_of_norm=1e-4)


def close(expected, given):
    compare(expected, given, most_of_loss=2e-3, most_of_norm=2e-2)


def compare(expected, given, most_of_loss, most_of_norm):
    of_cpu, of_gpu = lines(expected), lines(given)
    if not of_cpu or len(of_cpu) != len(of_gpu):
        sys.exit(f"{given} has {len(of_gpu)} steps, {expected} {len(of_cpu)}")
    for cpu, gpu in zip(of_cpu, of_gpu):
        for key, most in ("loss", most_of_loss), ("grad_norm", most_of_norm):
            if not abs(cpu[key] - gpu[key]) <= most * abs(cpu[key]):
                print_both(of_cpu, of_gpu)
                sys.exit(f"step {cpu['step']}: {key} is {gpu[key]} in {given}, {cpu[key]} in {expected}")
    print(f"{given}: {len(of_gpu)} losses as those of {expected}, the last one {of_gpu[-1]['loss']:.6f}")


# A tie of a router or the sign of a tiny gradient shows at one step and grows; a wrong kernel shows at the first.
def print_both(of_cpu, of_gpu):
    print("step, loss and norm of the CPU, of the GPU, their relative differences")
    for cpu, gpu in zip(of_cpu, of_gpu):
        apart = [abs(cpu[key] - gpu[key]) / max(abs(cpu[key]), 1e-30) for key in ("loss", "grad_norm")]
        print(cpu["step"], cpu["loss"], cpu["grad_norm"], gpu["loss"], gpu["grad_norm"], *(f"{x:.1e}" for x in apart))


def equal(first, second):
    numbers = [[(line["loss"], line["grad_norm"]) for line in lines(run)] for run in (first, second)]
    if not numbers[0] or numbers[0] != numbers[1]:
        sys.exit(f"{second} is not {first} once more: {numbers[1]} and {numbers[0]}")
    print(f"{second}: the {len(numbers[0])} losses and norms of {first}, bit for bit")


def speed(run, first, end):
    steps = lines(run)[int(first) : int(end)]
    if not steps:
        sys.exit(f"{run} has too few steps")
    rate = statistics.median(line["tokens_per_second"] for line in steps)
    mfu = steps[-1].get("mfu")
    share = f", {100 * mfu:.1f} % of the card's 989 TFLOP/s" if mfu else ""
    print(f"RESULT {rate:.0f} tokens/s (median of {len(steps)} steps){share}")


if __name__ == "__main__":
    {"same": same, "close": close, "equal": equal, "speed": speed}[sys.argv[1]](*sys.argv[2:])
