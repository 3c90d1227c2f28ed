// Time and memory of forward and backward of a Qwen3 whose layers keep everything, or are computed again in backward
// and keep results of costly ops. Each way runs in a process of its own, on one thread, in turns.
//   bench_checkpointing [--repeats N]       prints a JSON object per run; medians of its steps, MiB at the peak
#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "kernels/graph/kept_results.hpp"
#include "kernels/graph/split_backward.hpp"
#include "kernels/memory/tensor_memory.hpp"
#include "runtime/family/qwen3/config.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {
namespace {

using kernels::KeptKind;
using std::chrono::steady_clock;

constexpr int steps = 4;  // the first of them is not timed
constexpr std::int64_t samples = 1, length = 512;
constexpr double mib = 1 << 20;

struct Way {
  const char* name;
  bool again = true;
  kernels::KeptKinds keeps = {};
};
const std::vector<Way>& ways() {
  static const std::vector<Way> all{
      {"none", false},
      {"attention, linear, experts", true, {KeptKind::attention, KeptKind::linear, KeptKind::experts}},
      {"linear", true, {KeptKind::linear}},
      {"attention", true, {KeptKind::attention}},
      {"nothing but inputs"}};
  return all;
}

// The sizes of jobs/small_dense.yaml and jobs/small_moe.yaml.
Qwen3Config model_of(Qwen3Kind kind) {
  Qwen3Config model;
  model.kind = kind;
  model.vocab_size = 16384;
  model.hidden_size = 512;
  model.intermediate_size = 1536;
  model.num_hidden_layers = 8;
  model.num_attention_heads = 8;
  model.num_key_value_heads = 4;
  model.head_dim = 64;
  model.num_experts = 16;
  model.num_experts_per_tok = 4;
  model.moe_intermediate_size = 384;
  model.max_position_embeddings = length;
  return model;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double cpu_seconds(const rusage& usage) {
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

rusage used() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double step_of(StageModule& stage) {
  const auto work = c10::make_intrusive<kernels::WeightWork>(kernels::WeightWork::Mode::now,
                                                             std::make_shared<kernels::TemporarySlot>());
  const kernels::WeightWork::Scope scope(work);
  const at::Tensor ids = at::arange(samples * length, at::kLong).view({samples, length});
  const at::Tensor loss = stage.forward({{"input_ids", ids}}, {{"labels", ids}}).at("cross_entropy").mean();
  kernels::run_backward({{torch::autograd::impl::gradient_edge(loss), at::ones_like(loss.detach())}}, {},
                        work.get());
  return loss.item<double>();
}

nlohmann::json measured(Qwen3Kind kind, const Way& way) {
  at::set_num_threads(1);
  const auto tensor_bytes_max = kernels::keep_tensor_memory();
  const auto stage = model_of(kind).build_stage(
      {0, 1}, {.checkpoint_activations = way.again, .checkpoint_keeps = way.keeps});
  draw_initial_weights(stage->parameters(), 1);
  std::int64_t state = 0;  // parameters and gradients
  for (const StageParameter& parameter : stage->parameters()) {
    at::Tensor tensor = parameter.tensor;
    tensor.mutable_grad() = at::zeros_like(tensor.detach());
    state += 2 * static_cast<std::int64_t>(tensor.nbytes());
  }
  std::vector<double> wall, cpu;
  double loss = 0;
  for (int step = 0; step < steps; ++step) {
    const auto began = steady_clock::now();
    const double before = cpu_seconds(used());
    loss = step_of(*stage);
    if (step == 0) continue;
    cpu.push_back(cpu_seconds(used()) - before);
    wall.push_back(std::chrono::duration<double>(steady_clock::now() - began).count());
  }
  return {{"model", kind == Qwen3Kind::moe ? "moe" : "dense"},
          {"keeps", way.name},
          {"wall_s", median(wall)},
          {"cpu_s", median(cpu)},
          {"activations_mib", (static_cast<double>(tensor_bytes_max()) - static_cast<double>(state)) / mib},
          {"rss_mib", static_cast<double>(used().ru_maxrss) / 1024},
          {"loss", loss}};
}

}  // namespace
}  // namespace d9d

int main(int argc, char** argv) {
  using namespace d9d;
  const int repeats = argc == 3 && std::string(argv[1]) == "--repeats" ? std::atoi(argv[2]) : 3;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const Qwen3Kind kind : {Qwen3Kind::dense, Qwen3Kind::moe}) {
      for (const Way& way : ways()) {
        const pid_t child = ::fork();
        if (child == 0) {
          std::cout << measured(kind, way).dump() << std::endl;
          ::_exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        if (status != 0) return 1;
      }
    }
  }
  return 0;
}
