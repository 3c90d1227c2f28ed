// A step with two updates: a generative adversarial network (Goodfellow et al. 2014, arXiv 1406.2661, section 3). Its
// maker turns noise into numbers, its critic tells them from those of the data, and each has an update of its own.
#include <ATen/TensorOperators.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>

#include "actors/cli/own_program.hpp"
#include "kernels/linear.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/metric/aggregation.hpp"
#include "runtime/plugin/own_pieces.hpp"

namespace gan {

// Data: numbers of a normal distribution, and the noise from which the maker makes one.
struct Normal final : d9d::SampleSource {
  double mean = 0, deviation = 1;
  std::optional<std::uint64_t> num_samples() const override { return std::nullopt; }
  std::int64_t sequence_length() const override { return 1; }
  d9d::Sample at(std::uint64_t index) const override {
    const d9d::RandomStream drawn(1, "gan", index);
    return {.numbers = {{"real", {static_cast<float>(mean + deviation * drawn.normal(0))}},
                        {"noise", {static_cast<float>(drawn.normal(1))}}}};
  }
};
BOOST_DESCRIBE_STRUCT(Normal, (), (mean, deviation))

// Collation: fp32 [B, 1].
struct Pairs {
  at::Tensor real, noise;
};
BOOST_DESCRIBE_STRUCT(Pairs, (), (real, noise))
Pairs pairs(const d9d::NoKeys&, std::span<const d9d::Sample> samples) {
  const auto column = [&](const std::string& name) {
    std::vector<float> values;
    for (const d9d::Sample& sample : samples) values.push_back(sample.numbers.at(name).front());
    return at::tensor(values).unsqueeze(1);
  };
  return {column("real"), column("noise")};
}

// Model: both networks. The names of their parameters say which update moves them.
struct Sizes {
  d9d::Count width = 16;
};
BOOST_DESCRIBE_STRUCT(Sizes, (), (width))
struct Networks final : d9d::StageModule {
  using Keys = Sizes;
  std::vector<d9d::StageParameter> all;
  Networks(const Keys& keys, const d9d::StagePosition& position) {
    D9D_REQUIRE(position.num_stages == 1, "mesh.pipeline_parallel: these networks have one stage");
    const auto add = [&](const std::string& name, std::vector<std::int64_t> shape, float spread) {
      const at::Tensor values = at::empty(shape, at::TensorOptions(position.device)).requires_grad_();
      all.push_back({name, values, d9d::Layout::local(shape), {d9d::Initial::Kind::uniform, spread}});
    };
    add("maker.scale", {1}, 1);
    add("maker.shift", {1}, 1);
    add("critic.in.weight", {keys.width, 1}, 1);
    add("critic.in.bias", {keys.width}, 1);
    add("critic.out.weight", {1, keys.width}, 0.3F);
  }
  at::Tensor made_of(const at::Tensor& noise) const { return noise * all[0].tensor + all[1].tensor; }
  at::Tensor opinion_of(const at::Tensor& numbers) const {
    const at::Tensor hidden = at::tanh(d9d::kernels::linear(numbers, all[2].tensor) + all[3].tensor);
    return d9d::kernels::linear(hidden, all[4].tensor);
  }
  // The critic's phase has real numbers among its inputs. It does not move the maker, so nothing goes back there.
  d9d::TensorMap forward(const d9d::TensorMap& inputs, const d9d::TensorMap&) override {
    const at::Tensor made = made_of(inputs.at("noise"));
    if (!inputs.contains("real")) return {{"of_made", opinion_of(made)}, {"made", made.detach()}};
    return {{"of_made", opinion_of(made.detach())}, {"of_real", opinion_of(inputs.at("real"))}};
  }
  std::vector<d9d::StageParameter> parameters() override { return all; }
  void set_training(bool) override {}
};

// Task: two phases over the same samples, and the update to which each one leads.
struct Adversaries final : d9d::TrainTask {
  std::vector<d9d::StepPhase> phases() const override {
    return {{.name = "critic", .update = 0}, {.name = "maker", .update = 1}};
  }
  std::vector<d9d::StepUpdate> updates() const override { return {{{"critic.*"}}, {{"maker.*"}}}; }
  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    const auto batch = d9d::tree_of<Pairs>(context.batch);
    d9d::ForwardInputs inputs{.inputs = {{"noise", batch.noise}}, .shared = {}, .state = {}};
    if (context.phase == 0) inputs.inputs["real"] = batch.real;
    return inputs;
  }
  // Logits of "it is real".
  static at::Tensor error(const at::Tensor& opinion, double truth) {
    return at::binary_cross_entropy_with_logits(opinion, at::full_like(opinion, truth));
  }
  d9d::Loss compute_loss(const d9d::LossContext& context) const override {
    const at::Tensor& of_made = context.outputs.at("of_made");
    const auto count = static_cast<double>(of_made.numel());
    if (context.phase == 1) return {error(of_made, 1), count};
    return {error(of_made, 0) + error(context.outputs.at("of_real"), 1), count};
  }
  void create_metrics(d9d::Compose& metrics) const override {
    metrics.add("made_mean", std::make_unique<d9d::WeightedMean>());
  }
  void update_metrics(const d9d::LossContext& context, d9d::Compose& metrics) const override {
    if (context.phase == 0) return;
    const at::Tensor& made = context.outputs.at("made");
    metrics.get<d9d::WeightedMean>("made_mean")
        .update(made.mean().item<double>(), static_cast<double>(made.numel()));
  }
};
BOOST_DESCRIBE_STRUCT(Adversaries, (), ())

}  // namespace gan

extern "C" void d9d_register(d9d::Registry& registry) {
  d9d::add_source<gan::Normal>(registry, "normal");
  d9d::add_collation(registry, "pairs", gan::pairs);
  d9d::add_model<gan::Networks>(registry, "networks");
  d9d::add_task<gan::Adversaries>(registry, "adversaries");
}

// gan [KEY.PATH=VALUE]...
int main(int argc, char** argv) {
  return d9d::run_program(argc, argv, [&](d9d::OwnProgram& program) {
    program.train(program.configure("examples/own_program/gan.yaml", {argv + 1, argv + argc}));
  });
}
