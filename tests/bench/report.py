"""results.json as markdown tables."""
from paired import cost_text, ratio_text
from workloads import flops_per_step, tokens_per_step


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"


def ranged(values, digits=2):
    low, high = (f"{values[end]:.{digits}f}" for end in ("min", "max"))
    return f"{values['median']:.{digits}f} ({low} to {high})"


def tokens_per_second(workload, runs):
    """Median, with the slowest and the fastest run."""
    tokens, step = tokens_per_step(workload), runs["step_s"]
    return f"{tokens / step['median']:.0f} ({tokens / step['max']:.0f} to {tokens / step['min']:.0f})"


def cpu(runs):
    return ranged(runs["cpu_s_per_step"], 3) if "cpu_s_per_step" in runs else ""


def training(results):
    rows = []
    for cell in results["train"]:
        ours, theirs = cell["ours"], cell.get("theirs")
        row = [cell["workload"], cell["mesh"], tokens_per_second(cell["workload"], ours), cpu(ours)]
        if theirs:
            row += [cell["peer"], tokens_per_second(cell["workload"], theirs), cpu(theirs), ranged(cell["ratio"]),
                    ranged(cell["cpu_ratio"])]
        else:
            row += [cell.get("peer_error", "not measured").replace("\n", " ")[:60]] + [""] * 4
        rows.append(row + [f"{ours['load']['median']:.1f}"])
    return table(["workload", "ours", "tokens/s", "CPU s/step", "peer", "tokens/s", "CPU s/step",
                  "peer's time / ours", "peer's CPU / ours", "load"], rows)


def strategies(results):
    rows = [[cell["workload"], cell["mesh"], tokens_per_second(cell["workload"], cell["ours"]), cpu(cell["ours"]),
             f"{cell['ours']['rss_mib']['median']:.0f}"] for cell in results["strategies"]]
    return table(["workload", "mesh", "tokens/s", "CPU s/step", "peak MiB"], rows)


def roof_shares(results):
    """Of two threads. By CPU time: what the rate would be if our threads had never waited for a core."""
    roof = results.get("roof")
    if not roof:
        return "The part `roof` was not measured.\n"
    rows = []
    for cell in results["train"]:
        work, ours = flops_per_step(cell["workload"]) * 1e-9, cell["ours"]
        rates = [work / ours["step_s"]["median"], work / ours["step_s"]["min"]]
        if "cpu_s_per_step" in ours:
            rates.append(2 * work / ours["cpu_s_per_step"]["median"])
        row = [cell["workload"], cell["mesh"]]
        for which in ("torch_mm", "ours"):
            row += [f"{rate / (2 * roof[which]):.0%}" for rate in rates] + [""] * (3 - len(rates))
        rows.append(row)
    kinds = ("median", "best run", "by CPU time")
    return table(["workload", "ours"] + [f"of torch.mm: {kind}" for kind in kinds]
                 + [f"of our GEMM: {kind}" for kind in kinds], rows)


def starts(results):
    rows = []
    for cell in results["train"]:
        ours, theirs = cell["ours"], cell.get("theirs")
        row = [cell["workload"], cell["mesh"], ranged(ours["first_step_s"]), f"{ours['rss_mib']['median']:.0f}"]
        if theirs:
            row += [cell["peer"], ranged(theirs["first_step_s"]), f"{theirs['rss_mib']['median']:.0f}"]
        rows.append(row + [""] * (7 - len(row)))
    return table(["workload", "ours", "exec to first step, s", "peak MiB", "peer", "exec to first step, s",
                  "peak MiB, all its processes"], rows)


def hops(results):
    rows = []
    for hop in results["hops"]["hops"]:
        traced = {True: "on", False: "off"}.get(hop.get("traced"), "")
        row = [hop["case"], traced, f"{hop['p50_us']:.1f}", f"{hop['p99_us']:.1f}"]
        if "cpu_us" in hop:
            row += [f"{hop['cpu_us']:.1f}", f"{hop['messages_per_second']:.0f}"]
        rows.append(row + [""] * (6 - len(row)))
    for kind, row in results.get("zmq", {}).items():
        if "100B" in row:
            small = row["100B"]
            rows.append([f"peer: {kind}, 100 bytes", "", small["rt_us"], small["rt_us_p99"], "",
                         f"{small['msgs_s']:.0f}"])
    return table(["round trip", "tracing", "p50 us", "p99 us", "CPU us", "one way, messages/s"], rows)


def gap(values):
    return f"{values['p50']:.0f} / {values['p90']:.0f}" if values else ""


def pipeline(results):
    rows = []
    for s in results["pipeline"]["schedules"]:
        rows.append([s["schedule"], f"{s['makespan_ms']:.0f}",
                     f"{s['step_ms']:.1f} ({s['step_ms_min']:.1f} to {s['step_ms_max']:.1f})",
                     f"{s['actions']}, {s['actions_on_critical_path']:.0f}", f"{s['us_per_action']:.0f}",
                     f"{s['us_overslept_per_action']:.0f}", gap(s["us_gap_after_message"]),
                     gap(s["us_gap_after_own_action"]), f"{s['cpu_us_per_action']:.0f}"])
    return table(["schedule", "makespan ms", "step ms", "actions: all, on the critical path",
                  "(step - makespan) per action, us", "a sleep overran by, us", "gap after a message, p50 / p90 us",
                  "gap after own action, p50 / p90 us", "CPU us per action"], rows)


