// All pieces of this project except its actors.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/cross_entropy_loss.h>

#include <fstream>

#include "kernels/linear.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/plugin/own_pieces.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "runtime/task/causal_lm_task.hpp"
#include "runtime/task/result/result_lines.hpp"

namespace mine {

// Data: a sample is a phrase of random tokens, repeated. Only the repetitions count in the loss, so
// a model learns to copy from its context. A sample is a pure function of its index, so a run may go
// on with other ranks.
struct Repeats final : d9d::SampleSource {
  d9d::Count vocab_size = 64, length = 64, phrase = 8, samples = 1024, seed = 1;
  std::array<std::uint64_t, 2> spoiled = {0,
                                          0};  // from the first to before the second with other ids: a spike
  std::optional<std::uint64_t> num_samples() const override { return samples; }
  std::int64_t sequence_length() const override { return length; }
  d9d::Sample at(std::uint64_t index) const override {
    const d9d::RandomStream phrases(seed, "phrases", index % samples);
    const bool spoils = spoiled[0] <= index && index < spoiled[1];
    d9d::Sample sample;
    for (std::int64_t t = 0; t <= length; ++t) {
      const std::int64_t token = phrases.below(t % phrase, vocab_size) + spoils * vocab_size;
      if (t < length) sample.input_ids.push_back(token);
      if (t > 0) sample.labels.push_back(t < phrase ? d9d::ignored_label : token);
    }
    return sample;
  }
};
BOOST_DESCRIBE_STRUCT(Repeats, (), (vocab_size, length, phrase, samples, seed, spoiled))

// Data that flows: texts of unknown lengths, one after the other in rows. The rest of a text begins the next
// row, so a stream's state is that rest and the number of the next text.
struct Rows final : d9d::SampleStream {
  d9d::Count vocab_size = 64, length = 64, longest_text = 48, seed = 1;
  std::optional<std::int64_t> texts;  // none: they never end
  std::int64_t text = 0, stride = 1;
  std::vector<std::int64_t> rest;
  std::int64_t sequence_length() const override { return length; }
  void begin(const d9d::StreamPlace& place) override {  // each data replica reads texts of its own
    text = place.replica;
    stride = place.replicas;
  }
  std::optional<d9d::Sample> next() override {
    for (; std::ssize(rest) <= length; text += stride) {
      if (texts && text >= *texts) return std::nullopt;
      const d9d::RandomStream drawn(seed, "texts", text);  // a text counts on from some token
      const std::int64_t first = drawn.below(0, vocab_size), size = 1 + drawn.below(1, longest_text);
      for (std::int64_t t = 0; t < size; ++t) rest.push_back((first + t) % vocab_size);
    }
    const auto begin = rest.begin(), end = begin + length;
    d9d::Sample row{.input_ids = {begin, end}, .labels = {begin + 1, end + 1}};
    rest.erase(begin, end);
    return row;
  }
  nlohmann::json state() const override { return {{"text", text}, {"rest", rest}}; }
  void load_state(const nlohmann::json& state) override {
    state.at("text").get_to(text);
    state.at("rest").get_to(rest);
  }
};
BOOST_DESCRIBE_STRUCT(Rows, (), (vocab_size, length, longest_text, seed, texts))

// Collation: d9d's own, but every n-th token is hidden from the model (word dropout, Bowman and others 2015).
struct Hide {
  d9d::Count every = 16;
};
BOOST_DESCRIBE_STRUCT(Hide, (), (every))
d9d::TensorMap hide(const Hide& keys, std::span<const d9d::Sample> samples) {
  std::vector<d9d::Sample> hidden(samples.begin(), samples.end());
  for (d9d::Sample& sample : hidden)
    for (std::size_t t = keys.every; t < sample.input_ids.size(); t += keys.every) sample.input_ids[t] = 0;
  return d9d::make_microbatch(hidden);
}

// Model: layer i adds a mix of each token and the one 2^i before it (van den Oord and others 2016).
struct Convolution final : d9d::LayeredStage {
  Convolution(const Keys& keys, d9d::StagePosition position) : LayeredStage(keys, position) {
    for (const std::int64_t i : layers()) {
      add(i, "mix", {width(), 2 * width()});
      add(i, "down", {width(), width()});
    }
  }
  at::Tensor layer(std::int64_t i, const at::Tensor& hidden) override {  // [B, S, width]
    const at::Tensor all = gather(hidden);
    const std::int64_t back = std::min(std::int64_t{1} << i, all.size(1));
    const at::Tensor before = at::constant_pad_nd(all.slice(1, 0, all.size(1) - back), {0, 0, back, 0});
    const at::Tensor mixed = d9d::kernels::linear(at::cat({all, before}, 2), weight(i, "mix"));
    return hidden + scatter_sum(d9d::kernels::linear(mixed.relu(), weight(i, "down")));
  }
  void shard(d9d::TensorParallel& tensor) override {  // the weights that mesh.tensor_parallel splits
    for (const std::int64_t i : layers()) {
      tensor.column(weight(i, "mix"));
      tensor.row(weight(i, "down"));
    }
  }
};

// Metric: the mean probability of the right tokens.
struct RightMass final : d9d::SumsMetric {
  RightMass() : SumsMetric(2) {}
  d9d::MetricValues compute(std::span<const double> sums) const override { return {{"", sums[0] / sums[1]}}; }
};

// Task: label smoothing (Szegedy and others 2016) with the z-loss (Chowdhery and others 2022, section 5).
struct Smoothed final : d9d::TokenTask {
  double smoothing = 0.1, z_loss = 0;
  at::Tensor loss(const at::Tensor& logits, const at::Tensor& labels) const override {  // [N, V], [N]
    return at::cross_entropy_loss(logits, labels, {}, at::Reduction::Mean, -100, smoothing) +
           z_loss * logits.logsumexp({1}).square().mean();
  }
  void create_metrics(d9d::Compose& metrics) const override {
    metrics.add("right_mass", std::make_unique<RightMass>());
  }
  void count(const at::Tensor& logits, const at::Tensor& labels, d9d::Compose& metrics) const override {
    const auto right = logits.softmax(1).gather(1, labels.unsqueeze(1)).sum().item<double>();
    metrics.get<RightMass>("right_mass").add({right, static_cast<double>(labels.numel())});
  }
};
BOOST_DESCRIBE_STRUCT(Smoothed, (), (smoothing, z_loss))

// Optimizer: Lion (Chen and others 2023), which keeps one momentum and steps by signs.
struct Lion {
  double lr = 0, weight_decay = 0;
  std::array<double, 2> betas = {0.9, 0.99};
  std::vector<d9d::ParameterRule> rules;
  bool stochastic_rounding = false;
};
BOOST_DESCRIBE_STRUCT(Lion, (), (lr, weight_decay, betas, rules, stochastic_rounding))
void lion(const Lion& keys, const d9d::ElementUpdate& part) {
  const auto [beta1, beta2] = part.settings.betas.value_or(keys.betas);
  const at::Tensor &momentum = part.states[0], &gradients = part.gradients;
  const at::Tensor direction = (momentum * beta1 + gradients * (1 - beta1)).sign();
  part.values.mul_(1 - part.lr * part.settings.weight_decay).sub_(direction, part.lr);
  momentum.mul_(beta2).add_(gradients, 1 - beta2);
}

// Gradient hook: parameters of these names get no gradient in the first steps, so that new ones settle before what was
// trained already moves (Howard and Ruder 2018). All copies of a gradient change alike, so every mesh gives the same.
struct Thaw final : d9d::GradientHook {
  std::string names = "embed";
  std::uint64_t after = 1;
  d9d::HookVerdict gradients_reduced(const d9d::GradientContext& context) override {
    for (const d9d::NamedGradient& each : context.gradients)
      if (context.step <= after && each.name.find(names) != std::string::npos) each.gradient.zero_();
    return d9d::HookVerdict::update;
  }
};
BOOST_DESCRIBE_STRUCT(Thaw, (), (names, after))

// Inference task: how much the most surprising token of each sample surprises the model, and where that token is.
struct Surprise final : d9d::InferenceTask {
  std::optional<d9d::ResultLines> lines;
  void prepare(const d9d::InferencePlace& place) { lines.emplace(place.results, place.rank, place.source); }
  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    return d9d::CausalLmTask().build_forward_inputs(context);
  }
  void process_outputs(const d9d::InferenceContext& context) override {
    const auto [loss, position] = context.outputs.at("cross_entropy").max(1);  // [B, S] -> [B]
    lines->add({context.samples, {{"surprise", loss}, {"position", position}}});
  }
  void flush() override { lines->flush(); }
  void finalize() override { lines->flush(); }
};

