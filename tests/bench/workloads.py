"""The three workloads as numbers: matmul work of a step, as the peers' side counts it."""
WORKLOADS = {
    "tiny_moe": dict(hidden=256, layers=4, heads=8, kv_heads=2, head_dim=32, experts=8, top_k=2, inner=256,
                     vocab=4096, seq=256, batch=8),
    "small_moe": dict(hidden=512, layers=8, heads=8, kv_heads=4, head_dim=64, experts=16, top_k=4, inner=384,
                      vocab=16384, seq=512, batch=4),
    "small_dense": dict(hidden=512, layers=8, heads=8, kv_heads=4, head_dim=64, experts=0, top_k=1, inner=1536,
                        vocab=16384, seq=512, batch=4),
}


def tokens_per_step(workload):
    w = WORKLOADS[workload]
    return w["seq"] * w["batch"]


def flops_per_step(workload):
    """Multiply-adds counted as 2; forward once, backward twice; attention causal; nothing computed twice."""
    w = WORKLOADS[workload]
    q, kv = w["heads"] * w["head_dim"], w["kv_heads"] * w["head_dim"]
    attention = w["hidden"] * (2 * q + 2 * kv)
    feed_forward = w["top_k"] * 3 * w["hidden"] * w["inner"] + w["hidden"] * w["experts"]
    active = w["layers"] * (attention + feed_forward) + w["hidden"] * w["vocab"]
    scores = 3 * w["layers"] * 4 * w["seq"] * w["seq"] * q * w["batch"] * (w["seq"] + 1) // (2 * w["seq"])
    return 6 * active * tokens_per_step(workload) + scores