def orders(results):
    rows = [[o["schedule"], o["trouble"], f"{o['extra_activations']}", f"{o['bound_ms']:.0f}",
             f"{o['static_simulated_ms']:.0f}", f"{o['static_step_ms']:.0f}",
             f"{o['dynamic_simulated_ms']:.0f}", f"{o['dynamic_step_ms']:.0f}", f"{o['dynamic_over_static']:.3f}"]
            for o in results["pipeline"]["orders"] + results["pipeline"]["orders_with_room"]]
    return table(["schedule", "held up", "activations more", "no order below, ms", "static: simulated ms",
                  "measured ms", "dynamic: simulated ms", "measured ms", "dynamic / static"], rows)


def lanes(results):
    lane = results["pipeline"]["lanes"]
    return table(["two lanes of a rank", ""],
                 [["F, then B, ms", f"{lane['ms_one_after_the_other']:.1f}"],
                  ["F|B on two lanes, ms", f"{lane['ms_on_two_lanes']:.1f}"],
                  ["turn changes of a collective, no other lane, ns", f"{lane['ns_per_collective_alone']:.0f}"],
                  ["turn changes of a collective beside another lane, us",
                   f"{lane['us_per_collective_beside_another_lane']:.1f}"],
                  ["a composed instruction that does nothing, us", f"{lane['us_per_composed_instruction']:.1f}"]])


def shares(results):
    keys = ("compute", "exposed_communication", "bubble", "mailbox_wait", "other")
    rows = [[row["mesh"]] + [f"{row[key]:.2%}" for key in keys]
            + ["" if row["hidden"] is None else f"{row['hidden']:.0%}"] for row in results["shares"]]
    return table(["tiny_moe", "compute", "exposed collectives", "bubble", "waiting in a mailbox", "actors",
                  "of communication hidden"], rows)


def overheads(results):
    rows = [[case, cost_text(row["clock"]), cost_text(row["processor"]), f"{row['clock']['off_s']:.3f}"]
            for case, row in results["overhead"].items()]
    return table(["on", "of a step by the clock", "by the processor, all threads", "a step without, s"], rows)


def roof(results):
    r = results["roof"]
    return table(["fp32 GEMM, one thread, GFLOP/s over CPU time", ""],
                 [["torch.mm 2048^3", f"{r['torch_mm']:.1f}"], ["ours 2048^3", f"{r['ours']:.1f}"],
                  ["ours, best of all shapes", f"{r['ours_best_shape']:.1f}"]])


def memory(results):
    return table(["peak MiB", ""], [[key.removesuffix("_mib").replace("_", " "), f"{value:.0f}"]
                                    for key, value in results["memory"].items()])


def convert(results):
    r = results["convert"]
    cells = [[f"`d9d-node convert`, {way}", row] for way, row in r["ways"].items()] + [["cp and sync", r["copy"]]]
    cells += [["transformers: load and save", r["transformers"]]] if r["transformers"] else []
    return table([f"{r['folder_mb']:.0f} MB", "MB/s", "of cp", "peak MiB"],
                 [[name, f"{row['mb_per_s']:.0f}", f"{row['ratio_to_copy']:.2f}" if "ratio_to_copy" in row else "",
                   f"{row['peak_rss_mib']:.0f}"] for name, row in cells])


def lora(results):
    r = results["lora"]
    return table([f"0.6 B, bfloat16, weights {r['weights_mib']:.0f} MiB", "tokens/s", "its step / LoRA's", "peak MiB",
                  "of the weights"],
                 [[way, f"{row['tokens_per_s']:.0f}", f"{row['of_lora']:.2f}", f"{row['rss_mib']:.0f}",
                   f"{row['rss_mib'] / r['weights_mib']:.2f}"] for way, row in r["ways"].items()])


def generation(results):
    return table(["8 prompts, greedy", "tokens/s", "transformers", "ratio, 95 % of its median"],
                 [[case, f"{row['tokens_per_s']['d9d-node generate']:.0f}",
                   f"{row['tokens_per_s']['transformers']:.0f}" if row["ratio"] else "",
                   ratio_text(row["ratio"]) if row["ratio"] else ""]
                  for case, row in results["generation"].items()])


SECTIONS = [("roof", "Roof", roof), ("train", "Training", training), ("train", "Share of the roof", roof_shares),
            ("train", "Start and memory", starts),
            ("strategies", "Strategies on two ranks", strategies), ("memory", "Memory before the model", memory),
            ("hops", "Actor hop, 64-byte payload", hops), ("pipeline", "Pipeline of stages that only sleep", pipeline),
            ("pipeline", "Static and dynamic order", orders), ("pipeline", "Two lanes of a rank", lanes),
            ("shares", "Where a step's time goes", shares),
            ("overhead", "What tracing and metrics cost, 1 rank x 1 thread", overheads),
            ("convert", "Conversion of a model folder", convert), ("lora", "Fine-tuning with adapters", lora),
            ("generation", "Generation", generation)]


def markdown(results):
    m = results["machine"]
    peers = f"Peers: {', '.join(results['peers'])}." if results["peers"] else "No peers were measured."
    lines = ["# Benchmark results", "",
             f"{results['date']}, {results['version']}. {m['cpu']}, instructions: {m['isa']}, {m['cores']} cores, {m['kernel']}, "
             f"load {m['load']} at the start. {peers}",
             "Medians, with minimum and maximum over the runs in parentheses.", ""]
    for key, title, section in SECTIONS:
        if key in results:
            lines += [f"## {title}", "", section(results)]
    return "\n".join(lines)
