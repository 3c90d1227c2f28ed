#include "tests/support/tiny_job.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "tests/support/process/job_server.hpp"

namespace d9d::test {
namespace {

constexpr const char* job_yaml = R"(mesh: {}
trainer:
  run: {name: tiny}
  batching: {global_batch_size: 8, microbatch_size: 2}
  schedule: {total_steps: 20}
  determinism: {base_seed: 1}
  gradient_clipping: {max_norm: 1.0}
  checkpointing: {period_steps: last_step}
  logging: {period_steps: 1, tracker: {provider: "null"}}
model_provider:
  name: qwen3_moe
  model:
    hidden_size: 64
    num_hidden_layers: 2
    num_attention_heads: 4
    num_key_value_heads: 2
    head_dim: 16
    moe_intermediate_size: 64
    num_experts: 4
    num_experts_per_tok: 2
    vocab_size: 512
    max_position_embeddings: 128
    norm_topk_prob: true
data: {source: synthetic, sequence_length: 32, vocab_size: 512}
optimizer: {name: adamw, lr: 0.003, betas: [0.9, 0.95], weight_decay: 0.1}
lr_scheduler:
  name: piecewise
  scheduler:
    initial_multiplier: 0.1
    phases:
      - {mode: steps, steps: 5, target_multiplier: 1.0, curve: {type: linear}}
      - {mode: rest, target_multiplier: 0.1, curve: {type: cosine}}
# A busy machine is no dead node.
node: {threads_per_rank: 1, heartbeat_ms: 10000}
)";

constexpr const char* d9d_node = D9D_BINARY_DIR "/d9d-node";

// A job that runs writes its last lines anew when a late value reaches them, and a reading may see half of that: it is
// repeated as long as the file moves. What stays broken is an error.
std::vector<nlohmann::json> lines_of(const std::filesystem::path& path) {
  std::string text = text_of_file(path);
  while (true) {
    try {
      std::vector<nlohmann::json> lines;
      std::istringstream rows(text);
      for (std::string line; std::getline(rows, line);) lines.push_back(nlohmann::json::parse(line));
      return lines;
    } catch (const nlohmann::json::exception&) {
      std::string now = text_of_file(path);
      if (now == text) throw;
      text = std::move(now);
    }
  }
}

}  // namespace

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Words set(const std::string& key, const std::string& value) {
  return {"--set", key + "=" + value};
}

Words mesh(int pipeline, int replicas) {
  return set("mesh.pipeline_parallel", std::to_string(pipeline)) +
         set("mesh.data_parallel_replicate", std::to_string(replicas));
}

Words experts_on(int ranks) {
  return set("mesh.expert_parallel", std::to_string(ranks));
}

Words matrices_on(int ranks) {
  return set("mesh.tensor_parallel", std::to_string(ranks));
}

Words named(const std::string& run) {
  return set("trainer.run.name", run);
}

TinyJob::TinyJob() {
  folder_.write("job.yaml", job_yaml);
}

std::string TinyJob::text() const {
  return text_of_file(folder_ / "job.yaml");
}

void TinyJob::rewrite(const std::string& before, const std::string& after) {
  std::string job = text();
  const std::size_t at = job.find(before);
  if (at == std::string::npos) throw std::runtime_error("job.yaml has no \"" + before + "\"");
  folder_.write("job.yaml", job.replace(at, before.size(), after));
}

std::unique_ptr<Process> TinyJob::spawn(const Words& words, const Environment& environment,
                                        const std::string& program) {
  return spawn_words(Words{D9D_BINARY_DIR "/" + program} + words, environment);
}

std::unique_ptr<Process> TinyJob::spawn_words(const Words& words, const Environment& environment) {
  return std::make_unique<Process>(options_of(words, environment));
}

ProcessOptions TinyJob::options_of(const Words& words, const Environment& environment) {
  return {.words = words,
          .folder = folder_.path(),
          .name = "node" + std::to_string(spawned_++),
          .environment = environment};
}

std::unique_ptr<Process> TinyJob::start_within(const Words& wrapper, const Words& words,
                                               const Environment& environment) {
  return spawn_words(wrapper + Words{d9d_node, "job.yaml"} + words, environment);
}

Outcome TinyJob::call(const Words& words) {
  const ProcessOptions options = options_of(Words{d9d_node} + words, {});
  std::optional<int> code = call_by_server(options);
  if (!code) code = Process(options).wait();
  const auto [out, err] = output_files(options);
  return {*code, text_of_file(out), text_of_file(err)};
}

std::unique_ptr<Process> TinyJob::start(const Words& words, const Environment& environment) {
  return spawn(Words{"job.yaml"} + words, environment);
}

Outcome TinyJob::run(const Words& words) {
  return call(Words{"job.yaml"} + words);
}

std::pair<std::unique_ptr<Process>, std::unique_ptr<Process>> TinyJob::start_two(int ranks,
                                                                                 const Words& words) {
  const Words half = words + Words{"--ranks", std::to_string(ranks / 2)};
  auto first = start(half + Words{"--listen", "127.0.0.1:0"});
  auto second = start(half + Words{"--join", "127.0.0.1:" + port_of(*first)});
  return {std::move(first), std::move(second)};
}

std::vector<double> TinyJob::losses(const std::string& run) const {
  return values(run, "loss");
}

void TinyJob::wait_for_steps(Process& process, std::size_t steps, const std::string& run) const {
  process.wait_until(std::to_string(steps) + " steps", [&] { return losses(run).size() >= steps; });
}

std::vector<double> TinyJob::values(const std::string& run, const std::string& key) const {
  std::vector<double> values;
  for (const auto& line : lines_of(run_folder(run) / "metrics.jsonl")) {
    if (line.contains(key)) values.push_back(line.at(key));
  }
  return values;
}

std::vector<std::string> TinyJob::exact_curve(const std::string& run) const {
  std::vector<std::string> curve;
  for (const auto& line : lines_of(run_folder(run) / "metrics.jsonl")) {
    curve.push_back(line.at("step").dump() + ": loss " + line.at("loss").dump() + " norm " +
                    line.at("grad_norm").dump() + " after " + line.at("tokens_total").dump() + " tokens");
  }
  return curve;
}

std::vector<int> TinyJob::checkpoints(const std::string& run) const {
  constexpr std::string_view prefix = "save-";
  std::vector<int> steps;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(run_folder(run) / "checkpoints", ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix)) continue;
    const std::string digits = name.substr(prefix.size());
    if (digits.find_first_not_of("0123456789") == std::string::npos) steps.push_back(std::stoi(digits));
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string port_of(Process& process, const std::string& host) {
  const std::string mark = "listening on " + host + ":";
  std::string port;
  process.wait_until("\"" + mark + "PORT\" on stderr", [&] {
    const std::string err = process.err();
    const std::size_t at = err.find(mark);
    const std::size_t end = at == std::string::npos ? at : err.find('\n', at);
    if (end != std::string::npos) port = err.substr(at + mark.size(), end - at - mark.size());
    return !port.empty();
  });
  return port;
}

}  // namespace d9d::test