// Mapper, of `d9d-node convert --plugin LIB.so --mapper backbone`: the names of a model without its head.
std::shared_ptr<const d9d::StateMapper> backbone(const d9d::Names& stored) {
  std::vector<d9d::MapperPtr> each;
  for (const std::string& name : stored)
    each.push_back(name.starts_with("model.") ? d9d::rename(name, name.substr(6)) : d9d::identity(name));
  return d9d::parallel(std::move(each));
}

// Learning rate: linear warm-up, then falling with the inverse root of the step (Vaswani and
// others 2017, section 5.3).
struct InverseRoot {
  d9d::Count warmup = 1;
};
BOOST_DESCRIBE_STRUCT(InverseRoot, (), (warmup))
double inverse_root(const InverseRoot& keys, std::int64_t step, std::int64_t total_steps) {
  D9D_REQUIRE(keys.warmup <= total_steps, "lr_scheduler.warmup: {} steps, but the job has only {}",
              keys.warmup, total_steps);
  const auto warmup = static_cast<double>(keys.warmup), number = static_cast<double>(step + 1);
  return std::min(number / warmup, std::sqrt(warmup / number));
}

// Schedule: GPipe, with backwards in the order of the forwards.
d9d::Program in_order(const d9d::NoKeys&, int ranks, int microbatches) {
  d9d::Program program(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    for (const auto kind : {d9d::ActionKind::forward, d9d::ActionKind::backward})
      for (int i = 0; i < microbatches; ++i) program[rank].push_back({{{kind, rank, i}}});
  return program;
}

// Tracker: writes all numbers to a table. A resumed run appends to its table.
struct Table final : d9d::TrackerRun {
  std::string file = "table.csv";
  std::ofstream lines;
  void prepare(const d9d::TrackerContext& run) {
    lines.open(run.folder + "/" + file, run.last_step > 0 ? std::ios::app : std::ios::trunc);
  }
  void write(const d9d::Point& point, const d9d::TrackerValue& value) override {
    if (const auto* scalar = std::get_if<d9d::Scalar>(&value))
      lines << point.step << ',' << d9d::flat_name(point) << ',' << scalar->value << '\n';
  }
  void flush() override { lines.flush(); }
};
BOOST_DESCRIBE_STRUCT(Table, (), (file))

}  // namespace mine

extern "C" void d9d_register(d9d::Registry& registry) {
  d9d::add_source<mine::Repeats>(registry, "repeats");
  d9d::add_stream<mine::Rows>(registry, "rows");
  d9d::add_collation(registry, "hide", mine::hide);
  d9d::add_model<mine::Convolution>(registry, "convolution_lm");
  d9d::add_task<mine::Smoothed>(registry, "smoothed_lm");
  d9d::add_inference_task<mine::Surprise>(registry, "surprise");
  d9d::add_gradient_hook<mine::Thaw>(registry, "thaw");
  registry.add_mapper("backbone", mine::backbone);
  d9d::add_optimizer(registry, "lion", {"lion_momentum"}, mine::lion);
  d9d::add_lr_curve(registry, "inverse_root", mine::inverse_root);
  d9d::add_schedule(registry, "in_order", mine::in_order);
  d9d::add_tracker<mine::Table>(registry, "table");
}
